"""Without the package Ray: one line with the command that installs it, and plans all the same."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dfah_cli.errors import ConfigurationError, OptionalDependencyError
from dfah_cli.records.engine import Engine
from dfah_cli.workflow.request import RunRequest
from dfah_cli.workflow.run import execute, plan_only


def request(out: Path) -> RunRequest:
    return RunRequest(adapter="dfah.demo:toy_agent", out=str(out), engine=Engine(name="ray"))


def test_a_missing_package_is_told_with_its_install_command(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(OptionalDependencyError, match=r"pip install 'dfah-cli\[ray\]'"):
        execute(request(out))
    assert not out.exists()


def test_a_plan_needs_no_cluster_and_is_that_of_the_local_engine(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    local = RunRequest(adapter="dfah.demo:toy_agent", out=str(out))
    assert plan_only(request(out)).plan.sha256 == plan_only(local).plan.sha256


def test_keys_that_only_a_cluster_looks_at_are_refused_elsewhere() -> None:
    with pytest.raises(ConfigurationError, match=r"engine\.workers needs engine=ray"):
        Engine(workers=2)
    with pytest.raises(ConfigurationError, match=r"engine\.cpus is for a cluster started for the run"):
        Engine(name="ray", address="auto", cpus=2)


@pytest.mark.parametrize(
    ("episodes", "workers", "seats", "expected"), [(1, None, 1, 1), (9, None, 4, 3), (9, 2, 4, 2), (3, 8, 1, 3)]
)
def test_workers_are_as_many_as_the_episodes_in_flight_need(
    episodes: int, workers: int | None, seats: int, expected: int
) -> None:
    engine = Engine(name="ray", workers=workers, episodes_per_worker=seats)
    assert engine.workers_for(episodes) == expected


def test_a_worker_takes_what_its_episodes_take_in_whole_units_above_one() -> None:
    engine = Engine(
        name="ray", episodes_per_worker=3, cpus_per_episode=0.25, resources_per_episode={"GPU": 0.5, "amber": 0.1}
    )
    assert engine.cpus_per_worker == 0.75
    assert engine.resources_per_worker == {"GPU": 2, "amber": 0.3}


def test_the_environment_of_the_workers_is_in_no_repr() -> None:
    assert "hush" not in repr(Engine(name="ray", runtime_env={"env_vars": {"KEY": "hush"}}))
