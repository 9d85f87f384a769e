"""`dfah watch` beside a real writer."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from dfah_cli.cli.commands.watch import beside
from dfah_cli.workflow.watching import Progress
from tests.cli.command import DFAH, dfah, documents, environment


def pictures(width: int) -> list[str]:
    """What stands beside the bars of a short name, a long one and a damaged run."""
    return beside(
        [
            Progress(run=Path("runs/a"), state="running", done=7, planned=200, failed=1, tool_calls=9, spent_nusd=0),
            Progress(
                run=Path("runs/a-much-longer-name"), state="held elsewhere", done=150, planned=200, spent_nusd=10**9
            ),
            Progress(run=Path("runs/b"), state="damaged", why="a record does not match its digest; restore the run"),
        ],
        width,
    )


def test_runs_under_watch_stand_in_columns() -> None:
    first, second, third = pictures(120)
    assert first.index("running") == second.index("held elsewhere") == third.index("damaged")
    assert first.index("7/200") == second.index("150/200")
    assert first.index("$0.00") == second.index("$1.00")
    assert "tool calls" not in second


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_beside_a_bar_is_too_long_and_a_reason_is_whole(width: int) -> None:
    shown = pictures(width)
    for picture in shown:
        first, *below = picture.splitlines()
        assert len(first) <= width - 20
        assert all(len(line) <= width for line in below)
    assert "a record does not match its digest; restore the run" in " ".join(shown[2].split())
    assert all("200" in picture for picture in shown[:2])


def writer(here: Path, *arguments: str) -> subprocess.Popen[str]:
    """A run of the slow agent that has begun."""
    started = subprocess.Popen(
        [*DFAH, "run", "--agent", "adapters:slow", *arguments],
        cwd=here, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert started.stdout is not None
    assert started.stdout.readline() == "called\n"
    return started


def facts(line: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in line.split(" "))


def test_a_run_that_is_being_written_is_watched_to_its_end(here: Path) -> None:
    started = writer(here, "--out", "runs/a", "--episode-timeout-s", "1", "--concurrency", "2")
    done = dfah("watch", "runs", "--interval", "0.3", cwd=here)
    started.communicate(timeout=30)
    lines = [facts(line) for line in done.stdout.splitlines()]
    assert (lines[0]["state"], lines[-1]["state"]) == ("running", "sealed")
    assert (lines[-1]["episodes"], lines[-1]["episodes_planned"], lines[-1]["failed"]) == ("6", "6", "6")
    assert lines[0]["slowest_case"].startswith("CASE-")
    counts = [int(line["episodes"]) for line in lines]
    assert counts == sorted(counts)
    assert any("left_s" in line for line in lines)
    assert done.returncode == 0
    assert done.stderr == ""


def test_an_interrupted_run_ends_the_watch_with_four(here: Path) -> None:
    started = writer(here, "--out", "runs/a")
    watching = subprocess.Popen(
        [*DFAH, "watch", "runs", "--json"], cwd=here, env=environment(), stdout=subprocess.PIPE, text=True
    )
    started.kill()
    out, _ = watching.communicate(timeout=30)
    started.communicate()
    assert watching.returncode == 4
    assert '"state": "stale lease"' in out


def test_looking_once_does_not_wait(here: Path) -> None:
    started = writer(here, "--out", "runs/a")
    found = documents(dfah("watch", "runs", "--once", "--json", cwd=here))
    started.kill()
    started.communicate()
    assert [(row["state"], row["episodes"], row["episodes_planned"]) for row in found["runs"]] == [("running", 0, 6)]


def test_a_finished_run_is_told_at_once(stable_run: Path, here: Path) -> None:
    done = dfah("watch", stable_run, "--json", cwd=here)
    (row,) = documents(done)["runs"]
    assert (done.returncode, row["state"], row["episodes"], row["episodes_planned"]) == (0, "sealed", 6, 6)


def test_runs_in_several_places_are_each_shown_once(stable_run: Path, unstable_run: Path, here: Path) -> None:
    done = dfah("watch", stable_run, unstable_run, stable_run, cwd=here)
    assert [facts(line)["run"] for line in done.stdout.splitlines()] == [str(stable_run), str(unstable_run)]


def test_a_damaged_run_is_told_and_exits_three(partial_run: Path, here: Path) -> None:
    import shutil

    copy = Path(shutil.copytree(partial_run, here / "copy"))
    (copy / "seal.json").unlink()
    segment = copy / "segments" / "00000000.jsonl"
    segment.write_bytes(segment.read_bytes()[:-4096])
    done = dfah("watch", copy, cwd=here)
    assert done.returncode == 3
    assert "state=damaged" in done.stdout


@pytest.mark.parametrize("place", [".", "nowhere"])
def test_a_place_without_runs_is_a_wrong_request(here: Path, place: str) -> None:
    done: Any = dfah("watch", place, cwd=here)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_on_a_terminal_the_last_picture_is_a_table(stable_run: Path, here: Path) -> None:
    done = dfah("watch", stable_run, cwd=here, env={"FORCE_COLOR": "1", "COLUMNS": "120"})
    assert "sealed" in done.stdout
    assert "6/6" in done.stdout
