"""Tools between a suite's contracts, the user's functions and what SDKs want to hear of them."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import frozen

from dfah_cli.adapter.functions import is_async
from dfah_cli.adapter.registry import ToolRegistry
from dfah_cli.adapter.session import ToolSession
from dfah_cli.adapter.tool_request import Unreadable
from dfah_cli.errors import AgentContractError, ConfigurationError
from dfah_cli.integrations.wire.exchange import CURRENT
from dfah_cli.records.suite import Suite
from dfah_cli.records.tool_spec import ToolSpec

JSON = dict[str, Any]
Functions = Mapping[str, Callable[..., Any]]


@frozen
class Wanted:
    """A call a provider asks for. arguments: as sent, text or object."""

    call_id: str
    name: str
    arguments: Any


# In their place the session rejects and records the call.
UNREADABLE = Unreadable("the provider sent arguments that are no JSON object")


def registry_of(suite: Suite, functions: Functions) -> ToolRegistry | None:
    """The suite's tools, bound to the functions of these names; None for a suite without tools.

    Raises: ConfigurationError naming what is missing or left over.
    """
    wanted = {spec.name: spec for spec in suite.tools}
    missing, extra = sorted(wanted.keys() - functions.keys()), sorted(functions.keys() - wanted.keys())
    if missing or extra:
        parts = [f"{what}: {', '.join(names)}" for what, names in (("missing", missing), ("extra", extra)) if names]
        raise ConfigurationError(
            f"the tools are not those of suite {suite.suite_id} ({'; '.join(parts)}); name one function for each tool"
        )
    if not wanted:
        return None
    registry = ToolRegistry()
    for name, spec in wanted.items():
        registry.register(spec, original(functions[name]))
    return registry


def recorded(tools: Any) -> Any:
    """The same tools; during an episode a call of one goes through the harness and is recorded.

    tools: a function, or a mapping or list of functions; a function's own name is the tool's name, in a mapping the
    key is. Outside an episode the functions behave as before.
    """
    if isinstance(tools, Mapping):
        return {name: _recorded(function, name) for name, function in tools.items()}
    if isinstance(tools, list | tuple):
        return type(tools)(_recorded(function, function.__name__) for function in tools)
    return _recorded(tools, tools.__name__)


def named(tools: Any) -> dict[str, Callable[..., Any]]:
    """Functions by tool name, from a mapping, a list or one function."""
    if isinstance(tools, Mapping):
        return dict(tools)
    every = tools if isinstance(tools, list | tuple) else [tools]
    return {function.__name__: function for function in every}


def original(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function below a recorded one; any other function itself."""
    found: Callable[..., Any] = getattr(function, "__dfah_original__", function)
    return found


def _recorded(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    function = original(function)
    if is_async(function):

        @functools.wraps(function)
        async def acalled(*positional: Any, **arguments: Any) -> Any:
            session = _session()
            if session is None:
                return await function(*positional, **arguments)
            return await session.call(name, **_by_name(function, positional, arguments))

        acalled.__dfah_original__ = function  # type: ignore[attr-defined]
        return acalled

    @functools.wraps(function)
    def called(*positional: Any, **arguments: Any) -> Any:
        session = _session()
        if session is None:
            return function(*positional, **arguments)
        return session.call_sync(name, **_by_name(function, positional, arguments))

    called.__dfah_original__ = function  # type: ignore[attr-defined]
    return called


def _session() -> ToolSession | None:
    exchange = CURRENT.get()
    return None if exchange is None else exchange.session


def _by_name(function: Callable[..., Any], positional: tuple[Any, ...], arguments: JSON) -> JSON:
    if not positional:
        return arguments
    import inspect

    return dict(inspect.signature(function).bind(*positional, **arguments).arguments)


async def call_all(session: ToolSession | None, wanted: Sequence[Wanted]) -> list[str]:
    """The results as text, in the order asked for; several calls run at once and are recorded in that order.

    Raises: ToolExecutionError of the first call that fails, after all of them have ended.
    """
    results = await asyncio.gather(*(call_one(session, one) for one in wanted), return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [as_text(result) for result in results]


async def text_of_call(name: str, arguments: Any) -> str:
    """The result as text of one call in the running episode, for a framework's own kind of tool.

    Raises: as `call_one`.
    """
    return as_text(await call_one(_session(), Wanted("", name, arguments)))


async def call_one(session: ToolSession | None, wanted: Wanted) -> Any:
    """The raw result of one call.

    Raises: ToolExecutionError when it is rejected or fails; AgentContractError without registered tools.
    """
    if session is None:
        raise AgentContractError("the provider asks for a tool and the suite has none")
    return await session.call(wanted.name, **arguments_of(wanted.arguments))


def arguments_of(given: Any) -> JSON:
    """Arguments as an object; what is none becomes something the session rejects and records."""
    if isinstance(given, str):
        try:
            given = json.loads(given or "{}")
        except ValueError:
            given = None
    return dict(given) if isinstance(given, Mapping) else {"arguments": UNREADABLE}


def as_text(result: Any) -> str:
    """A tool's result as a provider reads it: text as it is, anything else as JSON."""
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, sort_keys=True)


def chat_tool(spec: ToolSpec) -> JSON:
    """A contract in the chat completions protocol."""
    return {
        "type": "function",
        "function": {"name": spec.name, "description": spec.description, "parameters": spec.input_schema},
    }


def responses_tool(spec: ToolSpec) -> JSON:
    """A contract in the responses protocol."""
    return {
        "type": "function",
        "name": spec.name,
        "description": spec.description,
        "parameters": spec.input_schema,
        "strict": False,
    }


def messages_tool(spec: ToolSpec) -> JSON:
    """A contract in the messages protocol."""
    return {"name": spec.name, "description": spec.description, "input_schema": spec.input_schema}
