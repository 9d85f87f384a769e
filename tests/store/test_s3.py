"""The store on a real S3-compatible server: the contract, races, crashes, and the number of requests."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from dfah_cli.errors import ConfigurationError
from dfah_cli.store.protocol import RunStore, RunWriter, SlotState
from tests.contract.store_contract import StoreContract
from tests.store.s3_servers import BUCKET, client_environment, environment, s3rver, seaweedfs
from tests.store.test_log import ScriptedHost

pytest.importorskip("obstore", reason="no obstore; run: make services")

from dfah_cli.store.object_store import ObjectStore
from dfah_cli.store.opening import open_store
from dfah_cli.store.places import RunUrl, bucket_of

PROJECT = Path(__file__).parents[2]
NUMBERS = count()


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with seaweedfs(tmp_path_factory.mktemp("seaweedfs")) as found:
        yield found


@pytest.fixture
def url(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A place for a run that nobody has used."""
    for name, value in environment(endpoint).items():
        monkeypatch.setenv(name, value)
    return f"s3://{BUCKET}/run-{next(NUMBERS)}"


class Runners:
    """Runners of one run, as processes of their own."""

    def __init__(self, endpoint: str, url: str, episodes: int, calls: Path) -> None:
        self._command = [sys.executable, "-m", "tests.store.s3_recorder", url, str(episodes), str(calls)]
        self._environment, self._calls = client_environment(endpoint), calls

    def start(self, *options: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self._command, *options],
            cwd=PROJECT,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *options: str) -> dict[str, int]:
        """The requests that one runner sent."""
        process = self.start(*options)
        out, error = process.communicate(timeout=300)
        assert process.returncode == 0, error
        requests: dict[str, int] = json.loads(out)["requests"]
        return requests

    def seen(self, word: str) -> list[int]:
        """Slots of the calls or acknowledgements so far."""
        lines = [line.split() for line in self._calls.read_text().splitlines()] if self._calls.exists() else []
        return [int(line[1]) for line in lines if line[0] == word]

    def fenced(self) -> int:
        return self._calls.read_text().splitlines().count("fenced")

    def until(self, calls: int) -> None:
        deadline = time.monotonic() + 120
        while len(self.seen("call")) < calls:
            assert time.monotonic() < deadline, "the runner makes no progress"
            time.sleep(0.01)


def states(url: str) -> Counter[int]:
    return Counter(open_store(url).open_reader().slots())


class TestOnSeaweedFS(StoreContract):
    @pytest.fixture
    def store(self, url: str) -> RunStore:
        self.host = ScriptedHost()
        return ObjectStore(bucket_of(RunUrl(url)), host=self.host)

    def lose_writer(self, store: RunStore, writer: RunWriter) -> None:
        self.host.die()


def test_an_endpoint_that_ignores_conditional_writes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with s3rver(tmp_path) as ignoring:
        for name, value in environment(ignoring).items():
            monkeypatch.setenv(name, value)
        runners = Runners(ignoring, f"s3://{BUCKET}/one", 4, tmp_path / "calls")
        process = runners.start()
        _, error = process.communicate(timeout=120)
        assert process.returncode == ConfigurationError.exit_code
        assert "does not keep If-None-Match" in error
        assert error.count("\n") == 1
        assert runners.seen("call") == []


def test_eight_runners_share_a_run_and_call_each_episode_once(endpoint: str, url: str, tmp_path: Path) -> None:
    runners = Runners(endpoint, url, 400, tmp_path / "calls")
    processes = [runners.start("--shards", "8", "--concurrency", "4") for _ in range(8)]
    for process in processes:
        process.communicate(timeout=300)
    assert Counter(runners.seen("call")) == dict.fromkeys(range(400), 1)
    assert states(url) == {SlotState.COMMITTED: 400}


@pytest.mark.parametrize(("rivals", "episodes"), [(2, 60), pytest.param(8, 200, marks=pytest.mark.soak)])
def test_rivals_that_take_over_from_each_other_never_call_an_episode_twice(
    endpoint: str, url: str, tmp_path: Path, rivals: int, episodes: int
) -> None:
    runners = Runners(endpoint, url, episodes, tmp_path / "calls")
    processes = [runners.start("--rival", "--concurrency", "4", "--call-s", "0.04") for _ in range(rivals)]
    for process in processes:
        process.communicate(timeout=300)
    calls = Counter(runners.seen("call"))
    assert max(calls.values()) == 1
    assert runners.fenced() > 0
    runners.start("--rival", "--concurrency", "4").communicate(timeout=300)  # nobody is left to take over from it
    assert max(Counter(runners.seen("call")).values()) == 1
    assert states(url) == {SlotState.COMMITTED: episodes}
    statuses = Counter(b["status"] for _, b in open_store(url).open_reader().records() if b["t"] == "episode")
    assert statuses["valid"] + statuses["interrupted"] == episodes
    assert statuses["interrupted"] > 0
    print(f"{rivals} rivals, {episodes} episodes: {len(calls)} called once, {statuses['interrupted']} interrupted,")
    print(f"{runners.fenced()} fenced, none called twice")


def test_a_killed_runner_loses_no_acknowledged_episode_and_sends_nothing_twice(
    endpoint: str, url: str, tmp_path: Path
) -> None:
    runners = Runners(endpoint, url, 120, tmp_path / "calls")
    for killed_at in (20, 50, 80):
        process = runners.start("--recover", "--concurrency", "4", "--call-s", "0.002")
        runners.until(killed_at)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    acknowledged = set(runners.seen("ack"))
    before = {b["i"]: h for h, b in open_store(url).open_reader().records() if b["t"] == "episode"}
    assert acknowledged <= before.keys()
    runners.run("--recover", "--concurrency", "4")
    after = {b["i"]: h for h, b in open_store(url).open_reader().records() if b["t"] == "episode"}
    assert {slot: after[slot] for slot in before} == before
    assert max(Counter(runners.seen("call")).values()) == 1
    assert states(url) == {SlotState.COMMITTED: 120}


@pytest.mark.parametrize(("concurrency", "episodes", "most"), [(1, 300, 1.05), (16, 2000, 0.08), (256, 12_800, 0.006)])
def test_requests_for_an_episode(
    endpoint: str, url: str, tmp_path: Path, concurrency: int, episodes: int, most: float
) -> None:
    sent = Runners(endpoint, url, episodes, tmp_path / "calls").run("--concurrency", str(concurrency))
    assert sent["put"] / episodes <= most
