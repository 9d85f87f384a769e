"""A Ray cluster as it is asked for on the command line and from Python, recorded here or in an object storage."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dfah_cli.cli.main import main
from dfah_cli.errors import OptionalDependencyError
from dfah_cli.records.engine import Engine
from dfah_cli.records.enums import EpisodeStatus
from dfah_cli.workflow.analyze import episodes as recorded
from dfah_cli.workflow.replay import Replay
from tests.cli.command import dfah
from tests.cli.command import environment as environment_of_shell
from tests.engines import ray_agents
from tests.store.s3_servers import BUCKET, environment, free_ports, seaweedfs

AGENT = ("--agent", "tests.engines.ray_agents:steady")
DESIGN = ("--replays", "2", "--limit", "4")
# Eight episodes at once in a single worker.
PLACE = ("--engine-workers", "1", "--engine-episodes-per-worker", "8", "--engine-cpus-per-episode", "0.125")
ON_RAY = ("--engine", "ray", "--concurrency", "8", *PLACE)


def command(calls: Path, out: str, env: dict[str, str], *more: str) -> subprocess.CompletedProcess[str]:
    """The real command; not in a fork of this process, for a cluster has threads."""
    options: dict[str, Any] = {"env": env | {"DFAH_TEST_CALLS": str(calls)}, "timeout": 240}
    arguments = ("run", *AGENT, *DESIGN, *ON_RAY, *more, "--out", out)
    return dfah(*arguments, cwd=calls.parent, stdin=subprocess.DEVNULL, capture_output=True, **options)


def run(calls: Path, out: str, env: dict[str, str], *more: str) -> None:
    """A run by the real command, whose eight episodes one worker was called with, once each."""
    done = command(calls, out, env, *more)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in calls.read_text().splitlines()]
    times = Counter((case_id, replay) for case_id, replay, _ in lines)
    assert (len(times), set(times.values())) == (8, {1})
    assert len({pid for _, _, pid in lines}) == 1
    assert dfah("verify", out, cwd=calls.parent, env=env, stdin=subprocess.DEVNULL).returncode == 0


def test_the_command_runs_on_a_cluster_with_its_options(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="no ray; run: python -m pip install 'dfah-cli[ray]'")
    run(tmp_path / "calls", str(tmp_path / "run"), {})


def test_what_could_not_be_judged_is_run_again_on_a_cluster(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="no ray; run: python -m pip install 'dfah-cli[ray]'")
    calls = tmp_path / "calls"
    # Without the file for its calls the agent fails.
    assert dfah("run", *AGENT, *DESIGN, "--out", "lost", cwd=tmp_path).returncode == 4
    env = {"DFAH_TEST_CALLS": str(calls)}
    again = ("rerun", "lost", "--ineligible", "--out", "again", *ON_RAY)
    done = dfah(*again, cwd=tmp_path, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert len(calls.read_text().splitlines()) == 8
    assert all(one.status is EpisodeStatus.VALID for one in recorded(tmp_path / "again"))


@contextmanager
def another_cluster(folder: Path, env: dict[str, str]) -> Iterator[str]:
    """The address of a cluster that somebody else has started."""
    (port,) = free_ports(1)
    ray = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", "--include-dashboard=false"]
    ray += [f"--port={port}", "--num-cpus=4", "--disable-usage-stats", f"--temp-dir={folder}"]
    with (folder / "head.log").open("wb") as log:
        head = subprocess.Popen(ray, env=environment_of_shell(**env), stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 120
        while b"Ray runtime started" not in (folder / "head.log").read_bytes():
            assert head.poll() is None, (folder / "head.log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.2)
        yield f"127.0.0.1:{port}"
    finally:
        # It ends its processes with it.
        head.terminate()
        head.wait(60)


@pytest.mark.soak
def test_a_cluster_that_is_there_is_used_and_left_there(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="no ray; run: python -m pip install 'dfah-cli[ray]'")
    secret = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0123456789abcdef" * 4}
    # Workers have the environment of their node.
    node = secret | {"DFAH_TEST_CALLS": str(tmp_path / "calls")}
    # The whole path of a socket in it has 107 characters at most.
    with tempfile.TemporaryDirectory() as folder, another_cluster(Path(folder), node) as address:
        refused = command(
            tmp_path / "calls", str(tmp_path / "no"), {"RAY_AUTH_MODE": "disabled"}, "--engine-address", address
        )
        assert refused.returncode == 2
        assert f"{address} cannot be reached" in refused.stderr
        assert "set RAY_AUTH_MODE=token here too" in refused.stderr
        assert not (tmp_path / "calls").exists()
        for name in ("one", "two"):
            (tmp_path / "calls").unlink(missing_ok=True)
            run(tmp_path / "calls", str(tmp_path / name), secret, "--engine-address", address)


def test_a_run_on_a_cluster_is_recorded_in_an_object_storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray", reason="no ray; run: python -m pip install 'dfah-cli[ray]'")
    pytest.importorskip("obstore", reason="no obstore; run: make services")
    (tmp_path / "server").mkdir()
    with seaweedfs(tmp_path / "server") as endpoint:
        run(tmp_path / "calls", f"s3://{BUCKET}/on-ray", environment(endpoint))
        for name, value in environment(endpoint).items():
            monkeypatch.setenv(name, value)
        there = list(recorded(f"s3://{BUCKET}/on-ray"))
    assert [one.status for one in there] == [EpisodeStatus.VALID] * 8


def test_an_option_of_the_cluster_alone_is_refused(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *AGENT, *DESIGN, "--engine-workers", "2", "--out", str(out)]) == 2
    assert "engine.workers needs engine=ray" in capsys.readouterr().err
    assert not out.exists()


def test_the_command_says_how_the_engine_is_installed(
    out: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main(["run", *AGENT, *DESIGN, "--engine", "ray", "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert "pip install 'dfah-cli[ray]'" in said
    assert said.count("\n") == 1
    assert not out.exists()


@pytest.mark.parametrize("engine", ["ray", Engine(name="ray", workers=2)])
def test_python_says_how_the_engine_is_installed(
    engine: Engine | str, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(OptionalDependencyError, match=r"pip install 'dfah-cli\[ray\]'"):
        Replay(suite=ray_agents.SUITE, replays=2, out=out, engine=engine).run(ray_agents.steady)  # type: ignore[arg-type]
    assert not out.exists()
