"""How a run is observed, in plans and in what is said of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dfah_cli.errors import ConfigurationError
from dfah_cli.records.codec import plain
from dfah_cli.records.tool_source import ToolSource
from dfah_cli.workflow.analyze import analyze
from dfah_cli.workflow.freezing import plan_only
from dfah_cli.workflow.plan_diff import Effect, diff_plans
from dfah_cli.workflow.plan_facts import plan_facts
from dfah_cli.workflow.request import RunRequest
from dfah_cli.workflow.run import execute
from dfah_cli.workflow.succession import succeed

TOY = "dfah.demo:toy_agent"


def a_request(place: Path, **options: object) -> RunRequest:
    recording = {"tools_file": str(place / "tools.jsonl")} if "tools" in options else {}
    given = {"adapter": TOY, "store": str(place / "runs"), **recording, **options}
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


def test_a_successor_of_a_recording_run_records_into_a_file_of_its_own(tmp_path: Path) -> None:
    parent = tmp_path / "recorded"
    execute(a_request(tmp_path, tools="record", out=str(parent), episode_timeout_s=1e-6))
    with pytest.raises(ConfigurationError, match=r"name a new file: the same dfah rerun with --tools-file FILE$"):
        succeed(parent, tmp_path / "again", agent=None, suite=None)
    with pytest.raises(ConfigurationError, match="digests are plain"):
        succeed(parent, tmp_path / "again", agent=None, suite=None, tools_file="new.jsonl", digest_key_env="KEY")
    found = succeed(parent, tmp_path / "again", agent=None, suite=None, tools_file=str(tmp_path / "new.jsonl"))
    result = execute(found.request, parent=found.parent)
    assert (tmp_path / "new.jsonl").exists()
    assert result.verified.plan.tools == ToolSource(mode="record")


def test_a_successor_of_a_replaying_run_needs_the_same_recording(tmp_path: Path) -> None:
    execute(a_request(tmp_path, tools="record", out=str(tmp_path / "recorded")))
    parent = tmp_path / "replayed"
    settings = {"tools": "replay", "tools_results": "own", "tools_latency": "first"}
    execute(a_request(tmp_path, **settings, out=str(parent), episode_timeout_s=1e-6))
    with pytest.raises(ConfigurationError, match="name the recording"):
        succeed(parent, tmp_path / "again", agent=None, suite=None)
    other = a_request(tmp_path, tools="record", tools_file=str(tmp_path / "other.jsonl"), out=str(tmp_path / "other"))
    execute(other)
    with pytest.raises(ConfigurationError, match="is another recording"):
        succeed(parent, tmp_path / "again", agent=None, suite=None, tools_file=other.tools_file)
    found = succeed(parent, tmp_path / "again", agent=None, suite=None, tools_file=str(tmp_path / "tools.jsonl"))
    before, after = analyze(parent).verified.plan, plan_only(found.request).plan
    assert after.tools == before.tools
    assert after.sha256 != before.sha256


def test_a_successor_of_keyed_digests_needs_the_same_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONE_KEY", "k" * 40)
    monkeypatch.setenv("SAME_KEY", "k" * 40)
    monkeypatch.setenv("OTHER_KEY", "o" * 40)
    parent, options = tmp_path / "keyed", {"agent": None, "suite": None}
    execute(a_request(tmp_path, tools_file=None, digest_key_env="ONE_KEY", out=str(parent), episode_timeout_s=1e-6))
    with pytest.raises(ConfigurationError, match="the same dfah rerun with --digest-key-env NAME"):
        succeed(parent, tmp_path / "again", **options)
    with pytest.raises(ConfigurationError, match="OTHER_KEY has the key"):
        succeed(parent, tmp_path / "again", **options, digest_key_env="OTHER_KEY")
    with pytest.raises(ConfigurationError, match="drop --tools-file"):
        succeed(parent, tmp_path / "again", **options, digest_key_env="ONE_KEY", tools_file="x.jsonl")
    found = succeed(parent, tmp_path / "again", **options, digest_key_env="SAME_KEY")
    assert plan_only(found.request).plan.digest_key_id == analyze(parent).verified.plan.digest_key_id


def test_tools_are_not_recorded_where_several_runners_may_share_a_run(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="tools: record needs a run directory on this machine"):
        execute(a_request(tmp_path, tools="record", out="s3://bucket/run"))
    assert not (tmp_path / "tools.jsonl").exists()
