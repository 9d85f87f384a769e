"""Brings an agent that already exists under test: its own code, its own client, its own tools.

support.TOOLS = recorded(support.TOOLS)

@bring(suite="suites/refunds.yaml", model="gpt-4.1-mini", client=support.client, tools=support.TOOLS)
def refunds(case, context):
    return support.answer(case.input["ticket"])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from dfah_cli.adapter.manifest import build_manifest
from dfah_cli.adapter.registry import ToolRegistry
from dfah_cli.errors import ConfigurationError
from dfah_cli.integrations.declared import code_digest, source_file
from dfah_cli.integrations.seam import Answer, Contract, ObservedAgent, Prices
from dfah_cli.integrations.tools import named, registry_of
from dfah_cli.integrations.wire.pace import Pace
from dfah_cli.integrations.wire.tap import watch
from dfah_cli.records.manifest import Manifest
from dfah_cli.records.suite import Suite


def bring(
    *,
    suite: Suite | str | Path,
    model: str,
    client: Any,
    tools: Any = (),
    parameters: Mapping[str, Any] | None = None,
    provider: str | None = None,
    endpoint: str | None = None,
    sources: Iterable[ModuleType | str | Path] = (),
    prices: Prices | Mapping[str, float] | None = None,
    parameter_paths: Mapping[str, Sequence[str | int] | str] | None = None,
    internal_tools: Iterable[str] = (),
    requests_per_minute: float | None = None,
) -> Callable[[Answer], ObservedAgent]:
    """A decorator that makes an agent of a function of (case, context) which returns the agent's text.

    client: the SDK client (or framework model, or several of them) the agent sends its requests through.
    tools: the functions behind the suite's tools: a mapping by name, a list, or a ToolRegistry. What the agent calls
    must be `recorded(...)` ones, or `context.tools.call`.
    parameters: what every request sends under these names, such as temperature; other sampling parameters on the wire
    are a contract error. sources: modules or files whose code is part of the experiment, beside the function's own
    file and those of the tools. prices: US dollars for a million tokens: input, output, cached_input.
    requests_per_minute: of all episodes together; None for no limit.
    Raises: ConfigurationError when client, tools or suite do not fit.
    """
    loaded = Suite.load(suite)
    pace = Pace(requests_per_minute)
    priced = prices if isinstance(prices, Prices) or prices is None else Prices(**prices)
    registry, functions = _tools(tools, loaded)
    for one in client if isinstance(client, list | tuple) else (client,):
        watch(one)
    files = [*_files(sources), *(place for f in functions if (place := source_file(f)) is not None)]

    def decorate(answer: Answer) -> ObservedAgent:
        own = source_file(answer)
        manifest = build_manifest(
            loaded,
            provider=provider or _provider(client),
            model=model,
            endpoint=endpoint,
            adapter=f"{answer.__module__}:{getattr(answer, '__qualname__', 'agent')}",
            implementation_hash=code_digest([*files, *([] if own is None else [own])], None),
            request_parameters=dict(parameters or {}),
        )
        contract = _contract(manifest, loaded, parameter_paths, internal_tools)
        return ObservedAgent(answer, contract=contract, suite=loaded, tools=registry, prices=priced, pace=pace)

    return decorate


def _contract(
    manifest: Manifest,
    suite: Suite,
    parameter_paths: Mapping[str, Sequence[str | int] | str] | None,
    internal_tools: Iterable[str],
) -> Contract:
    return Contract(
        manifest=manifest,
        tool_names=frozenset(spec.name for spec in suite.tools),
        parameter_paths=dict(parameter_paths or {}),
        internal_tools=frozenset(internal_tools),
    )


def _tools(tools: Any, suite: Suite) -> tuple[ToolRegistry | None, list[Callable[..., Any]]]:
    if isinstance(tools, ToolRegistry):
        tools.check_suite(suite)
        return tools, [tools.function(spec.name) for spec in tools.specs]
    functions = named(tools)
    return registry_of(suite, functions), list(functions.values())


def _files(sources: Iterable[ModuleType | str | Path]) -> list[Path]:
    places = [Path(str(source.__file__)) if isinstance(source, ModuleType) else Path(source) for source in sources]
    for place in places:
        if not place.is_file():
            raise ConfigurationError(f"bring: the source {place.name} is no file; name a module or a file")
    return places


def _provider(client: Any) -> str:
    """The package the client comes from; a framework's model names its provider the same way."""
    first = client[0] if isinstance(client, list | tuple) and client else client
    return type(first).__module__.partition(".")[0]
