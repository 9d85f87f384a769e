"""A function as an agent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import overload

from dfah_cli.adapter.contract import RunContext
from dfah_cli.adapter.functions import run
from dfah_cli.adapter.invoke import checked_result
from dfah_cli.adapter.registry import ToolRegistry
from dfah_cli.errors import AgentContractError
from dfah_cli.records.case import Case
from dfah_cli.records.episode import AgentResult
from dfah_cli.records.manifest import Manifest
from dfah_cli.records.suite import Suite

AgentFunction = Callable[[Case, RunContext], Awaitable[AgentResult] | AgentResult]


class CallableAgent:
    """An async or plain function with the manifest, tools and suite it belongs to."""

    def __init__(
        self,
        function: AgentFunction,
        manifest: Manifest,
        tools: ToolRegistry | None = None,
        suite: Suite | None = None,
    ) -> None:
        _check(function, manifest, tools, suite)
        self._function = function
        self._manifest = manifest
        self.tools = tools
        self.suite = suite
        self.__doc__ = getattr(function, "__doc__", None)
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    @property
    def manifest(self) -> Manifest:
        """The pinned request contract."""
        return self._manifest

    async def arun(self, case: Case, context: RunContext) -> AgentResult:
        """The function's result for one case.

        Raises: AgentContractError for another return type; otherwise whatever the function raises.
        """
        return checked_result(await run(self._function, case, context))

    def __repr__(self) -> str:
        return f"<agent {self.__name__} of suite {self._manifest.suite_id} {self._manifest.suite_version}>"


def _check(function: object, manifest: object, tools: object, suite: object) -> None:
    if not callable(function):
        raise AgentContractError(f"@agent: found {type(function).__name__}; expected a function of (case, context)")
    if not isinstance(manifest, Manifest):
        raise AgentContractError(
            f"@agent: found a manifest of type {type(manifest).__name__}; build it with build_manifest(suite, ...)"
        )
    for given, kind, name in ((tools, ToolRegistry, "tools"), (suite, Suite, "suite")):
        if given is not None and not isinstance(given, kind):
            raise AgentContractError(f"@agent: found {name} of type {type(given).__name__}; expected a {kind.__name__}")


@overload
def agent(
    function: AgentFunction, *, manifest: Manifest, tools: ToolRegistry | None = None, suite: Suite | None = None
) -> CallableAgent: ...


@overload
def agent(
    function: None = None, *, manifest: Manifest, tools: ToolRegistry | None = None, suite: Suite | None = None
) -> Callable[[AgentFunction], CallableAgent]: ...


def agent(
    function: AgentFunction | None = None,
    *,
    manifest: Manifest,
    tools: ToolRegistry | None = None,
    suite: Suite | None = None,
) -> CallableAgent | Callable[[AgentFunction], CallableAgent]:
    """An agent made of a function; usable as `@agent(manifest=...)` or as `agent(function, manifest=...)`.

    suite: lets `dfah run --agent` do without `--suite`.
    Raises: AgentContractError when one of the parts has another type.
    """

    def decorate(decorated: AgentFunction) -> CallableAgent:
        return CallableAgent(decorated, manifest, tools, suite)

    return decorate if function is None else decorate(function)
