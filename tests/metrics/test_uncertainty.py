from __future__ import annotations

import pytest

from dfah_cli.metrics.intervals import Method, Scope
from dfah_cli.metrics.measure import measure
from dfah_cli.metrics.uncertainty import Confidence, run_intervals
from tests.metrics.build import Replay, a_table

STABLE: list[Replay] = [("Y", "T")] * 3


def test_a_stable_suite_of_fifty_cases_says_what_it_can_show() -> None:
    run = measure(a_table({("t", f"C{i}"): STABLE for i in range(50)}), replays=3)
    found = run_intervals(run, Confidence(labels=2))
    assert found["dar"].low == pytest.approx(1 - (1 - 0.025**0.02) / 3, abs=1e-12)
    assert found["flags_per_100"].high == pytest.approx(7.1121736, abs=1e-6)
    assert found["tar.strong"].method is Method.CLOSED_FORM
    assert set(found) >= {"gap", "pairwise.decision", "pairwise.path.seq", "flags_per_100.worst_case"}


def test_ineligible_groups_count_as_flagged_in_the_worst_case() -> None:
    groups = {("t", f"C{i}"): STABLE for i in range(9)} | {("t", "bad"): STABLE[:2]}
    found = run_intervals(measure(a_table(groups), replays=3), Confidence(scope=Scope.SUITE))
    assert (found["flags_per_100"].value, found["flags_per_100.worst_case"].value) == (0.0, 10.0)
    assert found["flags_per_100.worst_case"].cases == 10
    assert all(interval.scope is Scope.SUITE for interval in found.values())


def test_nothing_eligible_has_no_interval() -> None:
    assert run_intervals(measure(a_table({("t", "A"): STABLE[:2]}), replays=3), Confidence()) == {}


def test_order_of_episodes_and_groups_does_not_change_a_limit() -> None:
    mixed: list[Replay] = [("Y", "T"), ("N", "U"), ("Y", "U")]
    groups = {("a", "A"): STABLE, ("b", "B"): mixed, ("a", "C"): mixed, ("b", "D"): STABLE}
    reverse = dict(reversed(list(groups.items())))
    found = [run_intervals(measure(a_table(g), replays=3), Confidence()) for g in (groups, reverse)]
    assert found[0] == found[1]
