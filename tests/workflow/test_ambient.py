"""`check_agent(deep=True)`: what surrounds an agent is changed, one thing at a time, in worker processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dfah_cli.records.enums import ConformanceStatus
from dfah_cli.workflow import ambient
from dfah_cli.workflow.ambient import CHANGED, Deep, Outcome, deep_calls, judge
from dfah_cli.workflow.conformance import ConformanceReport, check_agent
from dfah_cli.workflow.json_difference import first_difference
from tests.workflow.ambient_agents import AGENTS

NAMES = [one.name for one in CHANGED]
ORDER, CLOCK, HASHES, ENVIRONMENT = CHANGED


def deep(name: str, **options: Any) -> ConformanceReport:
    return check_agent(AGENTS[name], deep=True, **options)


def verdicts(report: ConformanceReport) -> dict[str, str]:
    return {check.name: check.status.value for check in report.checks if check.name in NAMES}


@pytest.mark.soak
@pytest.mark.parametrize(
    ("name", "failing"),
    [
        ("steady", None),
        ("remembers", "order_independence"),
        ("decides_by_the_clock", "clock_independence"),
        ("hashes", "hash_seed_independence"),
        ("reads_the_time_zone", "environment_independence"),
    ],
)
def test_each_dependence_fails_its_own_check_only(name: str, failing: str | None) -> None:
    assert verdicts(deep(name)) == {one: "fail" if one == failing else "pass" for one in NAMES}


def test_a_clock_in_the_request_is_found_and_the_calls_are_announced_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One of the four only: a process is started for each call.
    monkeypatch.setattr(ambient, "CHANGED", (CLOCK,))
    told: list[tuple[int, float | None]] = []
    report = deep(
        "reads_the_clock",
        max_cases=1,
        out=tmp_path / "check",
        estimated_max_episode_cost_usd=0.5,
        announce=lambda calls, ceiling: told.append((calls, ceiling)),
    )
    assert told == [(6, 3.0)]
    assert (report.episodes_planned, report.estimated_cost_ceiling_usd) == (6, 3.0)
    assert verdicts(report) == {"clock_independence": "fail"}
    clock = next(check for check in report.checks if check.name == "clock_independence")
    assert "first request of A changes with the wall clock" in clock.detail
    assert {place.name for place in (tmp_path / "check-deep").iterdir()} == {"reference", "clock_independence"}


@pytest.mark.soak
def test_an_agent_that_fails_anyway_is_skipped_and_not_passed() -> None:
    assert set(verdicts(deep("fails")).values()) == {"skip"}


def outcome(
    request: str = "r", decision: str = "Y", path: tuple[object, ...] = (), failed: str | None = None
) -> Outcome:
    return Outcome(request=request, path=path, decision=decision, failed=failed)


SAME, OTHER = outcome(), outcome(decision="N")


@pytest.mark.parametrize(
    ("reference", "found", "status", "text"),
    [
        ([SAME, SAME], [SAME, SAME], "pass", "nothing changes"),
        ([SAME, SAME], [OTHER, OTHER], "fail", "decision of A"),
        ([SAME, SAME], [SAME, OTHER], "pass", "WARNING"),
        ([SAME, SAME], [outcome("other"), SAME], "fail", "first request of A"),
        ([SAME, OTHER], [OTHER, OTHER], "pass", "nothing changes"),
        ([SAME, outcome("x", "N", (1,))], [OTHER, OTHER], "skip", "varies by itself"),
        ([SAME, SAME], [outcome(failed="provider_error/E"), SAME], "skip", "provider_error/E"),
    ],
)
def test_what_may_be_concluded(reference: list[Outcome], found: list[Outcome], status: str, text: str) -> None:
    verdict = judge(CLOCK, {"A": reference}, {"A": found})
    assert verdict[0] is ConformanceStatus(status)
    assert text in verdict[1]


def test_a_decision_that_changes_with_the_order_may_be_the_provider() -> None:
    assert judge(ORDER, {"A": [SAME, SAME]}, {"A": [OTHER, OTHER]})[0] is ConformanceStatus.PASS
    assert judge(ORDER, {"A": [SAME, SAME]}, {"A": [outcome("x"), SAME]})[0] is ConformanceStatus.FAIL


def test_a_budget_that_is_used_up_leaves_the_rest_untold() -> None:
    assert deep_calls(2) == 20
    idle = Deep(agent=AGENTS["steady"], reference="nowhere:agent", where=Path(), design={})
    (status, told, _), cost = idle._verdict(CLOCK, {}, 0.0)
    assert (status, cost) == (ConformanceStatus.SKIP, 0.0)
    assert "budget" in told


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ({"a": [1, {"b": "x"}]}, {"a": [1, {"b": "x"}]}, None),
        ({"a": [1, {"b": "xy"}]}, {"a": [1, {"b": "xz"}]}, "$.a[1].b (text that parts at character 1)"),
        ({"a": 1}, {"b": 1}, "$.a (not in every replay)"),
        ({"a b": 1}, {"a b": 2}, "$[a key] (another value)"),
        ([1], [1, 2], "$ (1 and 2 items)"),
        ({"a": "1"}, {"a": 1}, "$.a (text and a number)"),
        (
            "id 7f3e0000aaaa",
            "id 7f3e0000bbbb",
            "$ (text that parts at character 11, where a random hexadecimal string stands)",
        ),
    ],
)
def test_the_first_difference_is_told_without_its_content(one: Any, other: Any, told: str | None) -> None:
    assert first_difference(one, other) == told
