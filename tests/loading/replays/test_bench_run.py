from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from dfah_cli.canonical import canonical_bytes, digest
from dfah_cli.errors import ArtifactError
from dfah_cli.loading.replays import bench_run, formats
from dfah_cli.loading.replays.collect import collect
from dfah_cli.metrics.measure import measure

MANIFEST = "a" * 64
CALL = {
    "name": "T",
    "arguments": {},
    "arguments_hash": "1" * 64,
    "arguments_redacted": True,
    "output_hash": "2" * 64,
    "result_state": "observed_nonempty",
    "execution_state": "executed",
}


def an_episode(case: str, replay: int, **changes: Any) -> dict[str, Any]:
    return {
        "case_id": case,
        "task": "default",
        "manifest_hash": MANIFEST,
        "replay_index": replay,
        "status": "valid",
        "decision": {"label": "yes"},
        "trajectory": {"state": "observed_nonempty", "tool_calls": [CALL]},
        "wire_request": {"provider": "p", "model": "m", "payload_hash": "3" * 64, "endpoint": None},
        "cost_usd": 0.5,
        "latency_ms": 2.0,
        **changes,
    }


def a_run(folder: Path, *episodes: dict[str, Any], cases: str = "AB", replays: int = 2) -> Path:
    run = folder / "run"
    (run / "episodes").mkdir(parents=True)
    (run / "commits").mkdir()
    plan = {
        "manifest_hash": MANIFEST,
        "case_tasks": dict.fromkeys(cases, "default"),
        "episodes_planned": len(cases) * replays,
        "replays": replays,
    }
    (run / "run-plan.json").write_bytes(canonical_bytes(plan) + b"\n")
    for episode in episodes:
        key = digest({name: episode[name] for name in ("manifest_hash", "case_id", "replay_index")})
        write(run / "episodes" / f"{key}.json", canonical_bytes(episode) + b"\n")
        (run / "commits" / f"{key}.commit").write_bytes(b"")
    return run


def write(path: Path, payload: bytes) -> None:
    path.write_bytes(payload)
    path.with_name(path.name + ".sha256").write_text(hashlib.sha256(payload).hexdigest() + "\n", encoding="ascii")


def test_a_run_is_measured_with_the_replays_of_its_plan(tmp_path: Path) -> None:
    run = a_run(tmp_path, an_episode("A", 0), an_episode("A", 1), an_episode("B", 0))
    recording = formats.read(run)
    assert (recording.format, recording.expected, recording.notes) == (
        "dfah-bench",
        2,
        ("1 planned episodes have no terminal record",),
    )
    (found,) = collect([recording])
    numbers = measure(found.table, replays=found.expected)
    assert numbers.reasons == (("expected_2_replays_observed_1", 1),)
    assert (numbers.dar, numbers.cost_nusd) == (1, 1_500_000_000)
    assert found.configuration_id == "run"


def first(run: Path, folder: str, suffix: str) -> Path:
    return sorted((run / folder).glob(f"*{suffix}"))[0]


def test_an_edited_episode_is_refused(tmp_path: Path) -> None:
    run = a_run(tmp_path, an_episode("A", 0))
    path = first(run, "episodes", ".json")
    path.write_bytes(path.read_bytes().replace(b'"yes"', b'"no!"'))
    with pytest.raises(ArtifactError, match="SHA-256 sidecar"):
        bench_run.read(run)


def test_an_edited_episode_with_a_new_sidecar_is_refused_when_its_key_differs(tmp_path: Path) -> None:
    run = a_run(tmp_path, an_episode("A", 0))
    path = first(run, "episodes", ".json")
    write(path, json.dumps(an_episode("A", 1)).encode())
    with pytest.raises(ArtifactError, match="not the key"):
        bench_run.read(run)


def test_an_episode_without_commit_marker_is_refused(tmp_path: Path) -> None:
    run = a_run(tmp_path, an_episode("A", 0))
    first(run, "commits", ".commit").unlink()
    with pytest.raises(ArtifactError, match="commit marker"):
        bench_run.read(run)


@pytest.mark.parametrize(
    ("episode", "message"),
    [
        (an_episode("A", 0, manifest_hash="b" * 64), "another manifest"),
        (an_episode("Z", 0), "not in the run plan"),
        (an_episode("A", 0, task="other"), "not in the run plan"),
    ],
)
def test_an_episode_of_another_plan_is_refused(tmp_path: Path, episode: dict[str, Any], message: str) -> None:
    with pytest.raises(ArtifactError, match=message):
        bench_run.read(a_run(tmp_path, episode))


def test_more_episodes_than_planned_are_refused(tmp_path: Path) -> None:
    run = a_run(tmp_path, *(an_episode("A", replay) for replay in range(3)), cases="A")
    with pytest.raises(ArtifactError, match="1 episodes too many"):
        bench_run.read(run)
