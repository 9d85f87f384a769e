"""Published schemas and the problems they find."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from dfah_cli.loading.schema_files import KINDS, properties, schema
from dfah_cli.loading.validate import MAX_LINES, lines, problems
from dfah_cli.loading.wording import did_you_mean, escaped, quoted

CLASSES = {"identity", "policy", "operational"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_published_schema_is_valid_and_stands_alone(kind: str) -> None:
    Draft202012Validator.check_schema(schema(kind))
    assert "$ref" not in str(schema(kind))


def unclassified(keys: dict[str, Any], prefix: str = "") -> list[str]:
    """Keys of a run config, nested ones included, that say no class."""
    found = []
    for name, key in keys.items():
        nested = key.get("properties", {}) or key.get("items", {}).get("properties", {})
        if key.get("x-dfah-class") not in CLASSES and not nested:
            found.append(prefix + name)
        found += unclassified(nested, f"{prefix}{name}.")
    return found


def test_every_key_of_a_run_is_identity_policy_or_operational() -> None:
    assert unclassified(properties("run")) == []


def test_an_unclassified_key_is_found() -> None:
    assert unclassified({"gate": {"properties": {"new": {"type": "number"}}}}) == ["gate.new"]


@pytest.mark.parametrize("value", [3.0, True, "3", None, [3]])
def test_an_integer_is_written_without_a_point_and_is_no_boolean(value: Any) -> None:
    assert len(problems({"replays": value}, "replay")) == 1


def test_every_problem_is_found_in_one_pass() -> None:
    found = problems({"replays": "three", "sed": 1, "sample_rate": 2, "gate": {"min_darr": 1}}, "run", lenient=True)
    assert [(problem.dotted, problem.message) for problem in found] == [
        ("gate.min_darr", "unknown key 'min_darr'; did you mean 'min_dar'?"),
        ("replays", "replays: 'three' is not an integer"),
        ("sample_rate", "sample_rate: 2 is more than 1"),
        ("sed", "unknown key 'sed'; did you mean 'seed'?"),
    ]


def test_a_part_of_a_config_may_lack_keys_and_interpolate() -> None:
    assert problems({"replays": "${limit}"}, "run", lenient=True) == []
    assert [problem.message for problem in problems({"replays": "${limit}"}, "run")] != []


def test_a_choice_names_the_nearest() -> None:
    (problem,) = problems({"mode": "blokcing"}, "run", lenient=True)
    assert problem.message == "mode: 'blokcing' is not one of shadow, blocking; did you mean 'blocking'?"


def test_many_problems_are_counted() -> None:
    text = lines([str(number) for number in range(MAX_LINES + 3)])
    assert len(text.splitlines()) == MAX_LINES + 1
    assert text.endswith("… and 3 more")


def test_user_text_in_a_message_cannot_move_the_cursor() -> None:
    assert escaped("a\x1b[31m\n\u202eb") == "a\\x1b[31m\\n\\u202eb"
    assert quoted("x" * 100) == f"'{'x' * 59}…'"
    assert did_you_mean("REPLAY", ["replays"]) == "; did you mean 'replays'?"
    assert did_you_mean("zzz", ["replays"]) == ""
