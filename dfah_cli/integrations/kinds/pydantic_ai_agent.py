"""PydanticAI: an agent with text output over OpenAI's chat completions or responses."""

from __future__ import annotations

from typing import Any

from dfah_cli.adapter.contract import RunContext
from dfah_cli.integrations.declaration import Setting, user_text
from dfah_cli.integrations.declared import Made
from dfah_cli.integrations.kinds.sdk import OPENAI
from dfah_cli.integrations.resources import optional
from dfah_cli.integrations.seam import TurnLimitError
from dfah_cli.integrations.tools import text_of_call
from dfah_cli.records.case import Case
from dfah_cli.records.tool_spec import ToolSpec

EXTRA = "pydantic-ai"
# What PydanticAI calls the parameters; every other one is put into the request as it is.
KNOWN = ("temperature", "top_p", "seed", "max_tokens")


def make(setting: Setting) -> Made:
    """The agent of a declaration."""
    library = optional("pydantic_ai", EXTRA)
    client = OPENAI.client_of(setting)
    limits = library.UsageLimits(request_limit=setting.declaration.max_turns)

    async def answer(case: Case, _context: RunContext) -> str:
        # An agent holds no connection, so each episode has its own.
        agent = _agent(setting, client.get())
        try:
            if setting.declaration.stream:
                async with agent.run_stream(user_text(case), usage_limits=limits) as streamed:
                    return str(await streamed.get_output())
            done = await agent.run(user_text(case), usage_limits=limits)
        except library.UsageLimitExceeded:
            raise TurnLimitError(setting.declaration.max_turns) from None
        return str(done.output)

    return Made(answer=answer, provider="openai", close=client.aclose, ready=lambda: OPENAI.key_of(setting))


def _agent(setting: Setting, client: Any) -> Any:
    library = optional("pydantic_ai", EXTRA)
    models, providers = optional("pydantic_ai.models.openai", EXTRA), optional("pydantic_ai.providers.openai", EXTRA)
    declared = setting.declaration
    model_class = models.OpenAIResponsesModel if declared.api == "responses" else models.OpenAIChatModel
    others = {name: value for name, value in declared.parameters.items() if name not in KNOWN}
    settings: dict[str, Any] = {name: value for name, value in declared.parameters.items() if name in KNOWN}
    if others:
        settings["extra_body"] = others
    return library.Agent(
        model_class(declared.model, provider=providers.OpenAIProvider(openai_client=client)),
        instructions=setting.prompt,
        model_settings=settings,
        tools=[tool_of(spec) for spec in setting.suite.tools],
        retries=0,
    )


def tool_of(spec: ToolSpec) -> Any:
    """A contract as a PydanticAI tool whose calls go through the session of the running episode."""

    async def called(**arguments: Any) -> str:
        return await text_of_call(spec.name, arguments)

    return optional("pydantic_ai", EXTRA).Tool.from_schema(
        called, name=spec.name, description=spec.description, json_schema=spec.input_schema
    )
