"""An agent on the Anthropic SDK: `pip install 'dfah-cli[anthropic]'`."""

import json

from anthropic import AsyncAnthropic
from refunds import MODEL, PROMPT, lookup_customer, provider, read_policy, show, suite

from dfah.integrations import bring

SCHEMAS = [{"name": spec.name, "input_schema": spec.input_schema} for spec in suite.tools]
FUNCTIONS = {"lookup_customer": lookup_customer, "read_policy": read_policy}

with provider:
    client = AsyncAnthropic(base_url=provider.url, api_key="none")

    @bring(suite=suite, model=MODEL, client=client, tools=FUNCTIONS, parameters={"max_tokens": 500})
    async def agent(case, context):
        messages = [{"role": "user", "content": json.dumps(case.input)}]
        while True:
            create = client.messages.create
            message = await create(model=MODEL, max_tokens=500, system=PROMPT, messages=messages, tools=SCHEMAS)
            calls = [block for block in message.content if block.type == "tool_use"]
            if not calls:
                return message.content[-1].text
            # Instead of `recorded` functions: the session itself.
            found = [await context.tools.call(call.name, **call.input) for call in calls]
            results = [
                {"type": "tool_result", "tool_use_id": call.id, "content": json.dumps(one)}
                for call, one in zip(calls, found, strict=True)
            ]
            said = [block.model_dump(exclude_none=True) for block in message.content]
            messages += [{"role": "assistant", "content": said}, {"role": "user", "content": results}]

    show(agent)
