"""Recorded tools when episodes run in worker processes: the tape is at the run, the tools are in the worker."""

from __future__ import annotations

from pathlib import Path

from dfah_cli.workflow.analyze import episodes
from dfah_cli.workflow.request import RunRequest
from dfah_cli.workflow.run import execute

AGENT = "tests.workflow.attribution_agents:tools_only"


def paths(out: Path) -> list[tuple[object, ...]]:
    found = sorted(episodes(out), key=lambda episode: (episode.case_id, episode.replay_index))
    return [
        (e.case_id, e.decision and e.decision.label, *(call.step for call in e.trajectory.tool_calls)) for e in found
    ]


def run(place: Path, name: str, **options: object) -> RunRequest:
    given = {"adapter": AGENT, "limit": 4, "out": str(place / name), "tools_file": str(place / "tools.jsonl")}
    return RunRequest(**{**given, **options})  # type: ignore[arg-type]


def test_a_recording_made_in_workers_is_replayed_here_and_in_workers(tmp_path: Path) -> None:
    assert execute(run(tmp_path, "recorded", tools="record", isolation="process")).exit_code == 0
    assert execute(run(tmp_path, "here", tools="replay", tools_results="own")).exit_code == 0
    own = run(tmp_path, "workers", tools="replay", tools_results="own", isolation="process", concurrency=2)
    assert execute(own).exit_code == 0
    assert paths(tmp_path / "recorded") == paths(tmp_path / "here") == paths(tmp_path / "workers")
    assert len({path[1] for path in paths(tmp_path / "recorded")}) == 2  # the tool did vary


def test_what_was_not_recorded_is_the_same_reason_in_a_worker(tmp_path: Path) -> None:
    execute(run(tmp_path, "recorded", tools="record", limit=2))
    report = execute(run(tmp_path, "wider", tools="replay", limit=3, isolation="process")).report
    assert report.episodes_not_recorded == 3
    kinds = {episode.error.kind for episode in episodes(tmp_path / "wider") if episode.error is not None}
    assert kinds == {"tool_not_recorded"}
