"""An agent on PydanticAI: `pip install 'dfah-cli[pydantic-ai]'`."""

import json

from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from refunds import MODEL, PROMPT, lookup_customer, provider, read_policy, show, suite

from dfah.integrations import bring, recorded


async def lookup(customer: str) -> dict[str, str]:
    """Who it is."""
    return lookup_customer(customer)


async def policy(customer: str) -> str:
    """What is allowed."""
    return read_policy(customer)


FUNCTIONS = recorded({"lookup_customer": lookup, "read_policy": policy})

with provider:
    client = AsyncOpenAI(base_url=provider.openai_url, api_key="none")
    mine = Agent(
        OpenAIChatModel(MODEL, provider=OpenAIProvider(openai_client=client)),
        instructions=PROMPT,
        model_settings={"temperature": 0},
    )
    for name, function in FUNCTIONS.items():
        mine.tool_plain(name=name)(function)

    @bring(suite=suite, model=MODEL, client=client, tools=FUNCTIONS, parameters={"temperature": 0})
    async def agent(case, context):
        return (await mine.run(json.dumps(case.input))).output

    show(agent)
