from __future__ import annotations

from typing import Any

import pytest

from dfah_cli.adapter.registry import ToolRegistry
from dfah_cli.errors import ConfigurationError
from dfah_cli.records.tool_spec import ToolSpec
from tests.adapter.build import a_suite, a_tool


def registry_of(*specs: ToolSpec) -> ToolRegistry:
    registry = ToolRegistry()
    for spec in specs:
        registry.register(spec, lambda **arguments: arguments)
    return registry


def test_specs_are_in_name_order_whatever_the_order_of_registration() -> None:
    registry = registry_of(a_tool("b"), a_tool("a"), a_tool("C"))
    assert [spec.name for spec in registry.specs] == ["C", "a", "b"]


def test_the_hash_is_that_of_a_suite_with_the_same_tools() -> None:
    one, other = a_tool("one"), a_tool("other", k={"type": "string"})
    assert registry_of(other, one).schema_hash == a_suite(one, other).tool_schema_hash
    assert ToolRegistry().schema_hash == a_suite().tool_schema_hash


def test_the_decorator_gives_the_function_back() -> None:
    registry = ToolRegistry()

    def look() -> None: ...

    assert registry.tool(a_tool())(look) is look
    assert len(registry.specs) == 1


@pytest.mark.parametrize(
    ("spec", "function", "found"),
    [(a_tool(), None, "NoneType"), (a_tool(), "look", "str"), ("look", print, "str"), (None, print, "NoneType")],
)
def test_what_is_no_tool_is_refused(spec: Any, function: Any, found: str) -> None:
    with pytest.raises(ConfigurationError, match=found):
        ToolRegistry().register(spec, function)


def test_a_second_tool_of_that_name_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="twice"):
        registry_of(a_tool(), a_tool())


@pytest.mark.parametrize("use", [ToolRegistry.freeze, ToolRegistry.session])
def test_nothing_is_added_once_it_is_in_use(use: Any) -> None:
    registry = registry_of(a_tool())
    use(registry)
    with pytest.raises(ConfigurationError, match="before the run"):
        registry.register(a_tool("late"), print)


def test_a_suite_with_the_same_tools_passes() -> None:
    registry_of(a_tool("b"), a_tool("a")).check_suite(a_suite(a_tool("a"), a_tool("b")))


def test_every_difference_from_the_suite_is_named() -> None:
    registry = registry_of(a_tool("extra"), a_tool("changed", k={"type": "string"}))
    with pytest.raises(ConfigurationError) as raised:
        registry.check_suite(a_suite(a_tool("missing"), a_tool("changed")))
    text = str(raised.value)
    assert "not registered: missing" in text
    assert "not in the suite: extra" in text
    assert "of another contract: changed" in text
