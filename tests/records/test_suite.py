"""Identity of a suite: what is hashed, what is private, and which ids are twins."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from dfah_cli.errors import ConfigurationError, ValidationError
from dfah_cli.records.suite import Suite
from tests.builders import a_case, a_suite, a_tool


@pytest.mark.parametrize(
    "cases",
    [
        ("A", "A"),
        ("A", a_case("B", artifact_case_id="A")),
        (a_case("A", artifact_case_id="P"), a_case("B", artifact_case_id="P")),
        ("\u00e9", "e\u0301"),
        (a_case("A", artifact_case_id="\u00e9"), "e\u0301"),
        ("\u2126", "\u03a9"),
    ],
)
def test_effective_ids_are_unique_after_normalization(cases: tuple[Any, ...]) -> None:
    with pytest.raises(ValidationError, match="unique case ids") as caught:
        a_suite(cases)
    assert "\u00e9" not in str(caught.value)


def test_a_pseudonym_that_stands_twice_is_named_with_its_places_and_a_raw_id_by_its_places_alone() -> None:
    ids = [("secret-1", "CASE-1"), ("secret-2", None), ("secret-3", "CASE-1"), ("secret-2", None)]
    cases = tuple(a_case(raw, artifact_case_id=pseudonym) for raw, pseudonym in ids)
    told = "stand more than once ('CASE-1' at 1, 3; one without a pseudonym at 2, 4); expected unique case ids"
    with pytest.raises(ValidationError, match=re.escape(told)) as caught:
        a_suite(cases)
    assert "secret" not in str(caught.value)


def test_many_ids_that_stand_twice_are_told_in_one_short_line() -> None:
    cases = tuple(a_case("x", artifact_case_id=f"{number % 40:0100}") for number in range(400))
    with pytest.raises(ValidationError, match=r"at 1, 41, 81, …; .* and 37 more\)") as caught:
        a_suite(cases)
    assert len(str(caught.value)) < 600


def test_one_raw_id_may_have_two_pseudonyms() -> None:
    suite = a_suite((a_case("A", artifact_case_id="P"), a_case("A", artifact_case_id="Q")))
    assert [case.effective_case_id for case in suite.cases] == ["P", "Q"]


def test_ids_that_differ_only_in_direction_marks_stay_different() -> None:
    assert len(a_suite(("A", "A\u202e")).cases) == 2


def test_a_suite_needs_a_case() -> None:
    with pytest.raises(ValidationError, match=r"Suite\.cases"):
        a_suite(())


@pytest.mark.parametrize(
    ("change", "moves"),
    [
        ({"description": "other"}, False),
        ({"tools": ()}, False),
        ({"suite_id": "other"}, True),
        ({"suite_version": "1.2.4"}, True),
        ({"decisions": ("N", "Y")}, True),
        ({"decisions": ("y", "N")}, True),
        ({"required_channels": ("trajectory", "decision")}, True),
        ({"cases": (a_case("B"), a_case("A"))}, True),
        ({"cases": (a_case("A"), a_case("B", input={"id": "B", "n": 1}))}, True),
        ({"cases": (a_case("A"), a_case("B", metadata={"m": 1}))}, True),
        ({"cases": (a_case("A"), a_case("B", task="t2"))}, True),
    ],
)
def test_the_fixture_hash_moves_with_the_fixture_only(change: dict[str, Any], moves: bool) -> None:
    other = a_suite(change["cases"]) if "cases" in change else a_suite(**change) if "tools" not in change else None
    other = other or a_suite(tools=())
    assert (other.fixture_hash != a_suite().fixture_hash) is moves


def test_parallel_calls_are_part_of_the_fixture_whatever_their_order() -> None:
    declared = a_suite(parallel=[["U", "T"], ["k"]])
    assert declared.fixture_hash != a_suite().fixture_hash
    assert declared.fixture_hash == a_suite(parallel=(("k",), ("T", "U"))).fixture_hash
    assert declared.tool_schema_hash == a_suite().tool_schema_hash
    assert declared.parallel_sets == (("T", "U"), ("k",))


@pytest.mark.parametrize(
    ("parallel", "says"),
    [
        ([["T", "missing"]], "found missing; expected names of tools of this suite"),
        ([[]], "at least 1"),
        ([["T", "T"]], "repeated name"),
        ("TU", "array"),
        (["TU"], "array"),
    ],
)
def test_a_parallel_set_that_cannot_be_is_refused(parallel: Any, says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        a_suite(parallel=parallel)


def test_a_suite_without_tools_may_name_those_of_its_agents() -> None:
    assert a_suite(tools=(), parallel=[["x", "y"]]).parallel_sets == (("x", "y"),)


def test_the_tool_schema_hash_ignores_order_and_sees_descriptions() -> None:
    assert a_suite(tools=("T", "U")).tool_schema_hash == a_suite(tools=("U", "T")).tool_schema_hash
    one, other = (a_suite(tools=()) for _ in range(2))
    assert one.tool_schema_hash == other.tool_schema_hash
    described = Suite(suite_id="s", suite_version="1.0.0", decisions=("a", "b"), cases=(a_case(),),
                      tools=(a_tool("T", description="d"),))  # fmt: skip
    assert described.tool_schema_hash != a_suite(tools=("T",)).tool_schema_hash


def test_a_case_input_is_plain_json() -> None:
    case = a_case(input={"a": (1, {"b": 2})})
    assert isinstance(case.input, dict)
    assert json.dumps(case.input) == '{"a": [1, {"b": 2}]}'


def test_a_suite_keeps_its_own_copy_of_what_it_was_given() -> None:
    given = {"a": [1]}
    suite = a_suite((a_case(input=given),))
    given["a"].append(2)
    assert suite.cases[0].input == {"a": [1]}


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def test_an_input_of_a_hundred_levels_is_the_deepest() -> None:
    assert len(a_suite((a_case(input=nested(100)),)).fixture_hash) == 64
    with pytest.raises(ValidationError, match="100 levels") as caught:
        a_case(input=nested(101))
    assert len(str(caught.value)) < 400


def test_labels_are_compared_stripped_and_lower_case_and_kept_as_spelled() -> None:
    suite = a_suite(decisions=(" Yes ", "NO"))
    assert (suite.decisions, suite.ontology) == ((" Yes ", "NO"), ("yes", "no"))


def test_a_suite_loads_from_itself_and_names_what_it_cannot_load(tmp_path: Any) -> None:
    suite = a_suite()
    assert Suite.load(suite) is suite
    with pytest.raises(ConfigurationError, match="no-such-suite"):
        Suite.load("no-such-suite")
    with pytest.raises(ConfigurationError):
        Suite.load(tmp_path / "absent.yaml")
