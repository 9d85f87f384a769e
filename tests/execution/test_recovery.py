"""What an earlier session left behind: reuse, resume, or interrupt, and what it spent."""

from __future__ import annotations

from typing import Any

from dfah_cli.execution.recovery import ACTIONS, NOTHING_YET, Action, survey
from dfah_cli.store.protocol import SlotState


def test_only_an_intent_without_an_outcome_is_interrupted() -> None:
    assert {state: ACTIONS[state] for state in SlotState} == {
        SlotState.ABSENT: Action.DISPATCH,
        SlotState.PLANNED: Action.DISPATCH,
        SlotState.DISPATCHING: Action.INTERRUPT,
        SlotState.COMMITTED: Action.REUSE,
        SlotState.ELSEWHERE: Action.LEAVE,
    }


def intent(ordinal: int, reserved: int = 10) -> tuple[str, dict[str, Any]]:
    return "", {"t": "dispatching", "i": ordinal, "at": f"at {ordinal}", "reserved_nusd": reserved}


def episode(ordinal: int, cost: int, *, answered: bool = True) -> tuple[str, dict[str, Any]]:
    return "", {"t": "episode", "i": ordinal, "cost_nusd": cost, "wire_request": {} if answered else None}


def test_an_open_intent_counts_as_spent_with_its_reservation() -> None:
    found = survey([intent(0), episode(0, 3), intent(1), intent(2, 7)])
    assert (found.spent_nusd, found.dearest_nusd) == (20, 3)
    assert found.open_intents == {1: "at 1", 2: "at 2"}


def test_an_episode_that_never_told_its_cost_stays_counted_with_its_reservation() -> None:
    found = survey([intent(0), episode(0, 0, answered=False)])
    assert (found.spent_nusd, found.open_intents) == (10, {})


def test_no_record_is_nothing() -> None:
    assert survey([]) == NOTHING_YET
