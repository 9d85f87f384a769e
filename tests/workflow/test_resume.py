"""Resuming: committed episodes are reused byte for byte, nothing is sent twice, and a rerun says nothing new."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from dfah_cli.errors import ArtifactError, StaleLeaseError, StorageError
from dfah_cli.execution.events import EpisodeFinished
from dfah_cli.records.policy import GatePolicy
from dfah_cli.store import opening
from dfah_cli.store.log import LogStore
from dfah_cli.store.memory import MemoryStore, MemoryWriter
from dfah_cli.store.protocol import SlotState
from dfah_cli.workflow import replay as replay_module
from dfah_cli.workflow.analyze import analyze, episodes
from dfah_cli.workflow.replay import Replay
from tests.builders import STEADY, FixedClock, a_case, a_replay, a_scripted_agent, a_suite, bytes_below, replayed
from tests.store.test_run_directory import FullFiles

PATHS = {"A": [STEADY], "B": [("Y", "T"), ("N", "T")], "C": [STEADY]}


class Stopped(Exception):
    """The process is gone."""


def stop_after(count: int) -> Any:
    """A watcher that ends the run after so many committed episodes."""
    seen: list[Any] = []

    def observe(event: Any) -> None:
        seen.append(event)
        if sum(isinstance(one, EpisodeFinished) for one in seen) == count:
            raise Stopped

    return observe


def log_of(out: Path) -> bytes:
    return b"".join(place.read_bytes() for place in sorted((out / "segments").iterdir()))


def test_a_rerun_calls_nobody_and_leaves_every_byte_as_it_is(out: Path) -> None:
    agent = a_scripted_agent(PATHS)
    first = replayed(agent, out, gate=GatePolicy(min_dar=0.1))
    before = bytes_below(out)
    agent.calls.clear()
    second = replayed(agent, out, gate=GatePolicy(min_dar=0.1))
    assert agent.calls == []
    assert bytes_below(out) == before
    assert (second.report_id, second.created_at) == (first.report_id, first.created_at)


def test_an_interrupted_run_goes_on_where_it_stopped_and_sends_nothing_twice(out: Path) -> None:
    agent = a_scripted_agent(PATHS)
    with pytest.raises(Stopped):
        replayed(agent, out, observer=stop_after(4))
    sent, before = list(agent.calls), log_of(out)
    committed = {(e.case_id, e.replay_index) for e in episodes(out)}
    agent.calls.clear()
    report = replayed(agent, out)
    assert not set(agent.calls) & set(sent)
    assert log_of(out).startswith(before) or before in log_of(out)
    lost = [e for e in episodes(out) if e.status.value == "interrupted"]
    # The intent of the next episode was durable already, so it counts as sent.
    intended = {(e.case_id, e.replay_index) for e in lost}
    assert set(sent) - committed <= intended
    assert not intended & set(agent.calls)
    assert len(committed | intended) + len(agent.calls) == 9
    for episode in lost:
        assert episode.error is not None
        assert (episode.error.kind, episode.dispatch_state.value) == ("unknown_after_dispatch",) * 2
    assert report.episodes_completed == 9


def test_a_resumed_run_states_what_an_uninterrupted_one_states(out: Path, tmp_path: Path) -> None:
    whole = replayed(a_scripted_agent(PATHS, cost_usd=0.1), tmp_path / "whole")
    budget = {"estimated_max_episode_cost_usd": 0.1}
    agent = a_scripted_agent(PATHS, cost_usd=0.1)
    cut = replayed(agent, out, budget_usd=0.4, **budget)
    assert (cut.status, len(agent.calls)) == ("partial", 4)
    resumed = replayed(agent, out, budget_usd=5, **budget)
    assert (len(agent.calls), resumed.report_sha256) == (9, whole.report_sha256)
    assert resumed.total_cost_usd == pytest.approx(0.9, abs=1e-12)


def test_a_planned_record_alone_is_resumed_safely(in_memory: dict[str, MemoryStore]) -> None:
    from dfah_cli.records.journal import planned_body
    from tests.builders import encoded

    agent = a_scripted_agent()
    replay = a_replay(agent, "run")
    store = in_memory["run"]
    plan = replay.plan(agent).plan
    with store.open_writer(
        plan_bytes=plan.encoded, manifest_bytes=encoded(agent.manifest), clock=lambda: "2026-01-31T09:00:00.000000Z"
    ) as writer:
        writer.commit_now([planned_body(0, 6)])
    report = replay.run(agent)
    assert (len(agent.calls), report.status) == (6, "complete")


def test_a_dispatching_record_without_a_terminal_one_is_interrupted_and_not_reissued(
    in_memory: dict[str, MemoryStore],
) -> None:
    from dfah_cli.records.journal import intent_body, planned_body
    from dfah_cli.records.keys import SlotKeys
    from tests.builders import encoded

    agent = a_scripted_agent()
    replay = a_replay(agent, "run")
    planned = replay.plan(agent)
    keys, slot = SlotKeys(agent.manifest.hash), planned.schedule[2]
    at = "2026-01-31T08:00:00.000000Z"
    intent = intent_body(
        ordinal=2,
        key=keys.episode(slot.case_id, slot.replay_index),
        at=at,
        reserved_nusd=0,
        idempotency_key=keys.idempotency(slot.case_id, slot.replay_index),
    )
    with in_memory["run"].open_writer(
        plan_bytes=planned.plan.encoded, manifest_bytes=encoded(agent.manifest), clock=lambda: at
    ) as writer:
        writer.commit_now([planned_body(0, 6), intent])
    report = replay.run(agent)
    assert (slot.case_id, slot.replay_index) not in agent.calls
    assert len(agent.calls) == 5
    (episode,) = [e for e in episodes("run") if e.status.value == "interrupted"]
    assert episode.error is not None
    assert episode.error.kind == "unknown_after_dispatch"
    assert episode.started_at.hour == 8
    assert (report.status, report.episodes_completed) == ("partial", 6)
    reasons = {one.reason for one in report.ineligibility_reasons}
    assert "terminal_status_interrupted" in reasons
    agent.calls.clear()
    assert replay.run(agent).report_id == report.report_id
    assert agent.calls == []


def test_a_lease_left_behind_is_displaced_only_by_the_explicit_word(
    in_memory: dict[str, MemoryStore],
) -> None:
    agent = a_scripted_agent()
    store = in_memory["run"]

    def observe(event: Any) -> None:
        if isinstance(event, EpisodeFinished):
            store.lose_writer()
            raise Stopped

    kept = MemoryWriter.close
    MemoryWriter.close = lambda writer: None  # type: ignore[method-assign]  # a process that dies closes nothing
    with pytest.raises(Stopped):
        replayed(agent, "run", observer=observe)
    MemoryWriter.close = kept  # type: ignore[method-assign]
    agent.calls.clear()
    with pytest.raises(StaleLeaseError):
        replayed(agent, "run")
    assert agent.calls == []
    assert replayed(agent, "run", recover_stale_lease=True).episodes_completed == 6


def test_evidence_that_was_altered_stops_a_resume_before_a_call(out: Path) -> None:
    agent = a_scripted_agent(PATHS, cost_usd=0.1)
    replayed(agent, out, budget_usd=0.4, estimated_max_episode_cost_usd=0.1)
    segment = next((out / "segments").iterdir())
    segment.chmod(0o600)
    segment.write_bytes(segment.read_bytes().replace(b'"decision":"y"', b'"decision":"n"', 1))
    agent.calls.clear()
    with pytest.raises(ArtifactError):
        replayed(agent, out, budget_usd=5, estimated_max_episode_cost_usd=0.1)
    assert agent.calls == []


def git(place: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=place, check=True, capture_output=True)


@pytest.mark.parametrize("change", ["commit", "unrelated edit", "staged file"])
def test_a_rerun_after_a_change_of_the_surrounding_repository_calls_nobody(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dfah_cli.adapter.manifest import build_manifest

    git(tmp_path, "init", "-q")
    (tmp_path / "file.txt").write_text("one")
    git(tmp_path, "add", "file.txt")
    git(tmp_path, "commit", "-q", "-m", "one")
    monkeypatch.chdir(tmp_path)
    suite = a_suite(("A",))

    def an_agent() -> Any:
        parameters = {"temperature": 0.0, "top_p": 1.0, "seed": 7}
        manifest = build_manifest(suite, provider="p", model="m", adapter="ad", adapter_version="1",
                                  implementation_hash="f" * 64, request_parameters=parameters)  # fmt: skip
        return a_scripted_agent({"A": [STEADY]}, suite=suite, manifest=manifest)

    first = an_agent()
    Replay(suite=suite, replays=2, clock=FixedClock()).run(first)
    (tmp_path / "file.txt").write_text("two")
    if change == "commit":
        git(tmp_path, "commit", "-q", "-am", "two")
    elif change == "staged file":
        git(tmp_path, "add", "file.txt")
    second = an_agent()
    assert second.manifest.hash == first.manifest.hash
    Replay(suite=suite, replays=2, clock=FixedClock()).run(second)
    assert second.calls == []
    assert len(list((tmp_path / ".dfah" / "runs").iterdir())) == 1


def test_the_same_agent_on_another_directory_is_a_new_run(out: Path, tmp_path: Path) -> None:
    agent = a_scripted_agent(PATHS)
    replayed(agent, out)
    replayed(agent, tmp_path / "other")
    assert len(agent.calls) == 18


def test_identity_of_an_episode_is_manifest_pseudonym_and_replay_index(out: Path) -> None:
    from dfah_cli.records.run_plan import episode_key

    suite = a_suite((a_case("RAW-1", artifact_case_id="P"), a_case("B")))
    agent = a_scripted_agent({"P": [STEADY], "B": [STEADY]}, suite=suite)
    replayed(agent, out)
    found = {(e.case_id, e.replay_index): e.episode_id for e in episodes(out)}
    assert set(found) == {(case, replay) for case in ("P", "B") for replay in range(3)}
    for (case_id, replay), episode_id in found.items():
        assert episode_id == episode_key(agent.manifest.hash, case_id, replay)[:32]


def test_a_finished_run_is_analyzed_to_the_report_of_the_run(out: Path) -> None:
    report = replayed(a_scripted_agent(PATHS), out)
    analysis = analyze(out)
    assert analysis.report == report
    assert analysis.verified.complete
    assert Path(".dfah/runs") == replay_module.DEFAULT_STORE


@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_disk_that_fills_up_ends_a_run_in_these_words_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, concurrency: int
) -> None:
    disk, run = FullFiles(), tmp_path / "run"

    def filling(case: Any, context: Any) -> Any:
        disk.full = disk.full or len(agent.calls) == 5
        return agent.result(context)

    agent = a_scripted_agent({"A": [filling], "B": [filling]})
    monkeypatch.setattr(opening, "LogStore", lambda place: LogStore(place, fs=disk))
    with pytest.raises(StorageError, match=r"^the disk is full: what was in flight is committed, nothing more"):
        a_replay(agent, run, replays=8, concurrency=concurrency).record(agent)
    sent = len(agent.calls)
    states = list(LogStore(run).open_reader().slots())
    assert (states.count(SlotState.COMMITTED), states.count(SlotState.DISPATCHING)) == (sent, 0)
    monkeypatch.undo()
    recorded = a_replay(agent, run, replays=8).record(agent)
    assert (recorded.tally.calls, recorded.report.status) == (16 - sent, "complete")
