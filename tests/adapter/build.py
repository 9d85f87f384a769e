"""Small suites, tools and contexts for the adapter tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dfah_cli.adapter.contract import RunContext
from dfah_cli.adapter.manifest import build_manifest
from dfah_cli.adapter.registry import ToolRegistry
from dfah_cli.adapter.session import ToolSession
from dfah_cli.records.case import Case
from dfah_cli.records.manifest import Manifest
from dfah_cli.records.suite import Suite
from dfah_cli.records.tool_spec import ToolSpec

ANY_ARGUMENTS = {"type": "object"}


def a_tool(name: str = "look", **properties: Any) -> ToolSpec:
    """A tool that takes anything, or exactly the given properties."""
    if not properties:
        return ToolSpec(name=name, input_schema=ANY_ARGUMENTS)
    schema = {"type": "object", "properties": properties, "required": sorted(properties), "additionalProperties": False}
    return ToolSpec(name=name, input_schema=schema)


def a_session(
    function: Callable[..., Any], spec: ToolSpec | None = None, *, capture_arguments: bool = False
) -> ToolSession:
    """A session with one tool, `look` unless said otherwise."""
    registry = ToolRegistry()
    registry.register(spec or a_tool(), function)
    return registry.session(id_prefix="e", capture_arguments=capture_arguments)


def a_suite(*tools: ToolSpec, cases: int = 1) -> Suite:
    """A suite with labels yes and no."""
    return Suite(
        suite_id="adapter-test",
        suite_version="1.0.0",
        decisions=("Yes", "no"),
        cases=tuple(Case(case_id=f"C{index}", input={"n": index}) for index in range(cases)),
        tools=tools,
    )


def a_manifest(suite: Suite | None = None, **changed: Any) -> Manifest:
    """A manifest for the suite."""
    given: dict[str, Any] = {
        "provider": "p",
        "model": "m",
        "adapter": "a",
        "request_parameters": {"temperature": 0.0, "seed": 7},
        "implementation_hash": "f" * 64,
        **changed,
    }
    return build_manifest(suite or a_suite(), **given)


def a_context(**changed: Any) -> RunContext:
    """The context of the first slot."""
    given: dict[str, Any] = {"manifest_hash": "0" * 64, "case_id": "C0", "replay_index": 0, "seed": 42}
    return RunContext(**{**given, "idempotency_key": "k", **changed})
