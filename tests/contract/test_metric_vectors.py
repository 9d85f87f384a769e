"""The metric vectors of docs/metrics.md, through the whole journey: agent, tools, records, verification, report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from dfah_cli.gate.evaluate import Gate
from dfah_cli.records.enums import PathVariationKind
from dfah_cli.records.policy import GatePolicy
from dfah_cli.report.record import Report
from tests.builders import Script, a_case, a_scripted_agent, a_suite, replayed

pytestmark = pytest.mark.usefixtures("in_memory")

ORDER = [("Y", "T U"), ("Y", "U T"), ("Y", "T U")]
ARGS = [("Y", "k=x"), ("Y", "k=y"), ("Y", "k=x")]
STABLE: list[Script] = [("Y", "T U")]
CLOSE = pytest.approx
H, P = 1 / 3, 2 / 3

# replays, scripts, dar, seq, bag, set, strong, gap, kind, flags, sequence flags
VECTORS: dict[str, tuple[Any, ...]] = {
    "none": (3, STABLE, 1, 1, 1, 1, 1, 0, "none", 0, 0),
    "order": (3, ORDER, 1, P, 1, 1, P, H, "order_only", 100, 100),
    "multiplicity": (3, [("Y", "T U"), ("Y", "T T U"), ("Y", "T U")], 1, P, P, 1, P, H, "multiplicity", 100, 100),
    "set": (3, [("Y", "T U"), ("Y", "T"), ("Y", "T U")], 1, P, P, P, P, H, "tool_set", 100, 100),
    "args": (3, ARGS, 1, 1, 1, 1, P, 0, "argument_or_result", 100, 0),
    "empty and not": (3, [("Y", ""), ("Y", "T"), ("Y", "T")], 1, P, P, P, P, H, "tool_set", 100, 100),
    "mixed": (3, [("Y", "T U"), ("Y", "U T"), ("Y", "T T U")], 1, H, P, 1, H, P, "multiplicity", 100, 100),
    "not unanimous": (3, [("Y", "T"), ("N", "U"), ("Y", "T U")], P, H, H, H, H, H, "tool_set", 0, 0),
    "tie": (4, [("Y", "T"), ("Y", "T"), ("N", "U"), ("N", "U")], 0.5, 0.5, 0.5, 0.5, 0.5, 0, "tool_set", 0, 0),
    "negative gap": (3, [("Y", "T"), ("N", "T"), ("Y", "T")], P, 1, 1, 1, 1, -H, "none", 0, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", VECTORS)
def test_one_replay_group(name: str) -> None:
    replays, scripts, dar, seq, bag, tree, strong, gap, kind, flags, sequence_flags = VECTORS[name]
    report = replayed(a_scripted_agent({"A": scripts}), "run", replays=replays)
    assert report.tar is not None
    assert (report.dar, report.gap) == CLOSE((dar, gap), abs=1e-12)
    assert (report.tar.seq, report.tar.bag, report.tar.set, report.tar.strong) == CLOSE(
        (seq, bag, tree, strong), abs=1e-12
    )
    assert (report.flags_per_100_cases, report.sequence_flags_per_100_cases) == (flags, sequence_flags)
    (case,) = report.case_reports
    assert case.path_variation_kind == PathVariationKind(kind)
    assert (case.dar, case.gap) == CLOSE((dar, gap), abs=1e-12)
    assert (case.unanimous_with_path_change, case.unanimous_with_sequence_change) == (flags > 0, sequence_flags > 0)
    assert report.status == "complete"


def of_tasks(tasks: Mapping[str, Mapping[str, Sequence[Script]]], **options: Any) -> Report:
    paths = {case: scripts for cases in tasks.values() for case, scripts in cases.items()}
    cases = [a_case(case, task=task) for task, cases in tasks.items() for case in cases]
    return replayed(a_scripted_agent(paths, suite=a_suite(cases)), "run", **options)


def test_tasks_weigh_the_same_whatever_their_number_of_cases() -> None:
    report = of_tasks({
        "t1": {"A": [("Y", "T"), ("Y", "T"), ("N", "T")], "B": [("Y", "T")]},
        "t2": {"C": [("Y", "T"), ("Y", "U"), ("N", "T U")]},
    })  # fmt: skip
    assert report.tar is not None
    assert report.dar == 0.75
    assert (report.tar.seq, report.tar.bag, report.tar.set, report.tar.strong) == CLOSE((2 / 3,) * 4, abs=1e-12)
    assert report.gap == CLOSE(1 / 12, abs=1e-12)
    assert report.flags_per_100_cases == 0
    assert [(task.task, task.cases, task.dar) for task in report.task_reports] == [("t1", 2, 5 / 6), ("t2", 1, 2 / 3)]


def test_flags_count_every_kind_of_change_and_sequence_flags_only_names() -> None:
    report = of_tasks({"t": {"A": ORDER, "B": ARGS, "C": STABLE, "D": [("N", "T"), ("Y", "U"), ("Y", "T")]}})
    assert report.tar is not None
    assert report.dar == CLOSE(11 / 12, abs=1e-12)
    shares = (report.tar.seq, report.tar.bag, report.tar.set, report.tar.strong)
    assert shares == CLOSE((5 / 6, 11 / 12, 11 / 12, 3 / 4), abs=1e-12)
    assert (report.flags_per_100_cases, report.sequence_flags_per_100_cases) == (50, 25)
    queue = {kind.value: count for kind, count in report.review_queue_breakdown.items() if count}
    assert queue == {"order_only": 1, "argument_or_result": 1}


def test_one_bad_replay_drops_its_whole_group() -> None:
    report = of_tasks({"t": {"A": [("Y", "T"), ("maybe", "T"), ("Y", "T")], "B": STABLE}})
    assert (report.status, report.episodes_eligible, report.episodes_planned) == ("partial", 3, 6)
    assert (report.dar, report.observed_groups, report.ineligible_groups) == (1.0, 1, 1)
    reasons = {one.reason: one.groups for one in report.ineligibility_reasons}
    assert reasons == {"decision_missing_or_invalid": 1, "terminal_status_parse_failure": 1}


def test_with_every_group_bad_every_aggregate_is_none_and_not_zero() -> None:
    report = of_tasks({"t": {"A": [("maybe", "T")], "B": [("maybe", "")]}})
    found = (report.dar, report.tar, report.gap, report.flags_per_100_cases, report.sequence_flags_per_100_cases)
    assert found == (None,) * 5
    assert report.unanimous_with_path_change_rate is None
    assert report.content["dar"] is None
    assert report.content["gap"] is None
    result = Gate(GatePolicy(min_dar=0.0, max_gap=1.0, require_complete=False)).evaluate(report)
    assert not result.passed


def test_a_budget_stops_before_it_is_overspent_and_a_higher_one_completes_the_run() -> None:
    agent = a_scripted_agent({"A": STABLE, "B": STABLE, "C": STABLE}, cost_usd=0.1)
    options = {"replays": 2, "estimated_max_episode_cost_usd": 0.1}
    report = replayed(agent, "run", budget_usd=0.25, **options)
    assert len(agent.calls) == 2
    assert (report.status, report.partial_reason, report.budget_exceeded) == ("partial", "budget_stop", True)
    reasons = {one.reason: one.groups for one in report.ineligibility_reasons}
    assert reasons == {"expected_2_replays_observed_0": 1, "expected_2_replays_observed_1": 2}
    again = replayed(agent, "run", budget_usd=0.6, **options)
    assert len(agent.calls) == 6
    assert (again.status, again.total_cost_usd) == ("complete", 0.6)


@pytest.mark.parametrize(("payloads", "reason"), [(("a", "b"), "wire_payload_mismatch")])
def test_payloads_must_be_the_same_across_replays(payloads: tuple[str, str], reason: str) -> None:
    from tests.builders import a_wire

    agent = a_scripted_agent({"A": [lambda _, context: agent.result(context, wire_request=a_wire(
        agent.manifest, payload={"nonce": payloads[context.replay_index % 2]}))]})  # fmt: skip
    report = replayed(agent, "run")
    assert {one.reason for one in report.ineligibility_reasons} == {reason}
    assert report.dar is None


def test_three_cases_at_seven_tenths_pass_a_threshold_of_seven_tenths(tmp_path: Path) -> None:
    scripts: list[Script] = [("Y", "T")] * 7 + [("N", "T")] * 3
    report = of_tasks({"t": {"A": scripts, "B": scripts, "C": scripts}}, replays=10)
    assert report.exact.dar == "7/10"
    assert Gate(GatePolicy(min_dar=0.7)).evaluate(report).passed
    assert not Gate(GatePolicy(min_dar=0.7000000000000001)).evaluate(report).passed


def test_case_spelling_of_labels_does_not_matter() -> None:
    report = of_tasks({"t": {"A": [("Y", "T"), ("y", "T"), (" Y ", "T")]}})
    assert report.dar == 1.0


def test_an_empty_path_is_a_path() -> None:
    report = of_tasks({"t": {"A": [("Y", "")]}})
    assert report.tar is not None
    assert (report.tar.strong, report.status) == (1.0, "complete")


def test_a_decision_that_is_wrong_every_time_is_perfectly_repeatable() -> None:
    for label in ("Y", "N"):
        report = replayed(a_scripted_agent({"A": [(label, "T")]}), f"run {label}")
        assert (report.dar, report.gap, report.status) == (1.0, 0.0, "complete")
    assert not [name for name in report.content if "correct" in name or "accuracy" in name]
