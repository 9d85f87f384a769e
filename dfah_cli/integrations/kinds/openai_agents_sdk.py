"""The OpenAI Agents SDK: one agent with tools, over chat completions or responses. Its tracing is off."""

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

EXTRA = "openai-agents"
# What the SDK calls the parameters; every other one is put into the request as it is.
KNOWN = ("temperature", "top_p", "max_tokens")


def make(setting: Setting) -> Made:
    """The agent of a declaration."""
    library = optional("agents", EXTRA)
    client = OPENAI.client_of(setting)
    config = library.RunConfig(tracing_disabled=True)

    async def answer(case: Case, _context: RunContext) -> str:
        agent, turns = _agent(setting, client.get()), setting.declaration.max_turns
        try:
            if setting.declaration.stream:
                streamed = library.Runner.run_streamed(agent, user_text(case), max_turns=turns, run_config=config)
                async for _ in streamed.stream_events():
                    continue
                return str(streamed.final_output)
            done = await library.Runner.run(agent, user_text(case), max_turns=turns, run_config=config)
        except library.MaxTurnsExceeded:
            raise TurnLimitError(turns) from None
        return str(done.final_output)

    return Made(answer=answer, provider="openai", close=client.aclose, ready=lambda: OPENAI.key_of(setting))


def _agent(setting: Setting, client: Any) -> Any:
    library, declared = optional("agents", EXTRA), setting.declaration
    responses = declared.api == "responses"
    model_class = library.OpenAIResponsesModel if responses else library.OpenAIChatCompletionsModel
    known = {name: value for name, value in declared.parameters.items() if name in KNOWN}
    others = {name: value for name, value in declared.parameters.items() if name not in KNOWN}
    return library.Agent(
        name="dfah",
        instructions=setting.prompt,
        model=model_class(declared.model, client),
        # Without an explicit word the SDK leaves the counting of streamed tokens out.
        model_settings=library.ModelSettings(
            **known, extra_body=others or None, include_usage=None if responses or not declared.stream else True
        ),
        tools=[tool_of(spec) for spec in setting.suite.tools],
    )


def tool_of(spec: ToolSpec) -> Any:
    """A contract as a tool of the SDK whose calls go through the session of the running episode."""

    async def called(_context: Any, arguments: str) -> str:
        return await text_of_call(spec.name, arguments)

    return optional("agents", EXTRA).FunctionTool(
        name=spec.name,
        description=spec.description,
        params_json_schema=spec.input_schema,
        on_invoke_tool=called,
        strict_json_schema=False,
    )
