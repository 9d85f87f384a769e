"""Runs whose digests are recorded under a key."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dfah_cli.canonical import digest
from dfah_cli.errors import ConfigurationError, DesignMismatchError, ManifestMismatchError
from dfah_cli.report.compare import Allowances
from dfah_cli.workflow.analyze import analyze, episodes
from dfah_cli.workflow.comparison import Question, compare
from dfah_cli.workflow.replay import Replay
from dfah_cli.workflow.verification import verify_run
from tests.builders import ScriptedAgent, a_scripted_agent, bytes_below, replayed

ONE, OTHER = "k" * 40, "o" * 40
NUMBERS = ("dar", "tar", "gap", "flagged_groups", "pairwise_path", "exact", "case_reports", "intervals")


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONE_KEY", ONE)
    monkeypatch.setenv("OTHER_KEY", OTHER)


def agent() -> ScriptedAgent:
    """One steady case, one that varies in its arguments."""
    return a_scripted_agent({"A": [("Y", "T k=1")], "B": [("Y", "k=1"), ("Y", "k=2"), ("Y", "k=1")]})


def run(out: Path, key: str | None, **options: Any) -> Any:
    return replayed(agent(), out, digest_key_env=key, **options)


def steps(out: Path) -> dict[tuple[str, int], list[Any]]:
    return {(e.case_id, e.replay_index): [c.step for c in e.trajectory.tool_calls] for e in episodes(out)}


def test_numbers_are_those_of_the_plain_run_and_no_plain_digest_is_recorded(tmp_path: Path) -> None:
    plain, keyed = run(tmp_path / "plain", None), run(tmp_path / "keyed", "ONE_KEY")
    assert [getattr(keyed, name) for name in NUMBERS] == [getattr(plain, name) for name in NUMBERS]
    written = bytes_below(tmp_path / "keyed")
    for value in ({}, {"x": "1"}, {"x": "2"}, "ok"):
        assert digest(value).encode() in bytes_below(tmp_path / "plain")
        assert digest(value).encode() not in written
    assert ONE.encode() not in written


@settings(max_examples=2, deadline=None)
@given(st.integers(0, 2**32))
def test_equality_is_kept_within_a_run_and_across_runs_of_one_key(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    draw = random.Random(seed)
    paths = {
        case: [("Y", " ".join(f"k={draw.choice('12')}" for _ in range(draw.randint(1, 3)))) for _ in range(3)]
        for case in ("A", "B")
    }
    place, found = tmp_path_factory.mktemp("keyed"), {}
    for name, key in (("plain", None), ("one", "ONE_KEY"), ("two", "ONE_KEY"), ("other", "OTHER_KEY")):
        replayed(a_scripted_agent(paths), place / name, digest_key_env=key)
        found[name] = steps(place / name)
    assert found["one"] == found["two"]
    slots = sorted(found["plain"])
    for name in ("one", "other"):
        assert all(
            (found["plain"][left] == found["plain"][right]) == (found[name][left] == found[name][right])
            for left in slots
            for right in slots
        )
    hashes = {name: {part for path in of.values() for step in path for part in step[1:3]} for name, of in found.items()}
    assert not hashes["one"] & hashes["other"]
    assert not hashes["one"] & hashes["plain"]


def test_everything_about_a_keyed_run_is_verified_without_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path / "keyed", "ONE_KEY")
    monkeypatch.delenv("ONE_KEY")
    found = verify_run(tmp_path / "keyed")
    assert not found.broken
    report = analyze(tmp_path / "keyed").report
    assert report.digest_key_id is not None
    assert len(report.digest_key_id) == 16


def test_the_plan_carries_the_key_id_and_another_key_cannot_resume(tmp_path: Path) -> None:
    run(tmp_path / "keyed", "ONE_KEY")
    for key in ("OTHER_KEY", None):
        with pytest.raises(DesignMismatchError, match=r"digest_key_id is [0-9a-f]{16} there and"):
            run(tmp_path / "keyed", key)
    again = agent()
    replayed(again, tmp_path / "keyed", digest_key_env="ONE_KEY")
    assert again.calls == []


def test_the_name_of_the_variable_is_no_identity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path / "keyed", "ONE_KEY")
    monkeypatch.setenv("RENAMED", ONE)
    again = agent()
    replayed(again, tmp_path / "keyed", digest_key_env="RENAMED")
    assert again.calls == []


@pytest.mark.parametrize("key", ["OTHER_KEY", None])
def test_runs_of_different_keys_are_never_compared(tmp_path: Path, key: str | None) -> None:
    run(tmp_path / "one", "ONE_KEY")
    run(tmp_path / "other", key)
    everything = Allowances(cross_manifest=True, cross_version=True, cross_tools=True, partial=True)
    for question in (Question(), Question(allowed=everything)):
        with pytest.raises(ManifestMismatchError, match="recorded under different keys") as caught:
            compare(tmp_path / "one", tmp_path / "other", question)
        assert "\n" not in str(caught.value)


def test_runs_of_one_key_are_compared(tmp_path: Path) -> None:
    run(tmp_path / "one", "ONE_KEY")
    run(tmp_path / "two", "ONE_KEY")
    found = compare(tmp_path / "one", tmp_path / "two", Question()).found
    assert found.drift["path.strong"].mean <= 0
    assert not found.flips


def test_captured_arguments_do_not_stand_beside_their_keyed_digests(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="capture none"):
        run(tmp_path / "keyed", "ONE_KEY", capture_tool_arguments=True)


def test_a_key_that_is_not_set_or_too_short_stops_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONE_KEY", "short")
    for key, message in (("ONE_KEY", "fewer than 32 characters"), ("NOT_SET", "the environment has no NOT_SET")):
        with pytest.raises(ConfigurationError, match=message):
            Replay(suite=agent().suite, out=tmp_path / "keyed", digest_key_env=key)
    assert not (tmp_path / "keyed").exists()
