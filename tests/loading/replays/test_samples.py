from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from dfah_cli.errors import ValidationError
from dfah_cli.loading.replays import formats, tau_bench
from dfah_cli.loading.replays.collect import collect
from dfah_cli.metrics.measure import measure
from dfah_cli.records.enums import PathMode
from tests.builders import shared


def test_recorded_chat_runs_are_measured() -> None:
    path = shared("samples", "tau_bench_airline_gpt4o_15x4.json")
    recording = formats.read(path)
    assert recording.format == "tau-bench"
    assert any("simulated" in note for note in recording.notes)
    (found,) = collect([recording])
    run = measure(found.table, replays=found.expected)
    assert (run.groups_eligible, run.episodes, run.reasons) == (15, 60, ())
    rewards: dict[int, list[float]] = {}
    for item in json.loads(path.read_bytes()):
        rewards.setdefault(item["task_id"], []).append(item["reward"])
    modal = [Fraction(max(map(values.count, values)), len(values)) for values in rewards.values()]
    assert run.dar == sum(modal) / len(modal)
    assert run.tar[PathMode.STRONG] is not None


def test_a_run_without_a_reward_is_refused_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps([{"task_id": 0, "trial": 0, "traj": [], "reward": None}]), encoding="utf-8")
    with pytest.raises(ValidationError, match="run 0: reward"):
        tau_bench.read(path)


def test_an_inspect_log_without_tools_has_observed_empty_paths() -> None:
    pytest.importorskip("inspect_ai", reason="no inspect_ai; run: python -m pip install 'dfah-cli[inspect]'")
    recording = formats.read(shared("samples", "inspect_popularity_2x2.eval"))
    (found,) = collect([recording])
    run = measure(found.table, replays=found.expected)
    assert (run.dar, run.tar[PathMode.STRONG], run.groups_eligible) == (Fraction(1, 2), 1, 2)
    assert set(found.table.labels) == {"no", "yes.", "no."}
