"""Tool contracts and the functions behind them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from dfah_cli.adapter.functions import is_async
from dfah_cli.adapter.session import RegisteredTool, ToolSession
from dfah_cli.errors import ConfigurationError
from dfah_cli.records.suite import Suite, tool_schema_hash
from dfah_cli.records.tool_spec import ToolSpec

# Tools are registered without what records and replays their results.
if TYPE_CHECKING:
    from dfah_cli.adapter.tape import EpisodeTape

F = TypeVar("F", bound=Callable[..., Any])


class ToolRegistry:
    """The tools of an agent; nothing can be added after the first session."""

    def __init__(self) -> None:
        self._tools: dict[str, RegisteredTool] = {}
        self._frozen = False

    def register(self, spec: ToolSpec, function: Callable[..., Any]) -> None:
        """Binds a plain or async function to a contract.

        Raises: ConfigurationError for a second tool of that name, no function, or a frozen registry.
        """
        if not isinstance(spec, ToolSpec):
            raise ConfigurationError(f"tool: found {type(spec).__name__}; expected a ToolSpec")
        if not callable(function):
            raise ConfigurationError(f"tool {spec.name}: found {type(function).__name__}; expected a function")
        if self._frozen:
            raise ConfigurationError(f"tool {spec.name}: the registry is in use; register every tool before the run")
        if spec.name in self._tools:
            raise ConfigurationError(f"tool {spec.name}: registered twice; tool names are unique")
        self._tools[spec.name] = RegisteredTool(spec=spec, function=function, is_async=is_async(function))

    def tool(self, spec: ToolSpec) -> Callable[[F], F]:
        """`register` as a decorator; gives the function back unchanged."""

        def decorate(function: F) -> F:
            self.register(spec, function)
            return function

        return decorate

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The contracts in name order."""
        return tuple(self._tools[name].spec for name in sorted(self._tools))

    def function(self, name: str) -> Callable[..., Any]:
        """The function behind a registered tool.

        Raises: KeyError for a name that is not registered.
        """
        return self._tools[name].function

    @property
    def schema_hash(self) -> str:
        """Digest of the contracts; equal to that of a suite with the same tools."""
        return tool_schema_hash(self.specs)

    def check_suite(self, suite: Suite) -> None:
        """Nothing, when these are exactly the tools of the suite.

        Raises: ConfigurationError naming the tools that are missing, left over or different.
        """
        if self.schema_hash == suite.tool_schema_hash:
            return
        declared = {spec.name: spec for spec in suite.tools}
        found = (
            ("not registered", [name for name in sorted(declared) if name not in self._tools]),
            ("not in the suite", [name for name in sorted(self._tools) if name not in declared]),
            ("of another contract", [s.name for s in self.specs if s.name in declared and s != declared[s.name]]),
        )
        parts = [f"{what}: {', '.join(names)}" for what, names in found if names]
        raise ConfigurationError(
            f"the registered tools are not those of suite {suite.suite_id} {suite.suite_version} "
            f"({'; '.join(parts)}); register exactly Suite.tools"
        )

    def freeze(self) -> None:
        """No tool can be added from now on."""
        self._frozen = True

    def session(
        self,
        *,
        id_prefix: str = "tool",
        capture_arguments: bool = False,
        clock: Callable[[], float] = time.perf_counter,
        tape: EpisodeTape | None = None,
    ) -> ToolSession:
        """The record of one episode's calls; freezes the registry.

        id_prefix: call ids are `<id_prefix>-<4-digit index>`. tape: where results are recorded or come from.
        """
        self.freeze()
        return ToolSession(
            self._tools, id_prefix=id_prefix, capture_arguments=capture_arguments, clock=clock, tape=tape
        )
