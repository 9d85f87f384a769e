"""Whatever an agent does to its process, it does to one episode: the table of misbehaviour in both modes."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from dfah_cli.engines.isolation.agent import IsolatedAgent
from dfah_cli.engines.isolation.channel import Channel, Message
from dfah_cli.engines.isolation.process import Load
from dfah_cli.errors import ConfigurationError
from dfah_cli.execution.events import EpisodeFinished, Observer, silent
from dfah_cli.records.enums import EpisodeStatus
from dfah_cli.records.episode import Episode
from dfah_cli.workflow.analyze import analyze
from dfah_cli.workflow.analyze import episodes as recorded
from dfah_cli.workflow.replay import Replay
from tests.engines import isolated_agents
from tests.engines.isolated_agents import LIMIT_S
from tests.integrations.test_foreign import children

WHERE = "tests.engines.isolated_agents"
# Behaviour, status and kind: the same with and without isolation.
ALIKE = [
    ("steady", "valid", None),
    ("plain_steady", "valid", None),
    ("prints", "valid", None),
    ("raises", "provider_error", "ValueError"),
    ("exits", "provider_error", "SystemExit"),
    ("plain_exits", "provider_error", "SystemExit"),
    ("interrupts", "provider_error", "KeyboardInterrupt"),
    ("cancels", "provider_error", "CancelledError"),
    ("breaks_contract", "contract_error", "AgentContractError"),
    ("returns_text", "contract_error", "AgentContractError"),
    ("negative_cost", "contract_error", "ValidationError"),
    ("other_model", "contract_error", "wire_manifest_mismatch"),
    ("invents_a_path", "contract_error", "trajectory_mismatch"),
    ("refuses", "refusal", "refusal"),
    ("says_nothing", "parse_failure", "parse_failure"),
    ("tool_raises", "tool_error", "ToolExecutionError"),
    ("tool_raises_unheard", "tool_error", "tool_capture_incomplete"),
    ("tool_exits", "tool_error", "tool_capture_incomplete"),
    ("tool_returns_an_object", "tool_error", "tool_capture_incomplete"),
    ("tool_returns_bytes", "tool_error", "tool_capture_incomplete"),
    ("unknown_tool", "tool_error", "tool_capture_incomplete"),
    ("wrong_arguments", "tool_error", "tool_capture_incomplete"),
    ("unreadable_arguments", "tool_error", "tool_capture_incomplete"),
    ("raises_after_a_failed_tool", "tool_error", "ValueError"),
    ("hangs", "provider_error", "episode_timeout"),
    ("tool_hangs", "provider_error", "episode_timeout"),
    ("swallows_cancellation", "provider_error", "episode_timeout"),
    ("plain_hangs", "provider_error", "episode_timeout"),
]
# What only isolation survives, or ends.
ISOLATED = [
    ("hard_exit", "provider_error", "WorkerDiedError"),
    ("segfault", "provider_error", "WorkerDiedError"),
    ("aborts", "provider_error", "WorkerDiedError"),
    ("kills_itself", "provider_error", "WorkerDiedError"),
    ("tool_crashes", "tool_error", "WorkerDiedError"),
    ("closes_everything", "provider_error", "WorkerDiedError"),
    ("stops_itself", "provider_error", "episode_timeout"),
    ("blocks_the_loop", "provider_error", "episode_timeout"),
    ("holds_the_interpreter", "provider_error", "episode_timeout"),
    ("starts_a_child", "provider_error", "episode_timeout"),
    ("leaves_a_call_running", "tool_error", "tool_capture_incomplete"),
    ("leaves_a_thread", "valid", None),
    ("forks_and_exits", "valid", None),
    ("forks_and_goes_on", "valid", None),
    ("eats_memory", "provider_error", "MemoryError"),
]


def isolated(behaviour: str, *, fresh: bool = False, memory_mb: int | None = 1024) -> IsolatedAgent:
    agent = getattr(isolated_agents, f"{behaviour}_agent")
    load = Load(adapter=f"{WHERE}:{behaviour}_agent", agent={}, suite=None, memory_mb=memory_mb)
    return IsolatedAgent(agent, isolated_agents.SUITE, load, fresh=fresh)


def run(
    agent: Any,
    out: Path,
    *,
    replays: int = 2,
    concurrency: int = 1,
    limit_s: float | None = LIMIT_S,
    observer: Observer = silent,
) -> list[Episode]:
    Replay(
        suite=isolated_agents.SUITE,
        replays=replays,
        out=out,
        episode_timeout_s=limit_s,
        concurrency=concurrency,
        recover_stale_lease=False,
        observer=observer,
    ).run(agent)
    analyze(out)
    return sorted(recorded(out), key=lambda one: one.replay_index)


def judged(episodes: list[Episode]) -> set[tuple[str, str | None]]:
    return {(one.status.value, None if one.error is None else one.error.kind) for one in episodes}


@pytest.mark.parametrize(("behaviour", "status", "kind"), ALIKE)
def test_in_process_and_isolated_are_judged_alike(
    behaviour: str, status: str, kind: str | None, tmp_path: Path
) -> None:
    texts: dict[str, list[str | None]] = {"plain": [], "isolated": []}

    def hears(mode: str) -> Observer:
        return lambda event: texts[mode].append(event.error_text) if isinstance(event, EpisodeFinished) else None

    plain = run(getattr(isolated_agents, f"{behaviour}_agent"), tmp_path / "plain", observer=hears("plain"))
    apart = run(isolated(behaviour), tmp_path / "isolated", observer=hears("isolated"))
    assert texts["plain"] == texts["isolated"]
    assert judged(plain) == judged(apart) == {(status, kind)}
    paths = [[call.step for call in one.trajectory.tool_calls] for one in plain]
    assert [[call.step for call in one.trajectory.tool_calls] for one in apart] == paths


@pytest.mark.parametrize(("behaviour", "status", "kind"), ISOLATED)
def test_what_would_end_the_run_is_one_failed_episode(behaviour: str, status: str, kind: str | None, out: Path) -> None:
    before, threads = children(), threading.active_count()
    episodes = run(isolated(behaviour), out)
    assert judged(episodes) == {(status, kind)}
    assert len(episodes) == 2
    assert children() <= before
    assert threading.active_count() <= threads + 1


def test_what_is_told_of_a_call_does_not_grow_with_the_calls_before_it(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[int] = []
    post = Channel.post

    def counted(self: Channel, message: Message) -> None:
        told.append(len(message.get("calls", ())))
        post(self, message)

    monkeypatch.setattr(Channel, "post", counted)
    episodes = run(isolated("calls_often"), out, limit_s=60)
    assert judged(episodes) == {("valid", None)}
    assert [len(one.trajectory.tool_calls) for one in episodes] == [300, 300]
    assert (sum(told), max(told)) == (600, 1)


@pytest.mark.parametrize("behaviour", ["closes_everything", "stops_the_loop", "cancels_everything"])
def test_a_worker_process_that_loses_its_loop_ends_without_a_traceback(
    behaviour: str, out: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert judged(run(isolated(behaviour), out)) == {("provider_error", "WorkerDiedError")}
    assert "Traceback" not in capfd.readouterr().err


def test_a_call_that_was_running_when_its_process_died_is_recorded(out: Path) -> None:
    for episode in run(isolated("tool_crashes"), out):
        assert episode.status is EpisodeStatus.TOOL_ERROR
        assert [call.execution_state.value for call in episode.trajectory.tool_calls] == ["executed", "requested"]


def test_a_child_of_the_agent_is_killed_with_it(out: Path) -> None:
    run(isolated("starts_a_child"), out)
    sleeping = [place for place in Path("/proc").glob("[0-9]*/cmdline") if _text(place) == "sleep\x00300\x00"]
    assert sleeping == []


def _text(place: Path) -> str:
    try:
        return place.read_text()
    except OSError:
        return ""


@pytest.mark.parametrize("behaviour", ["tells_and_raises", "tells_and_hangs"])
def test_what_a_failing_episode_told_of_its_cost_arrives(behaviour: str, out: Path) -> None:
    for episode in run(isolated(behaviour), out):
        assert (episode.status.value, episode.usage.input_tokens, episode.cost_usd) == ("provider_error", 7, 0.5)


def test_waiting_in_a_worker_takes_no_time_of_the_episode(out: Path) -> None:
    assert judged(run(isolated("waits_for_its_turn"), out)) == {("valid", None)}


def test_processes_are_used_again_unless_fresh_ones_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dfah_cli.engines.isolation import process

    started: list[object] = []
    start = process.WorkerProcess.start

    async def counted(load: Load, *turns: Any) -> Any:
        started.append(load)
        return await start(load, *turns)

    monkeypatch.setattr(process.WorkerProcess, "start", counted)
    # Without a limit: on a busy machine an episode may exceed it, and the process that is killed then is replaced.
    again = run(isolated("steady"), tmp_path / "again", replays=4, limit_s=None)
    assert (judged(again), len(started)) == ({("valid", None)}, 1)
    started.clear()
    apart = run(isolated("steady", fresh=True), tmp_path / "fresh", replays=4, limit_s=None)
    assert (judged(apart), len(started)) == ({("valid", None)}, 4)


def test_concurrent_episodes_have_processes_of_their_own(out: Path) -> None:
    assert judged(run(isolated("steady"), out, replays=6, concurrency=3)) == {("valid", None)}


def test_an_agent_that_cannot_be_loaded_is_refused_before_anything_is_dispatched(out: Path) -> None:
    agent = isolated("steady")
    agent._load = Load(adapter=f"{WHERE}:nobody", agent={}, suite=None)
    before = children()
    with pytest.raises(ConfigurationError, match="could not load the agent"):
        run(agent, out)
    assert children() <= before
    assert list(recorded(out)) == []
