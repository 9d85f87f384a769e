"""Records to JSON and back; nothing is coerced on the way, and only one error class comes out."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from dfah_cli.errors import ValidationError
from dfah_cli.records.case import Case
from dfah_cli.records.codec import plain, record
from dfah_cli.records.manifest import Manifest
from dfah_cli.records.policy import GatePolicy, TaskGatePolicy
from dfah_cli.records.run_plan import RunPlan
from dfah_cli.records.suite import Suite
from dfah_cli.records.tool_spec import ToolSpec
from tests.builders import a_case, a_manifest, a_planned, a_suite, a_tool

POLICY = GatePolicy(min_dar=0.9, by_task=(TaskGatePolicy(task="t", max_gap=0.1),))
RECORDS: list[Any] = [a_case(), a_tool(), a_suite(), a_manifest(), a_planned().plan, POLICY]


@pytest.mark.parametrize("one", RECORDS, ids=lambda one: type(one).__name__)
def test_a_record_comes_back_equal(one: Any) -> None:
    assert record(type(one), plain(one)) == one


@pytest.mark.parametrize("one", RECORDS, ids=lambda one: type(one).__name__)
def test_every_record_says_its_schema_version(one: Any) -> None:
    assert plain(one)["schema_version"] == "1.0"
    with pytest.raises(ValidationError, match="schema_version"):
        record(type(one), {**plain(one), "schema_version": "9.9"})


@pytest.mark.parametrize("one", RECORDS, ids=lambda one: type(one).__name__)
def test_unknown_and_missing_keys_are_refused_by_name(one: Any) -> None:
    with pytest.raises(ValidationError, match="colour"):
        record(type(one), {**plain(one), "colour": 1})
    required = next((name for name in plain(one) if name.endswith("_id") or name in ("name", "seed")), None)
    if required and type(one) is not GatePolicy:
        whole = {name: value for name, value in plain(one).items() if name != required}
        with pytest.raises(ValidationError, match=required):
            record(type(one), whole)


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        (Manifest, {"decision_ontology": "ab"}),
        (Manifest, {"decision_ontology": {"a": 1, "b": 2}}),
        (Manifest, {"decision_ontology": 5}),
        (Manifest, {"request_parameters": [["a", 1]]}),
        (Manifest, {"request_parameters": "a"}),
        (Manifest, {"temperature": "0"}),
        (Manifest, {"seed": 1.0}),
        (Suite, {"cases": {}}),
        (Suite, {"cases": "A"}),
        (Suite, {"cases": [5]}),
        (Suite, {"cases": [None]}),
        (Suite, {"decisions": "yn"}),
        (RunPlan, {"case_tasks": [["A", "t"]]}),
        (RunPlan, {"replays": 3.0}),
        (RunPlan, {"replays": True}),
        (RunPlan, {"case_tasks": {"A": 5}}),
        (RunPlan, {"case_tasks": {}}),
        (GatePolicy, {"by_task": "ab"}),
        (GatePolicy, {"by_task": [{"task": "t", "min_dar": "1"}]}),
        (Case, {"metadata": [["a", 1]]}),
        (ToolSpec, {"input_schema": []}),
    ],
)
def test_a_value_of_another_shape_is_refused_and_not_coerced(kind: type, changes: dict[str, Any]) -> None:
    whole = {type(one): plain(one) for one in RECORDS}
    with pytest.raises(ValidationError):
        record(kind, {**whole[kind], **changes})


@pytest.mark.parametrize("value", [None, [], "x", 3])
def test_what_is_no_object_is_no_record(value: Any) -> None:
    with pytest.raises(ValidationError, match="Case: found"):
        record(Case, value)


def test_the_plain_form_has_every_field_nulls_included() -> None:
    assert plain(evolve(a_case(), artifact_case_id=None)) == {
        "case_id": "A",
        "artifact_case_id": None,
        "input": {"id": "A"},
        "task": "default",
        "metadata": {},
        "schema_version": "1.0",
    }
