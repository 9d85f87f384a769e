"""An agent on the OpenAI SDK: `pip install 'dfah-cli[openai]'`."""

import json

from openai import OpenAI
from refunds import MODEL, PROMPT, lookup_customer, provider, read_policy, show, suite

from dfah.integrations import bring, recorded

TOOLS = recorded({"lookup_customer": lookup_customer, "read_policy": read_policy})
SCHEMAS = [
    {"type": "function", "function": {"name": spec.name, "parameters": spec.input_schema}} for spec in suite.tools
]

with provider:
    client = OpenAI(base_url=provider.openai_url, api_key="none")

    @bring(suite=suite, model=MODEL, client=client, tools=TOOLS, parameters={"temperature": 0})
    def agent(case, context):
        messages = [{"role": "system", "content": PROMPT}, {"role": "user", "content": json.dumps(case.input)}]
        while True:
            create = client.chat.completions.create
            message = create(model=MODEL, temperature=0, messages=messages, tools=SCHEMAS).choices[0].message
            if not message.tool_calls:
                return message.content
            messages.append(message)
            for call in message.tool_calls:
                found = TOOLS[call.function.name](**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(found)})

    show(agent)
