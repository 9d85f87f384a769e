"""What adapters leave running: neither the run nor the end of the process waits for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dfah_cli.workflow.analyze import episodes
from tests.builders import ROOT

PROGRAM = """
import asyncio, gc, sys
from pathlib import Path
from tests.builders import a_scripted_agent, a_replay

async def swallows_everything():
    while True:
        try:
            await asyncio.sleep(1000)
        except BaseException:
            pass

async def stays(case, context):
    await swallows_everything()

async def leaves_a_task(case, context):
    asyncio.create_task(swallows_everything())
    await asyncio.sleep(0.01)
    return agent.result(context)

async def numbers():
    try:
        yield 1
    finally:
        await swallows_everything()

kept = []

async def leaves_a_generator(case, context):
    kept.append(numbers())
    await anext(kept[-1])
    return agent.result(context)

agent = a_scripted_agent({"A": [globals()[sys.argv[2]]]})
report = a_replay(agent, Path(sys.argv[1]), replays=2, episode_timeout_s=0.2).run(agent)
gc.collect()
print("ended", report.status, flush=True)
"""


@pytest.mark.parametrize(
    ("how", "status"), [("stays", "provider_error"), ("leaves_a_task", "valid"), ("leaves_a_generator", "valid")]
)
def test_a_coroutine_that_swallows_even_its_own_end_holds_nothing_up(tmp_path: Path, how: str, status: str) -> None:
    out = tmp_path / "run"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(out), how], cwd=ROOT, capture_output=True, text=True, timeout=40
    )
    assert (done.returncode, done.stdout[:5]) == (0, "ended"), done.stderr
    assert [episode.status.value for episode in episodes(out)] == [status] * 2
