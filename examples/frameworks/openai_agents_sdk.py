"""An agent on the OpenAI Agents SDK: `pip install 'dfah-cli[openai-agents]'`."""

import json

from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, RunConfig, Runner, function_tool
from openai import AsyncOpenAI
from refunds import MODEL, PROMPT, provider, show, suite
from refunds import lookup_customer as lookup
from refunds import read_policy as policy

from dfah.integrations import bring, recorded


async def lookup_customer(customer: str) -> dict[str, str]:
    """Who it is."""
    return lookup(customer)


async def read_policy(customer: str) -> str:
    """What is allowed."""
    return policy(customer)


FUNCTIONS = recorded([lookup_customer, read_policy])

with provider:
    client = AsyncOpenAI(base_url=provider.openai_url, api_key="none")
    mine = Agent(
        name="refunds",
        instructions=PROMPT,
        model=OpenAIChatCompletionsModel(MODEL, client),
        model_settings=ModelSettings(temperature=0),
        tools=[function_tool(function) for function in FUNCTIONS],
    )

    @bring(suite=suite, model=MODEL, client=client, tools=FUNCTIONS, parameters={"temperature": 0})
    async def agent(case, context):
        done = await Runner.run(mine, json.dumps(case.input), run_config=RunConfig(tracing_disabled=True))
        return done.final_output

    show(agent)
