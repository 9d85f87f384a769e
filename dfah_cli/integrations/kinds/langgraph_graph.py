"""LangGraph: a model and its tools in a loop, the model being LangChain's for OpenAI or Anthropic."""

from __future__ import annotations

import sys
from typing import Any

from dfah_cli.adapter.contract import RunContext
from dfah_cli.integrations.declaration import Setting, user_text
from dfah_cli.integrations.declared import Made
from dfah_cli.integrations.kinds.anthropic_sdk import MAX_TOKENS
from dfah_cli.integrations.kinds.sdk import ANTHROPIC, OPENAI
from dfah_cli.integrations.resources import PerLoop, optional
from dfah_cli.integrations.seam import TurnLimitError
from dfah_cli.integrations.tools import text_of_call
from dfah_cli.integrations.wire.tap import watch
from dfah_cli.records.case import Case
from dfah_cli.records.tool_spec import ToolSpec

EXTRA = "langgraph"
# What LangChain's models call the parameters; every other one is put into the request as it is.
KNOWN = ("temperature", "top_p", "seed", "max_tokens")


def make(setting: Setting) -> Made:
    """The agent of a declaration; `api: messages` makes it an Anthropic model."""
    graphs = PerLoop(lambda: _graph(setting), _closed)
    steps = optional("langgraph.errors", EXTRA)
    is_messages = setting.declaration.api == "messages"

    async def answer(case: Case, _context: RunContext) -> str:
        messages = [("system", setting.prompt), ("user", user_text(case))]
        limit = 2 * setting.declaration.max_turns
        try:
            done = await graphs.get()[1].ainvoke({"messages": messages}, {"recursion_limit": limit})
        except steps.GraphRecursionError:
            raise TurnLimitError(setting.declaration.max_turns) from None
        return str(done["messages"][-1].text)

    return Made(
        answer=answer,
        provider="anthropic" if is_messages else "openai",
        close=graphs.aclose,
        ready=lambda: _key_of(setting),
        parameters=MAX_TOKENS if is_messages else {},
    )


def _graph(setting: Setting) -> tuple[Any, Any]:
    graph, prebuilt = optional("langgraph.graph", EXTRA), optional("langgraph.prebuilt", EXTRA)
    tools = [tool_of(spec) for spec in setting.suite.tools]
    model = _model(setting)
    bound = model.bind_tools(tools) if tools else model

    async def think(state: Any) -> Any:
        return {"messages": [await bound.ainvoke(state["messages"])]}

    building = graph.StateGraph(graph.MessagesState)
    building.add_node("think", think)
    building.add_node("tools", prebuilt.ToolNode(tools, handle_tool_errors=False))
    building.add_edge(graph.START, "think")
    building.add_conditional_edges("think", prebuilt.tools_condition)
    building.add_edge("tools", "think")
    return model, building.compile()


async def _closed(made: tuple[Any, Any]) -> None:
    for name in ("root_async_client", "_async_client"):
        client = getattr(made[0], name, None)
        if client is not None:
            await client.close()
    _forget_shared_clients()


def _forget_shared_clients() -> None:
    """LangChain's models for Anthropic share one client of each address; a closed one must not serve the next run."""
    module = sys.modules.get("langchain_anthropic._client_utils")
    shared: Any = getattr(module, "_get_default_async_httpx_client", None)
    if shared is not None:
        shared.cache_clear()


def _key_of(setting: Setting) -> str:
    return (ANTHROPIC if setting.declaration.api == "messages" else OPENAI).key_of(setting)


def _model(setting: Setting) -> Any:
    declared = setting.declaration
    direct = {name: value for name, value in declared.parameters.items() if name in KNOWN}
    others = {name: value for name, value in declared.parameters.items() if name not in KNOWN}
    common = {"max_retries": declared.max_retries, "timeout": declared.request_timeout_s, "streaming": declared.stream}
    if declared.api == "messages":
        made = optional("langchain_anthropic", EXTRA).ChatAnthropic(
            model_name=declared.model,
            api_key=_key_of(setting),
            base_url=declared.base_url,
            model_kwargs=others,
            **{**MAX_TOKENS, **direct},
            **common,
        )
    else:
        made = optional("langchain_openai", EXTRA).ChatOpenAI(
            model=declared.model,
            api_key=_key_of(setting),
            base_url=declared.base_url,
            stream_usage=declared.stream,
            use_responses_api=declared.api == "responses",
            # Its own, because LangChain shares one of each address between all models, and this one is closed.
            http_async_client=optional("openai", EXTRA).DefaultAsyncHttpxClient(),
            model_kwargs=others,
            **direct,
            **common,
        )
    return watch(made)


def tool_of(spec: ToolSpec) -> Any:
    """A contract as a LangChain tool whose calls go through the session of the running episode."""

    async def called(**arguments: Any) -> str:
        return await text_of_call(spec.name, arguments)

    structured = optional("langchain_core.tools", EXTRA).StructuredTool
    return structured.from_function(
        coroutine=called, name=spec.name, description=spec.description or spec.name, args_schema=spec.input_schema
    )
