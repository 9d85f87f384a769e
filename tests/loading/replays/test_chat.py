from __future__ import annotations

from typing import Any

from dfah_cli.loading.replays.chat import steps
from dfah_cli.loading.replays.recorded import value_hash


def ask(*calls: tuple[str, str, str]) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": i, "function": {"name": name, "arguments": args}} for i, name, args in calls],
    }


def answer(call_id: str | None, content: object) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def test_a_reused_id_belongs_to_the_call_before_its_answer() -> None:
    found = steps([ask(("1", "a", "{}")), answer("1", "x"), ask(("1", "b", "{}")), answer("1", "y")], "f")
    assert [(step[0], step[2]) for step in found] == [("a", value_hash("x", "")), ("b", value_hash("y", ""))]


def test_parallel_calls_are_paired_by_id_and_by_order_where_ids_are_equal() -> None:
    found = steps([ask(("1", "a", "{}"), ("2", "b", "{}")), answer("2", "y"), answer("1", "x")], "f")
    assert [step[2] for step in found] == [value_hash("x", ""), value_hash("y", "")]
    found = steps([ask(("1", "a", "{}"), ("1", "b", "{}")), answer("1", "x"), answer("1", "y")], "f")
    assert [step[2] for step in found] == [value_hash("x", ""), value_hash("y", "")]


def test_a_call_without_answer_has_no_result() -> None:
    (found,) = steps([ask(("1", "a", "{}")), {"role": "user", "content": "?"}, answer("9", "z")], "f")
    assert found[2:] == (None, "unavailable", "requested")


def test_two_spellings_of_arguments_are_one_value_and_broken_json_is_text() -> None:
    calls = [("1", "a", '{"x":1,"y":2}'), ("2", "a", '{ "y": 2, "x": 1 }'), ("3", "a", "{broken")]
    one, two, broken = steps([ask(*calls)], "f")
    assert one[1] == two[1] != broken[1]
    assert broken[1] is not None


def test_an_empty_answer_is_an_observed_empty_result() -> None:
    (found,) = steps([ask(("1", "a", "{}")), answer("1", "")], "f")
    assert found[3:] == ("observed_empty", "executed")
