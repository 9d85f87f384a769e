"""A declared adapter -> an agent; the module of a kind is imported when it is asked for."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from attrs import frozen

from dfah_cli.adapter.manifest import build_manifest
from dfah_cli.adapter.reference import load_object
from dfah_cli.adapter.registry import ToolRegistry
from dfah_cli.canonical import digest, digest_bytes
from dfah_cli.errors import ConfigurationError
from dfah_cli.integrations.declaration import KINDS, Declaration, Setting, prompt_of
from dfah_cli.integrations.seam import Answer, Contract, ObservedAgent
from dfah_cli.integrations.tools import named, original, registry_of
from dfah_cli.integrations.wire.pace import Pace
from dfah_cli.records.manifest import Manifest
from dfah_cli.records.suite import Suite

HERE = Path(__file__).parent
# Code that every declared adapter runs through.
SHARED = ("seam.py", "tools.py", "declaration.py", "declared.py")


@frozen(kw_only=True)
class Made:
    """What a kind makes. observed: its requests go through a watched client, so the seam builds the result.

    provider: its name in the manifest where the declaration gives none. parameters: those it always sends.
    ready: raises ConfigurationError when something it needs from the environment is not there.
    """

    answer: Answer
    provider: str
    close: Callable[[], Awaitable[None]] | None = None
    ready: Callable[[], object] | None = None
    parameters: Mapping[str, Any] = {}
    parameter_paths: Mapping[str, Any] = {}


def agent_from_mapping(mapping: Mapping[str, Any], suite: Suite) -> ObservedAgent:
    """The agent a declaration describes, on a suite.

    Raises: ConfigurationError naming the key; OptionalDependencyError with the install command.
    """
    declaration = declaration_of(mapping)
    setting = Setting(declaration=declaration, suite=suite, prompt=prompt_of(declaration, suite))
    bound = tools_of(declaration, suite)
    module = import_module(KINDS[declaration.kind])
    made: Made = module.make(setting)
    contract = Contract(
        manifest=_manifest(setting, made, Path(str(module.__file__)), bound.files),
        tool_names=frozenset(spec.name for spec in suite.tools),
        parameter_paths=made.parameter_paths,
    )
    return ObservedAgent(
        made.answer,
        contract=contract,
        suite=suite,
        tools=bound.registry,
        prices=declaration.prices,
        pace=Pace(declaration.requests_per_minute),
        prepare=bound.prepare,
        ready=[ready for ready in (made.ready, bound.ready) if ready is not None],
        close=[close for close in (made.close, bound.close) if close is not None],
    )


def declaration_of(mapping: Mapping[str, Any]) -> Declaration:
    """The declaration in a mapping.

    Raises: ConfigurationError naming an unknown or a missing key, or an unknown kind.
    """
    import difflib

    known = set(inspect.signature(Declaration).parameters)
    for key in mapping:
        if key not in known:
            close = difflib.get_close_matches(str(key), known, 1)
            hint = f"; did you mean {close[0]!r}?" if close else f"; there are {', '.join(sorted(known))}"
            raise ConfigurationError(f"adapter: unknown key {key!r}{hint}")
    for key in ("kind", "model"):
        if key not in mapping:
            raise ConfigurationError(f"adapter: missing key {key!r}; expected adapter: {{kind: ..., model: ...}}")
    if mapping["kind"] not in KINDS:
        raise ConfigurationError(f"adapter.kind: found {mapping['kind']!r}; expected one of {', '.join(KINDS)}")
    return Declaration(**dict(mapping))


@frozen(kw_only=True)
class Bound:
    """The tools of a declaration. files: where their code is. prepare: awaited before each episode."""

    registry: ToolRegistry | None = None
    files: tuple[Path, ...] = ()
    prepare: Callable[[], Awaitable[None]] | None = None
    close: Callable[[], Awaitable[None]] | None = None
    ready: Callable[[], object] | None = None


def tools_of(declaration: Declaration, suite: Suite) -> Bound:
    """The registered tools of a declaration.

    Raises: ConfigurationError when they are not the tools of the suite.
    """
    tools = declaration.tools
    if tools is None:
        if suite.tools and declaration.kind != "http":
            names = ", ".join(spec.name for spec in suite.tools)
            raise ConfigurationError(
                f"adapter.tools: missing, and suite {suite.suite_id} has the tools {names}; name the functions behind "
                "them as tools: pkg.module:name"
            )
        return Bound()
    if isinstance(tools, Mapping) and set(tools) == {"mcp"}:
        from dfah_cli.integrations.mcp_tools import MCPTools, server_of

        behind = MCPTools(server_of(tools["mcp"]), suite)
        return Bound(registry=behind.registry, prepare=behind.check, close=behind.aclose, ready=behind.check_key)
    found = load_object(tools, "adapter.tools") if isinstance(tools, str) else _functions(tools)
    if isinstance(found, ToolRegistry):
        found.check_suite(suite)
        return Bound(registry=found, files=_files(found.function(spec.name) for spec in found.specs))
    functions = named(found)
    return Bound(registry=registry_of(suite, functions), files=_files(functions.values()))


def _functions(tools: Any) -> dict[str, Any]:
    if not isinstance(tools, Mapping):
        raise ConfigurationError(
            "adapter.tools: expected pkg.module:name, a mapping of tool names to such references, or {mcp: ...}"
        )
    return {name: load_object(reference, f"adapter.tools.{name}") for name, reference in tools.items()}


def _files(functions: Iterable[Any]) -> tuple[Path, ...]:
    return tuple({place for function in functions if (place := source_file(function)) is not None})


def source_file(function: Any) -> Path | None:
    """The file a function was written in; None for one that has none."""
    try:
        found = inspect.getsourcefile(inspect.unwrap(original(function)))
    except TypeError:
        return None
    return None if found is None or not Path(found).is_file() else Path(found)


def code_digest(files: Iterable[Path], more: Any) -> str:
    """Digest of files, by content and not by place, and of a JSON value."""
    return digest([sorted(digest_bytes(file.read_bytes()) for file in set(files)), more])


def _manifest(setting: Setting, made: Made, module: Path, sources: Iterable[Path]) -> Manifest:
    declaration = setting.declaration
    files = [module, *(HERE / name for name in SHARED), *sources]
    return build_manifest(
        setting.suite,
        provider=declaration.provider or made.provider,
        model=declaration.model,
        endpoint=declaration.base_url or declaration.url,
        adapter=f"dfah_cli.{declaration.kind}",
        adapter_version="1",
        implementation_hash=code_digest(files, [setting.prompt, declaration.identity]),
        request_parameters={**made.parameters, **declaration.parameters},
    )
