"""Recorded tools with every framework, and with MCP: the one tool session takes all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dfah_cli.integrations.loopback.seeded import Seeded
from dfah_cli.workflow.analyze import episodes
from dfah_cli.workflow.replay import Replay
from tests.integrations.build import ONE_OF_EACH, SUITE, Framework, agent_in


def _forbidden(customer: str) -> Any:
    raise AssertionError("a replay calls no tool")


FORBIDDEN = {"lookup_customer": _forbidden, "read_policy": _forbidden}


def paths(out: Path) -> dict[tuple[str, int], list[tuple[object, ...]]]:
    return {(e.case_id, e.replay_index): [call.step for call in e.trajectory.tool_calls] for e in episodes(out)}


@pytest.mark.parametrize("framework", ONE_OF_EACH, ids=str)
def test_a_replay_gives_the_agent_what_was_recorded_and_calls_nothing(framework: Framework, tmp_path: Path) -> None:
    file = tmp_path / "tools.jsonl"
    reports = {}
    for mode, tools in (("record", "TOOLS"), ("replay", "FORBIDDEN")):
        where = "tests.integrations.build" if mode == "record" else __name__
        with agent_in(framework, Seeded(parallel=True), tools=f"{where}:{tools}") as (agent, _):
            replay = Replay(suite=SUITE, replays=2, out=tmp_path / mode, tools_mode=mode, tools_file=file)
            reports[mode] = replay.run(agent)
    assert {str(report.status) for report in reports.values()} == {"complete"}
    assert paths(tmp_path / "record") == paths(tmp_path / "replay")


@pytest.mark.parametrize("framework", ONE_OF_EACH, ids=str)
def test_two_runs_in_one_process_meet_no_closed_client(framework: Framework, tmp_path: Path) -> None:
    with agent_in(framework, Seeded(), tools="tests.integrations.build:TOOLS") as (agent, _):
        for name in ("first", "second"):
            report = Replay(suite=SUITE, replays=2, out=tmp_path / name).run(agent)
            assert str(report.status) == "complete"
