"""Counts of a log as it grows."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from dfah_cli.workflow.watching import LogTally

NOW = datetime.fromisoformat("2026-01-31T09:01:00+00:00")


def at(second: int) -> str:
    return f"2026-01-31T09:00:{second:02d}.000000Z"


def sent(i: int, second: int, reserved: int = 0) -> dict[str, Any]:
    return {"t": "dispatching", "i": i, "k": "0" * 64, "at": at(second), "reserved_nusd": reserved}


def ended(i: int, second: int, status: str = "valid", calls: int = 2, cost: int = 5) -> dict[str, Any]:
    path = {"state": "observed_nonempty", "calls": [{}] * calls}
    return {"t": "episode", "i": i, "status": status, "ended_at": at(second), "trajectory": path, "cost_nusd": cost}


def a_tally(*bodies: dict[str, Any]) -> LogTally:
    tally = LogTally()
    for body in bodies:
        tally.take(body)
    return tally


def test_episodes_failures_calls_and_money_are_counted() -> None:
    session = {"t": "session", "w": "x", "at": at(0), "provenance": "{}"}
    tally = a_tally(session, sent(0, 1, 9), sent(1, 1, 9), ended(0, 2), ended(1, 4, "tool_error", 1), sent(2, 5, 7))
    assert (tally.done, tally.failed, tally.tool_calls, tally.spent_nusd, tally.held_nusd) == (2, 1, 3, 10, 7)
    assert tally.per_s == 0.5
    assert tally.slowest(NOW) == (2, 55.0)


def test_what_an_earlier_session_recorded_is_reused_and_not_part_of_the_rate() -> None:
    first, second = ({"t": "session", "w": "x", "at": at(second), "provenance": "{}"} for second in (0, 30))
    tally = a_tally(first, sent(0, 1), ended(0, 2), second)
    assert (tally.reused, tally.per_s, tally.slowest(NOW)) == (1, None, None)
    tally.take(sent(1, 31))
    tally.take(ended(1, 34))
    assert (tally.done, tally.reused, tally.per_s) == (2, 1, 0.25)


def test_an_episode_without_a_path_or_a_cost_counts_nothing_for_them() -> None:
    body = {"t": "episode", "i": 0, "status": "interrupted"}
    assert (a_tally(body).tool_calls, a_tally(body).spent_nusd, a_tally(body).failed) == (0, 0, 1)
