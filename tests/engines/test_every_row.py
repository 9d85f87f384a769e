"""The whole table of misbehaviour in both modes: what is recorded, that the run ends, that nothing is left of it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dfah_cli.workflow.analyze import analyze, episodes
from dfah_cli.workflow.replay import Replay
from tests.adapter.misbehaviour import ROWS
from tests.engines import pooled_rows
from tests.integrations.test_foreign import children

LIMIT_S = 1.0
# Where a process of its own makes a difference: it ends, and the run does not have to defend itself.
ISOLATED = {
    "ends_the_process": ("provider_error", "WorkerDiedError"),
    "exits_in_a_task": ("provider_error", "WorkerDiedError"),
    "exits_in_a_forgotten_task": ("provider_error", "WorkerDiedError"),
}
# Functions of the table that cannot be ended from outside sleep for so long.
LONGEST_S = 12.0


def sockets() -> int:
    """Open sockets of this process."""
    found = 0
    for place in Path("/proc/self/fd").iterdir():
        try:
            found += os.readlink(place).startswith("socket:")
        except OSError:
            continue
    return found


def threads() -> set[str]:
    """Names of the threads there are, but for the one that keeps unending tasks, which there is one of for ever."""
    return {f"{one.name} {one.ident}" for one in threading.enumerate() if one.name != "dfah-keeper"}


@contextmanager
def leaving_nothing(patience_s: float) -> Iterator[None]:
    """Inside, nothing may be started that is there afterwards."""
    before = (threads(), children(), sockets())
    yield
    ends = time.monotonic() + patience_s
    while True:
        now = (threads(), children(), sockets())
        if now[0] <= before[0] and now[1] <= before[1] and now[2] <= before[2]:
            return
        assert time.monotonic() < ends, (now[0] - before[0], now[1] - before[1], now[2] - before[2])
        time.sleep(0.05)


def recorded(agent: Any, out: Path, **options: Any) -> dict[tuple[str, int], tuple[str, str | None]]:
    """Status and kind of every episode; the run is complete and can be analysed."""
    report = Replay(suite=agent.suite, replays=2, out=out, episode_timeout_s=LIMIT_S, **options).run(agent)
    assert report.episodes_completed == report.episodes_planned
    assert analyze(out).report.report_sha256 == report.report_sha256
    return {
        (one.case_id, one.replay_index): (one.status.value, None if one.error is None else one.error.kind)
        for one in episodes(out)
    }


@pytest.mark.slow
@pytest.mark.parametrize("isolation", [None, "process"], ids=["in the process of the run", "in worker processes"])
def test_every_row_is_recorded_as_the_table_says_and_leaves_nothing_behind(
    isolation: str | None, tmp_path: Path
) -> None:
    agents: dict[str, Any] = {"async": pooled_rows.async_agent, "plain": pooled_rows.plain_agent}
    with leaving_nothing(LONGEST_S):
        found = {
            key: what
            for name, agent in agents.items()
            for key, what in recorded(agent, tmp_path / name, isolation=isolation).items()
        }
    told = {row.name: (row.status, row.kind) for row in ROWS} | (ISOLATED if isolation else {})
    assert len(told) >= 40
    assert {name: found[name, 0] for name in told} == told
    assert {found[name, 1] for name in told} == {("valid", None)}
