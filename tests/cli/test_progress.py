from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from dfah_cli.cli.logs import episode_log, told
from dfah_cli.cli.progress import Tally, announcement, frame, status_text, warning, watching
from dfah_cli.cli.screen import Screen
from dfah_cli.errors import ConfigurationError
from dfah_cli.execution.events import (
    EpisodeFinished,
    EpisodeStarted,
    Event,
    PlanReady,
    RunFinished,
    RunStarted,
    Stopping,
)

PLAN = PlanReady(
    plan_sha256="a" * 64, suite_id="toy", suite_version="1.0.0", cases=2, replays=3, episodes_planned=6, out="runs/x",
    cost_ceiling_nusd=60_000_000, raw_case_ids=1,
)  # fmt: skip


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def started(case: str, replay: int = 0) -> EpisodeStarted:
    return EpisodeStarted(case_id=case, replay_index=replay, reserved_nusd=10_000_000)


def finished(case: str, replay: int = 0, **changes: object) -> EpisodeFinished:
    given = {
        "status": "valid",
        "cost_nusd": 5_000_000,
        "latency_us": 1000,
        "tool_calls": 2,
        "reserved_nusd": 10_000_000,
    }
    return EpisodeFinished(case_id=case, replay_index=replay, **(given | changes))  # type: ignore[arg-type]


def test_a_run_that_follows_another_is_counted_from_its_own_start() -> None:
    tally = Tally(clock := Clock())
    for _ in range(3):
        tally.take(PLAN)
        tally.take(RunStarted(planned=6, reused=2, spent_nusd=5))
        clock.now += 2
        tally.take(started("A"))
        tally.take(finished("A", status="tool_error"))
        tally.take(Stopping(reason="budget_stop", in_flight=0))
    assert (tally.done, tally.failed, tally.tool_calls, tally.reused, tally.rate) == (1, 1, 2, 2, 0.5)
    tally.take(PLAN)
    assert tally.stopping is None


def test_the_tally_counts_what_happened_and_what_is_in_flight() -> None:
    clock = Clock()
    tally = Tally(clock)
    tally.take(RunStarted(planned=10, reused=4, spent_nusd=1_000_000_000))
    tally.take(started("A"))
    clock.now += 2
    tally.take(started("B"))
    assert tally.slowest == ("A", 2.0)
    assert tally.reserved_nusd == 20_000_000
    tally.take(finished("A", status="tool_error"))
    assert (tally.done, tally.failed, tally.tool_calls) == (1, 1, 2)
    assert (tally.spent_nusd, tally.reserved_nusd) == (1_005_000_000, 10_000_000)
    assert (tally.rate, tally.left_s) == (0.5, 10.0)
    tally.take(Stopping(reason="budget_stop", in_flight=1))
    assert status_text(tally) == (
        "5/10   1 failed   4 reused   2 tool calls   $1.00 (+$0.01 held)   0.5/s   0:00:10 left   "
        "stopping: the budget admits no further episode"
    )


def test_the_first_line_says_what_will_happen_and_what_it_can_cost() -> None:
    assert (
        announcement(PLAN) == "plan aaaaaaaaaaaa · toy 1.0.0 · 2 cases × 3 replays = 6 calls · at most $0.06 · runs/x"
    )
    told_once = warning(PLAN)
    assert told_once is not None
    assert "1 of 2 cases have no artifact_case_id" in told_once


def watch(events: list[Event], debug_log: str | None = None) -> str:
    err = io.StringIO()
    screen = Screen(out=io.StringIO(), err=err, environment={})
    with watching(screen, debug_log=debug_log) as observe:
        for event in events:
            observe(event)
    return err.getvalue()


def test_without_a_terminal_there_are_few_plain_lines() -> None:
    events: list[Event] = [PLAN, RunStarted(planned=6, reused=0)]
    for case in "ABCDEF":
        events += [started(case), finished(case)]
    events.append(RunFinished(committed=6, reused=0, failed=0, spent_nusd=0))
    text = watch(events)
    assert text.splitlines()[-1] == "recorded 6 episodes, 0 failed, 0 reused"
    assert len(text.splitlines()) == 3
    assert "\x1b" not in text


def test_a_closed_standard_error_stops_nothing() -> None:
    err = io.StringIO()
    err.close()
    with watching(Screen(out=io.StringIO(), err=err, environment={})) as observe:
        observe(PLAN)
        observe(finished("A", status="tool_error", error_kind="x"))


def test_only_the_first_failures_are_told_and_the_rest_counted() -> None:
    text = watch(
        [finished(f"C{i}", status="provider_error", error_kind="ValueError", error_text="no") for i in range(9)]
    )
    assert text.count("provider_error") == 5
    assert "4 more failed episodes" in text


def test_error_text_is_redacted_and_escaped() -> None:
    text = told(finished("A\x1b", status="tool_error", error_kind="E", error_text="sk-ant-abcdefghijklmnopqrstuv \x07"))
    assert text == "A\\x1b replay 0: tool_error (E): [redacted] \\x07"


def test_the_debug_log_holds_every_episode_as_json(tmp_path: Path) -> None:
    place = tmp_path / "log.jsonl"
    watch([finished("A"), finished("B", status="refusal")], str(place))
    events = [json.loads(line) for line in place.read_text().splitlines()]
    assert [(event["case_id"], event["level"]) for event in events] == [("A", "info"), ("B", "warning")]


def test_a_debug_log_that_cannot_be_written_is_a_wrong_request(tmp_path: Path) -> None:
    screen = Screen(out=io.StringIO(), err=io.StringIO(), environment={})
    with (
        pytest.raises(ConfigurationError, match="cannot be written"),
        episode_log(screen, str(tmp_path / "no" / "log"), quiet=False),
    ):
        pass


def test_a_narrow_terminal_shows_all_of_the_progress_on_several_lines() -> None:
    tally = Tally(lambda: 8.0)
    tally.planned, tally.done, tally.started_at = 200, 40, 0.0
    tally.spent_nusd, tally.reserved_nusd = 1_230_000_000, 500_000_000
    tally.flying["a-case-with-a-long-name", 2] = 1.0
    for width in (40, 60, 200):
        lines = frame(tally, width, "utf-8").plain.splitlines()
        assert all(len(line) <= width for line in lines)
        told = " ".join(" ".join(lines).replace(",", "").split())
        for part in ("40/200", "0 failed", "0 tool calls", "$1.23 (+$0.50 held)", "5/s", "0:00:32 left", "7.0 s"):
            assert part in told
        assert "a-case-with-a-long-name" in told
