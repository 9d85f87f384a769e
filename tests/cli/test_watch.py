from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from pathlib import Path

from dfah_cli.cli.commands.watch import Pace
from dfah_cli.workflow.listing import Listed
from tests.cli.command import DFAH, dfah, documents, environment


def listed(episodes: int) -> Listed:
    return Listed(path=Path("r"), state="running", episodes=episodes, planned=30, changed_at=datetime.now(UTC))


def test_the_pace_is_measured_between_looks() -> None:
    now = [0.0]
    pace = Pace(lambda: now[0])
    assert pace.row(listed(0))["per_s"] is None
    now[0] = 4.0
    row = pace.row(listed(10))
    assert (row["per_s"], row["left_s"], row["episodes"]) == (2.5, 8, "10/30")


def test_a_run_that_is_being_written_is_watched_to_its_end(here: Path) -> None:
    writer = subprocess.Popen(
        [*DFAH, "run", "--agent", "adapters:slow", "--out", "runs/a", "--episode-timeout-s", "1", "--concurrency", "6"],
        cwd=here, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert writer.stdout is not None
    assert writer.stdout.readline() == "called\n"
    done = dfah("watch", "runs", "--interval", "0.2", cwd=here)
    writer.communicate(timeout=30)
    lines = done.stdout.splitlines()
    assert done.returncode == 0
    assert "state=running" in lines[0]
    assert "state=running" not in lines[-1]


def test_looking_once_at_a_finished_run(stable_run: Path, here: Path) -> None:
    found = documents(dfah("watch", stable_run, "--once", "--json", cwd=here))
    assert [(row["state"], row["episodes"]) for row in found["runs"]] == [("sealed", "6/6")]


def test_a_place_without_runs_is_a_wrong_request(here: Path) -> None:
    assert dfah("watch", ".", cwd=here).returncode == 2
