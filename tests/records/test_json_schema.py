"""Tool schemas are checked when they load: valid, self-contained, linear. Problems name place and keyword only."""

from __future__ import annotations

import time
from typing import Any

import pytest

from dfah_cli.errors import ValidationError
from tests.builders import a_tool


def an_object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


REFUSED: dict[str, dict[str, Any]] = {
    "unknown type": an_object(k={"type": "text"}),
    "negative length": an_object(k={"minLength": -1}),
    "required is no list": {"type": "object", "required": "k"},
    "broken pattern": an_object(k={"pattern": "("}),
    "look-ahead": an_object(k={"pattern": "(?=a)b"}),
    "back-reference": an_object(k={"pattern": r"(a)\1"}),
    "pattern in patternProperties": {"type": "object", "patternProperties": {"(?!a)": {}}},
    "pattern deep inside": an_object(k={"anyOf": [{"not": {"items": {"pattern": "(?<=a)b"}}}]}),
    "pattern behind a reference": {**an_object(k={"$ref": "#/$defs/p"}), "$defs": {"p": {"pattern": "(?=a)"}}},
    "remote reference": an_object(k={"$ref": "https://example.org/schema.json"}),
    "file reference": an_object(k={"$ref": "file:///etc/passwd"}),
    "relative reference": an_object(k={"$ref": "other.json#/x"}),
    "remote dynamic reference": an_object(k={"$dynamicRef": "https://example.org/x#a"}),
    "reference deep inside": an_object(k={"items": {"allOf": [{"$ref": "https://example.org/x"}]}}),
    "dangling reference": an_object(k={"$ref": "#/$defs/absent"}),
    "reference of another base": {
        **an_object(k={"$ref": "#/$defs/x"}),
        "$defs": {"x": {"$id": "https://example.org/x", "properties": {"a": {"$ref": "#/$defs/y"}}}, "y": {}},
    },
}


@pytest.mark.parametrize("schema", REFUSED.values(), ids=REFUSED.keys())
def test_a_schema_that_could_fetch_stall_or_fail_later_is_refused_at_once(schema: dict[str, Any]) -> None:
    started = time.process_time()
    with pytest.raises(ValidationError, match=r"ToolSpec\.input_schema"):
        a_tool(input_schema=schema)
    assert time.process_time() - started < 2.0


CHECKED: list[tuple[dict[str, Any], Any, str | None]] = [
    (an_object(k={"type": "string"}), {"k": "x"}, None),
    (an_object(k={"type": "string"}), {"k": 1}, ".k: violates type"),
    ({"type": "object", "required": ["k"]}, {}, "required"),
    ({**an_object(k={}), "additionalProperties": False}, {"secretname": 1}, "additionalProperties"),
    ({**an_object(k={}), "additionalProperties": {"type": "string"}}, {"j": 1}, ".j: violates type"),
    ({**an_object(), "patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": False}, {"x1": 1}, None),
    ({**an_object(), "patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": False}, {"y": 1}, "add"),
    ({**an_object(), "patternProperties": {"^x": {"type": "integer"}}}, {"x1": "a"}, ".x1: violates type"),
    (an_object(k={"items": {"maximum": 3}}), {"k": [1, 2, 9]}, ".k[2]: violates maximum"),
    (an_object(k={"pattern": "^a+$"}), {"k": "aaa"}, None),
    (an_object(k={"pattern": "^a+$"}), {"k": "b"}, ".k: violates pattern"),
    (an_object(k={"pattern": "b"}), {"k": "abc"}, None),
    (an_object(k={"enum": ["a", 1]}), {"k": True}, "violates enum"),
    (an_object(k={"const": 10**20 + 1}), {"k": 10**20 + 1}, None),
    (an_object(k={"const": 10**20 + 1}), {"k": 10**20 + 2}, "violates const"),
    (an_object(k={"type": "integer"}), {"k": True}, "violates type"),
    ({**an_object(k={"$ref": "#/$defs/n"}), "$defs": {"n": {"minimum": 2}}}, {"k": 1}, ".k: violates minimum"),
    ({**an_object(k={"$ref": "#/$defs/a~1b"}), "$defs": {"a/b": {"minimum": 2}}}, {"k": 1}, ".k: violates minimum"),
    ({"type": "object", "unevaluatedProperties": False, "properties": {"a": {}}}, {"b": 1}, "unevaluatedProperties"),
    ({"type": "object", "dependentRequired": {"a": ["b"]}}, {"a": 1}, "dependentRequired"),
]


@pytest.mark.parametrize(("schema", "arguments", "told"), CHECKED)
def test_arguments_are_checked_against_draft_2020_12(schema: dict[str, Any], arguments: Any, told: str | None) -> None:
    tool = a_tool(input_schema=schema)
    if told is None:
        tool.validate_arguments(arguments)
        return
    with pytest.raises(ValueError) as caught:
        tool.validate_arguments(arguments)
    assert told in str(caught.value)


def test_a_problem_names_place_and_keyword_and_never_the_value() -> None:
    tool = a_tool(input_schema=an_object(k={"enum": ["allowed-one"]}))
    with pytest.raises(ValidationError) as caught:
        tool.validate_arguments({"k": "the-private-value"})
    assert "private" not in str(caught.value)
    assert "allowed-one" not in str(caught.value)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b$", "(a|aa)+$", "(.*a){12}$", "^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_a_pattern_that_could_backtrack_for_ever_is_matched_in_linear_time(pattern: str) -> None:
    tool = a_tool(input_schema={**an_object(k={"pattern": pattern}), "patternProperties": {pattern: {}}})
    started = time.process_time()
    with pytest.raises(ValidationError):
        tool.validate_arguments({"k": "a" * 50_000 + "!"})
    assert time.process_time() - started < 2.0


def test_a_schema_that_refers_to_itself_ends_with_a_problem_not_a_crash() -> None:
    with pytest.raises(ValidationError, match="could not be evaluated"):
        a_tool(input_schema={"type": "object", "$ref": "#"}).validate_arguments({})


def test_a_recursive_schema_of_finite_data_works() -> None:
    schema = {"type": "object", "properties": {"next": {"$ref": "#"}}, "additionalProperties": False}
    a_tool(input_schema=schema).validate_arguments({"next": {"next": {}}})


@pytest.mark.parametrize("bad", [None, 5, "text", [1]])
def test_arguments_that_are_no_object_are_refused(bad: Any) -> None:
    with pytest.raises(ValidationError):
        a_tool().validate_arguments(bad)
