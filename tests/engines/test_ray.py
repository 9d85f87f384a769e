"""Episodes on a real Ray cluster of worker processes, some of which are killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dfah_cli.engines.ray.agent import RayAgent
from dfah_cli.errors import ConfigurationError
from dfah_cli.records.engine import Engine
from dfah_cli.records.enums import EpisodeStatus, ReportStatus
from dfah_cli.records.episode import Episode
from dfah_cli.workflow.analyze import analyze
from dfah_cli.workflow.analyze import episodes as recorded
from dfah_cli.workflow.replay import Replay
from dfah_cli.workflow.request import RunRequest
from dfah_cli.workflow.run import RunResult, execute
from tests.engines import isolated_agents, ray_agents
from tests.engines.ray_agents import CASES

pytest.importorskip("ray", reason="no ray; run: python -m pip install 'dfah-cli[ray]'")

LOST = (EpisodeStatus.INTERRUPTED.value, "unknown_after_dispatch")
WHERE = "tests.engines.isolated_agents"
# Judged as in this process; `os._exit` too, which in a worker process of `isolation` ends that process.
ALIKE = [
    ("steady", "valid", None),
    ("plain_steady", "valid", None),
    ("hard_exit", "provider_error", "SystemExit"),
    ("cancels", "provider_error", "CancelledError"),
    ("breaks_contract", "contract_error", "AgentContractError"),
    ("tool_raises", "tool_error", "ToolExecutionError"),
    ("unreadable_arguments", "tool_error", "tool_capture_incomplete"),
    ("blocks_the_loop", "provider_error", "episode_timeout"),
    ("swallows_cancellation", "provider_error", "episode_timeout"),
    ("kills_itself", *LOST),
    ("segfault", *LOST),
]
SAMPLE = ("steady", "hard_exit", "kills_itself")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cluster that the runs of this module share; the file in which the agent counts its calls there."""
    from dfah_cli.engines.ray.package import ray, silence

    silence()
    counted, handler = tmp_path_factory.mktemp("ray") / "calls", signal.getsignal(signal.SIGTERM)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DFAH_TEST_CALLS", str(counted))
        patch.setenv("DFAH_TEST_WAIT_S", "0.1")
        ray().init(num_cpus=8, include_dashboard=False, log_to_driver=False, configure_logging=False)
        try:
            yield counted
        finally:
            ray().shutdown()
            signal.signal(signal.SIGTERM, handler)


@pytest.fixture
def calls(cluster: Path) -> Path:
    """The file of the shared cluster, empty."""
    cluster.unlink(missing_ok=True)
    return cluster


@pytest.fixture
def own_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file for a driver process that starts a cluster of its own."""
    monkeypatch.setenv("DFAH_TEST_CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("DFAH_TEST_WAIT_S", "0.5")
    return tmp_path / "calls"


def run(out: Path, engine: Engine, *, episodes: int = CASES, concurrency: int = 4, **more: Any) -> RunResult:
    more = {"adapter": "tests.engines.ray_agents:steady", "episode_timeout_s": 60.0, **more}
    cases = min(episodes // 2, CASES)
    return execute(
        RunRequest(replays=episodes // cases, limit=cases, out=str(out), concurrency=concurrency, engine=engine, **more)
    )


def called(calls: Path) -> Counter[tuple[str, int]]:
    lines = [line.split() for line in calls.read_text().splitlines()]
    return Counter((case_id, int(replay)) for case_id, replay, _ in lines)


@contextmanager
def killing(calls: Path, times: int, every_s: float) -> Iterator[list[int]]:
    """Kills a worker now and then, one that has made one of the last calls; those that were killed."""
    killed: list[int] = []
    chance, over = random.Random(times), threading.Event()

    def work() -> None:
        while len(killed) < times and not over.wait(chance.uniform(0.5, 1.5) * every_s):
            lines = calls.read_text().splitlines()[-8:] if calls.exists() else []
            alive = [pid for pid in {int(line.split()[2]) for line in lines} - set(killed) if is_there(pid)]
            if alive:
                killed.append(chance.choice(sorted(alive)))
                os.kill(killed[-1], signal.SIGKILL)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


def is_there(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def facts(episodes: list[Episode]) -> dict[tuple[str, int], tuple[Any, ...]]:
    return {
        (one.case_id, one.replay_index): (one.status, one.decision, one.trajectory, one.wire_request)
        for one in episodes
    }


def check_losses(out: Path, calls: Path, episodes: int, killed: int, held: int) -> list[Episode]:
    """No second call, every episode accounted for, and lost at most what the killed workers held; the episodes left."""
    analyze(out)
    there = list(recorded(out))
    times = called(calls)
    assert len(there) == episodes
    assert set(times.values()) == {1}
    lost = [one for one in there if one.status is EpisodeStatus.INTERRUPTED]
    assert len(lost) <= killed * held
    assert all(one.error is not None and one.error.kind == "unknown_after_dispatch" for one in lost)
    rest = [one for one in there if one.status is not EpisodeStatus.INTERRUPTED]
    assert {one.status for one in rest} == {EpisodeStatus.VALID}
    assert {(one.case_id, one.replay_index) for one in rest} <= set(times)
    return rest


def compared(tmp_path: Path, calls: Path, *, episodes: int, kills: int, workers: int, seats: int) -> tuple[int, int]:
    engine = Engine(name="ray", workers=workers, episodes_per_worker=seats, cpus_per_episode=0.5)
    with killing(calls, kills, 0.5) as killed:
        result = run(tmp_path / "ray", engine, episodes=episodes, concurrency=workers * seats)
    rest = check_losses(tmp_path / "ray", calls, episodes, len(killed), seats)
    assert result.stop_reason is None
    lost = episodes - len(rest)
    assert (result.report.status, result.exit_code) == (
        (ReportStatus.PARTIAL, 4) if lost else (ReportStatus.COMPLETE, 0)
    )
    calls.unlink()
    run(tmp_path / "local", Engine(), episodes=episodes, concurrency=64)
    local = facts(list(recorded(tmp_path / "local")))
    assert all(local[key] == fact for key, fact in facts(rest).items())
    return len(killed), lost


def test_killed_workers_lose_what_they_held_and_nothing_is_called_twice(tmp_path: Path, calls: Path) -> None:
    killed, _ = compared(tmp_path, calls, episodes=60, kills=3, workers=3, seats=2)
    assert killed


@pytest.mark.soak
@pytest.mark.parametrize("seats", [1, 4])
def test_twenty_killed_workers_in_two_thousand_episodes(tmp_path: Path, calls: Path, seats: int) -> None:
    killed, lost = compared(tmp_path, calls, episodes=2000, kills=20, workers=4, seats=seats)
    print(f"{killed} workers killed, {lost} of 2000 episodes interrupted, none called twice")
    assert killed == 20


def test_without_losses_the_report_is_that_of_the_local_engine(tmp_path: Path, calls: Path) -> None:
    one = run(tmp_path / "ray", Engine(name="ray", episodes_per_worker=4, cpus_per_episode=0.1), episodes=20)
    other = run(tmp_path / "local", Engine(), episodes=20)
    assert one.exit_code == other.exit_code == 0
    assert facts(list(recorded(tmp_path / "ray"))) == facts(list(recorded(tmp_path / "local")))
    assert one.report.run_plan_sha256 == other.report.run_plan_sha256
    numbers = ("status", "dar", "tar", "gap", "exact", "intervals", "flagged_groups", "ineligible_groups")
    assert [getattr(one.report, name) for name in numbers] == [getattr(other.report, name) for name in numbers]


def test_python_takes_an_agent_to_a_cluster_by_its_name(out: Path, calls: Path) -> None:
    agent: Any = ray_agents.steady
    engine = Engine(name="ray", episodes_per_worker=4, cpus_per_episode=0.1)
    report = Replay(suite=ray_agents.SUITE, replays=2, limit=4, out=out, concurrency=4, engine=engine).run(agent)
    assert (report.status, set(called(calls).values())) == (ReportStatus.COMPLETE, {1})
    assert str(os.getpid()) not in {line.split()[2] for line in calls.read_text().splitlines()}


@pytest.mark.parametrize(
    ("behaviour", "status", "kind"),
    [row if row[0] in SAMPLE else pytest.param(*row, marks=pytest.mark.soak) for row in ALIKE],
)
@pytest.mark.parametrize("seats", [1, pytest.param(2, marks=pytest.mark.soak)])
def test_what_an_agent_does_to_its_worker_is_one_judged_episode(
    behaviour: str, status: str, kind: str | None, seats: int, out: Path
) -> None:
    agent = getattr(isolated_agents, f"{behaviour}_agent")
    told: dict[str, Any] = {"adapter": f"{WHERE}:{behaviour}_agent", "agent": {}, "suite": None, "memory_mb": None}
    engine = Engine(name="ray", episodes_per_worker=seats)
    there = RayAgent(agent, isolated_agents.SUITE, told, engine)
    Replay(suite=isolated_agents.SUITE, replays=2, out=out, episode_timeout_s=5.0, concurrency=seats).run(there)
    analyze(out)
    assert {(one.status.value, one.error and one.error.kind) for one in recorded(out)} == {(status, kind)}


def test_an_agent_that_workers_cannot_load_is_refused_before_anything_is_dispatched(
    tmp_path: Path, calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "only_here.py").write_text("from tests.engines.ray_agents import steady as agent\n")
    monkeypatch.syspath_prepend(tmp_path / "here")
    with pytest.raises(ConfigurationError, match=r"a worker could not load the agent: .*only_here"):
        run(tmp_path / "out", Engine(name="ray"), adapter="only_here:agent")
    assert not calls.exists()


def test_a_cluster_that_can_give_no_worker_is_named_before_anything_is_dispatched(tmp_path: Path, calls: Path) -> None:
    engine = Engine(name="ray", resources_per_episode={"amber": 2}, start_timeout_s=2.0)
    with pytest.raises(
        ConfigurationError, match=r"no worker for 2 s: each needs 1 CPU, 2 amber; the cluster has \S+ of 8"
    ):
        run(tmp_path / "out", engine, episodes=4)
    assert not calls.exists()


DRIVER = """
import sys
from dfah_cli.records.engine import Engine
from dfah_cli.workflow.request import RunRequest
from dfah_cli.workflow.run import execute
ray = Engine(name="ray", workers=2, episodes_per_worker=2, cpus_per_episode=0.5)
request = RunRequest(
    adapter="tests.engines.ray_agents:steady", replays=2, limit=25, out=sys.argv[1], concurrency=4,
    engine=ray if sys.argv[2] == "ray" else Engine(), recover_stale_lease=len(sys.argv) > 3,
)
sys.exit(int(execute(request).exit_code))
"""


def driver(out: Path, engine: str, *more: str) -> subprocess.Popen[bytes]:
    root = Path(__file__).parents[2]
    return subprocess.Popen([sys.executable, "-c", DRIVER, str(out), engine, *more], cwd=root, start_new_session=True)


def wait_for_calls(calls: Path, count: int) -> None:
    end = time.monotonic() + 180
    while not calls.exists() or calls.read_text().count("\n") < count:
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.soak
def test_a_killed_driver_takes_its_workers_along_and_a_resume_calls_nothing_twice(
    tmp_path: Path, own_calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = driver(tmp_path / "run", "ray")
    wait_for_calls(own_calls, 12)
    process.kill()
    process.wait()
    workers = {int(line.split()[2]) for line in own_calls.read_text().splitlines()}
    before = sum(called(own_calls).values())
    time.sleep(5)
    # Each worker may have been handed one call for each of its places just before.
    assert sum(called(own_calls).values()) <= before + 4
    assert not any(map(is_there, workers))
    monkeypatch.setenv("DFAH_TEST_WAIT_S", "0.01")
    assert driver(tmp_path / "run", "ray", "recover").wait(240) == 4
    assert len(check_losses(tmp_path / "run", own_calls, CASES, 2, 2)) < CASES


@pytest.mark.soak
@pytest.mark.parametrize(("first", "second"), [("ray", "local"), ("local", "ray")])
def test_a_signal_drains_what_is_in_flight_and_the_other_engine_goes_on(
    first: str, second: str, tmp_path: Path, own_calls: Path
) -> None:
    number, code = (signal.SIGINT, 130) if first == "ray" else (signal.SIGTERM, 143)
    process = driver(tmp_path / "run", first)
    wait_for_calls(own_calls, 6)
    # As a terminal does: to the whole group, the processes of the cluster included.
    os.killpg(process.pid, number)
    assert process.wait(60) == code
    there = list(recorded(tmp_path / "run"))
    assert {one.status for one in there} == {EpisodeStatus.VALID}
    assert len(there) == sum(called(own_calls).values()) < CASES
    assert driver(tmp_path / "run", second).wait(240) == 0
    assert set(called(own_calls).values()) == {1}
    assert len(called(own_calls)) == CASES
