from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from dfah_cli.cli.main import main
from dfah_cli.errors import ExitCode
from dfah_cli.records.enums import EpisodeStatus, ReportStatus
from dfah_cli.workflow.replay import Replay
from tests.adapter.misbehaviour import LIMIT_S, ROWS, SUITE, Misbehaving, Row, agent_of
from tests.builders import ROOT, bytes_below


def replay(out: Path, **options: object) -> Replay:
    return Replay(**{"suite": SUITE, "replays": 2, "seed": 3, "out": out, "episode_timeout_s": LIMIT_S, **options})


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_episode_says_what_went_wrong_and_the_run_goes_on(row: Row, tmp_path: Path) -> None:
    agent = agent_of(row)
    started = time.monotonic()
    report = replay(tmp_path / "run").run(agent)
    assert time.monotonic() - started < 15
    first, *others = [
        digest for case in ("C0", "C1") for digest in report.explain_case(tmp_path / "run", case).episodes
    ]
    assert (first.status, first.error_kind) == (row.status, row.kind)
    assert [other.status for other in others] == [EpisodeStatus.VALID] * 3
    valid = row.status == "valid"
    assert report.episodes_completed == report.episodes_planned == 4
    assert report.status is (ReportStatus.COMPLETE if valid else ReportStatus.PARTIAL)
    assert report.verify_artifacts(tmp_path / "run").episodes_completed == 4
    assert b"private text" not in bytes_below(tmp_path / "run")
    assert main(["analyze", str(tmp_path / "run")]) == (ExitCode.OK if valid else ExitCode.UNDECIDED)


@pytest.mark.parametrize(
    "name",
    ["exits", "ends_the_process", "exits_in_a_task", "interrupts", "sleeps_plainly", "swallows_for_ever", "blocks"],
)
def test_the_command_ends_in_time_with_exit_code_4(name: str, tmp_path: Path) -> None:
    code = "import sys; from dfah_cli.cli.main import main; sys.exit(main())"
    agent = ["--agent", f"tests.adapter.misbehaviour:agent_{name}", "--episode-timeout-s", str(LIMIT_S)]
    command = [sys.executable, "-c", code, "run", *agent, "--replays", "2", "--out", str(tmp_path / "run")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30)
    assert done.returncode == ExitCode.UNDECIDED, done.stderr
    assert "Traceback" not in done.stderr


def test_what_an_adapter_does_to_its_case_reaches_no_other_episode(tmp_path: Path) -> None:
    seen: list[object] = []

    async def misbehave(agent: Misbehaving, case: object, context: object) -> object:
        case.input["n"] = 99  # type: ignore[attr-defined]
        return agent.result(context)  # type: ignore[arg-type]

    agent = Misbehaving(misbehave)
    steady = agent.arun

    async def watched(case: object, context: object) -> object:
        seen.append(dict(case.input))  # type: ignore[attr-defined]
        return await steady(case, context)  # type: ignore[arg-type]

    agent.arun = watched  # type: ignore[assignment, method-assign]
    replay(tmp_path / "run", replays=3).run(agent)
    assert sorted(map(str, seen)) == sorted(map(str, [{"n": 0}] * 3 + [{"n": 1}] * 3))
    assert SUITE.cases[0].input == {"n": 0}


def documented() -> list[tuple[str, ...]]:
    lines = (ROOT / "docs" / "adapters.md").read_text().splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("| The adapter … |"))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append(tuple(cell.strip() for cell in line.strip("|").split(" | ")))
    return rows


def test_the_documented_table_is_the_tested_one() -> None:
    expected = [(row.says, f"`{row.status}`", f"`{row.kind}`" if row.kind else "—") for row in ROWS]
    assert [tuple(cell.strip() for cell in row) for row in documented()] == expected
