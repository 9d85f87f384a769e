"""How a run is observed, in plans and in what is said of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dfah_cli.errors import ConfigurationError
from dfah_cli.records.codec import plain
from dfah_cli.workflow.freezing import plan_only
from dfah_cli.workflow.plan_diff import Effect, diff_plans
from dfah_cli.workflow.plan_facts import plan_facts
from dfah_cli.workflow.request import RunRequest
from dfah_cli.workflow.run import execute
from dfah_cli.workflow.succession import succeed

TOY = "dfah.demo:toy_agent"


def a_request(place: Path, **options: object) -> RunRequest:
    given = {"adapter": TOY, "tools_file": str(place / "tools.jsonl"), "store": str(place / "runs"), **options}
    return RunRequest(**given)  # type: ignore[arg-type]


def test_a_plan_that_uses_none_of_it_says_none_of_it(tmp_path: Path) -> None:
    planned = plan_only(a_request(tmp_path))
    assert not {"tools", "digest_key_id"} & set(plain(planned.plan))  # type: ignore[arg-type]


def test_plan_diff_names_what_changes_and_that_it_is_another_experiment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY_OF_DIGESTS", "k" * 32)
    execute(a_request(tmp_path, tools="record", out=str(tmp_path / "recorded")))
    before = plan_only(a_request(tmp_path))
    after = plan_only(a_request(tmp_path, tools="replay", tools_latency="own", digest_key_env="KEY_OF_DIGESTS"))
    (change,) = diff_plans([plan_facts("nightly", before, None)], [plan_facts("nightly", after, None)])
    assert change.effect is Effect.NEW_EXPERIMENT
    found = {one.field: (one.before, one.after) for one in change.identity}
    assert found["tools.mode"] == ("live", "replay")
    assert found["tools.latency"] == ("none", "own")
    assert found["tools.recording_sha256"][0] == "none"
    assert found["digest_key_id"][0] == "none"
    assert before.run_dir != after.run_dir


def test_a_successor_does_not_take_over_a_recording(tmp_path: Path) -> None:
    execute(a_request(tmp_path, tools="record", out=str(tmp_path / "recorded"), episode_timeout_s=1e-6))
    with pytest.raises(ConfigurationError, match="a successor does not take over"):
        succeed(tmp_path / "recorded", tmp_path / "again", agent=None, suite=None)
