"""A Ray cluster as it is asked for on the command line and from Python, recorded here or in an object storage."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from dfah_cli.cli.main import main
from dfah_cli.errors import OptionalDependencyError
from dfah_cli.records.engine import Engine
from dfah_cli.records.enums import EpisodeStatus
from dfah_cli.workflow.analyze import episodes as recorded
from dfah_cli.workflow.replay import Replay
from tests.cli.command import dfah
from tests.engines import ray_agents
from tests.store.s3_servers import BUCKET, environment, seaweedfs

AGENT = ("--agent", "tests.engines.ray_agents:steady")
DESIGN = ("--replays", "2", "--limit", "4")
# Eight episodes at once in a single worker.
PLACE = ("--engine-workers", "1", "--engine-episodes-per-worker", "8", "--engine-cpus-per-episode", "0.125")
ON_RAY = ("--engine", "ray", "--concurrency", "8", *PLACE)


def run(calls: Path, out: str, env: dict[str, str]) -> None:
    """A run by the real command, whose eight episodes one worker was called with, once each."""
    noting = env | {"DFAH_TEST_CALLS": str(calls)}
    # Not in a fork of this process: a cluster has threads.
    options = {"env": noting, "timeout": 240, "stdin": subprocess.DEVNULL}
    done = dfah("run", *AGENT, *DESIGN, *ON_RAY, "--out", out, cwd=calls.parent, **options)  # type: ignore[arg-type]
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in calls.read_text().splitlines()]
    times = Counter((case_id, replay) for case_id, replay, _ in lines)
    assert (len(times), set(times.values())) == (8, {1})
    assert len({pid for _, _, pid in lines}) == 1
    assert dfah("verify", out, cwd=calls.parent, env=env).returncode == 0


def test_the_command_runs_on_a_cluster_with_its_options(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="needs the package ray: pip install 'dfah-cli[ray]'")
    run(tmp_path / "calls", str(tmp_path / "run"), {})


def test_a_run_on_a_cluster_is_recorded_in_an_object_storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray", reason="needs the package ray: pip install 'dfah-cli[ray]'")
    pytest.importorskip("obstore", reason="make services")
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
