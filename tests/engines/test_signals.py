"""Signals on a process of its own: the first drains and commits, the second leaves at once; both can be resumed."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from dfah_cli.workflow.analyze import episodes
from tests.builders import ROOT

PROGRAM = """
import asyncio, sys, time
from pathlib import Path
from tests.builders import a_scripted_agent, a_replay

out, how = Path(sys.argv[1]), sys.argv[2]

async def drains(case, context):
    print("called", flush=True)
    await asyncio.sleep(1.0)
    return agent.result(context)

async def hangs(case, context):
    print("called", flush=True)
    await asyncio.sleep(60)

def blocks(case, context):
    print("called", flush=True)
    time.sleep(60)

agent = a_scripted_agent({"A": [{"drains": drains, "hangs": hangs, "blocks": blocks}[how]]})
replay = a_replay(agent, out, replays=3)
if sys.argv[3:] == ["async"]:
    asyncio.run(replay.arun(agent))
elif sys.argv[3:] == ["notebook"]:
    async def cell():
        return replay.run(agent)
    asyncio.run(cell())
else:
    report = replay.run(agent)
    print("report", report.status, report.partial_reason, report.episodes_completed, flush=True)
"""


def started(out: Path, how: str, *more: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(out), how, *more],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "called\n"
    return process


def ended(process: subprocess.Popen[str], seconds: float = 20) -> tuple[int, str]:
    try:
        text, _ = process.communicate(timeout=seconds)
    finally:
        process.kill()
    return process.returncode, text


def statuses(out: Path) -> list[str]:
    return [episode.status.value for episode in episodes(out)]


def resumes_without_a_stale_lease(out: Path) -> int:
    from tests.builders import a_scripted_agent, replayed

    agent = a_scripted_agent({"A": [("Y", "")]})
    replayed(agent, out, replays=3)
    return len(agent.calls)


@pytest.mark.parametrize(
    ("number", "reason"),
    [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated"), (signal.SIGHUP, "terminated")],
    ids=["INT", "TERM", "HUP"],
)
def test_the_first_signal_drains_commits_and_releases_the_lease(number: Any, reason: str, out: Path) -> None:
    process = started(out, "drains")
    process.send_signal(number)
    code, text = ended(process)
    assert f"report partial {reason} 1" in text
    assert code == 0
    assert statuses(out) == ["valid"]
    assert resumes_without_a_stale_lease(out) == 2


def test_a_terminal_that_is_closed_twice_drains_all_the_same(out: Path) -> None:
    process = started(out, "drains")
    for _ in range(3):
        process.send_signal(signal.SIGHUP)
        time.sleep(0.02)
    _, text = ended(process)
    assert "report partial terminated 1" in text
    assert statuses(out) == ["valid"]


@pytest.mark.parametrize("how", ["hangs", "blocks"])
def test_the_second_signal_leaves_at_once_and_the_run_can_be_resumed(how: str, out: Path) -> None:
    process = started(out, how)
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    begun = time.monotonic()
    code, _ = ended(process)
    assert code != 0
    assert time.monotonic() - begun < 12
    if how == "hangs":
        assert resumes_without_a_stale_lease(out) == 2
        assert sorted(statuses(out)) == ["interrupted", "valid", "valid"]


@pytest.mark.parametrize("surroundings", ["notebook", "async"])
def test_an_interrupt_stops_a_run_inside_a_callers_loop(surroundings: str, out: Path) -> None:
    process = started(out, "drains", surroundings)
    process.send_signal(signal.SIGINT)
    ended(process)
    assert len(statuses(out)) == 1
    assert resumes_without_a_stale_lease(out) == 2
