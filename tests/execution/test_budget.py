"""Money admitted before a call and settled after it: the limit holds whatever episodes really cost."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfah_cli.adapter.contract import RunContext
from dfah_cli.execution.budget import Budget
from dfah_cli.records.case import Case
from dfah_cli.workflow.replay import Replay
from tests.builders import a_scripted_agent


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


@pytest.mark.usefixtures("in_memory")
def test_an_episode_that_raises_takes_its_reservation_from_the_budget_also_after_a_resume() -> None:
    def fails(case: Case, context: RunContext) -> Any:
        calls.append(context.replay_index)
        raise RuntimeError("the provider took the money and hung up")

    calls: list[int] = []
    agent = a_scripted_agent({"A": [fails], "B": [fails]})
    replay = Replay(suite=agent.suite, replays=3, out="run", budget_usd=0.25, estimated_max_episode_cost_usd=0.1)
    assert replay.run(agent).partial_reason == "budget_stop"
    assert len(calls) == 2
    replay.run(agent)
    assert len(calls) == 2
