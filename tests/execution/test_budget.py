"""Money admitted before a call and settled after it: the limit holds whatever episodes really cost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dfah_cli.execution.budget import Budget


def test_without_a_limit_everything_is_admitted_and_nothing_reserved() -> None:
    budget = Budget()
    assert budget.admits()
    assert budget.reserve() == 0
    budget.settle(0, 7)
    assert (budget.spent_nusd, budget.exceeded) == (7, False)


def test_what_is_in_flight_counts_against_the_limit() -> None:
    budget = Budget(limit_nusd=25, estimate_nusd=10)
    assert [budget.admits() and budget.reserve() for _ in range(2)] == [10, 10]
    assert not budget.admits()
    budget.settle(10, 9)
    assert not budget.admits()
    budget.settle(10, 1)
    assert budget.admits()


def test_a_low_estimate_cannot_overspend_again_and_again() -> None:
    budget = Budget(limit_nusd=100, estimate_nusd=1)
    budget.settle(budget.reserve(), 40)
    assert budget.reservation_nusd == 40
    budget.settle(budget.reserve(), 40)
    assert not budget.admits()


@given(st.lists(st.integers(0, 50), max_size=30), st.integers(0, 300), st.integers(1, 50))
def test_the_limit_is_passed_by_one_dear_episode_at_most(costs: list[int], limit: int, estimate: int) -> None:
    budget = Budget(limit_nusd=limit, estimate_nusd=estimate)
    for cost in costs:
        if not budget.admits():
            break
        budget.settle(budget.reserve(), cost)
    assert budget.reserved_nusd == 0
    dearest = max(costs, default=0)
    assert budget.spent_nusd <= limit + max(0, dearest - estimate)
