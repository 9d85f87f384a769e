"""`Replay(isolation=…, engine=…)`: an agent that is there as an object is found again by its name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dfah_cli.errors import ConfigurationError
from dfah_cli.workflow.analyze import episodes
from dfah_cli.workflow.isolating import reference_of
from dfah_cli.workflow.replay import Replay
from tests.builders import a_scripted_agent
from tests.engines import isolated_agents


@pytest.mark.parametrize("isolation", ["process", "fresh"])
def test_what_would_end_the_process_is_one_failed_episode(isolation: str, out: Path) -> None:
    agent: Any = isolated_agents.hard_exit_agent  # type: ignore[attr-defined]
    report = Replay(suite=isolated_agents.SUITE, replays=2, out=out, isolation=isolation).run(agent)
    assert report.episodes_completed == 2
    assert {episode.error and episode.error.kind for episode in episodes(out)} == {"WorkerDiedError"}


def test_an_agent_is_found_under_the_name_a_module_has_it() -> None:
    agent: Any = isolated_agents.steady_agent  # type: ignore[attr-defined]
    assert reference_of(agent) == "tests.engines.isolated_agents:steady_agent"


@pytest.mark.parametrize("elsewhere", [{"isolation": "process"}, {"engine": "ray"}])
def test_an_agent_without_a_name_is_refused_before_anything_is_written(elsewhere: dict[str, Any], out: Path) -> None:
    agent = a_scripted_agent()
    with pytest.raises(ConfigurationError, match="no imported module has it"):
        Replay(suite=agent.suite, replays=2, out=out, **elsewhere).run(agent)
    assert not out.exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"isolation": "thread"}, "isolation: found 'thread'; expected process or fresh"),
        ({"worker_memory_mb": 512}, "worker_memory_mb"),
        ({"isolation": "process", "worker_memory_mb": 1}, "worker_memory_mb"),
        ({"engine": "dask"}, "engine: found 'dask'; expected local or ray, or an Engine"),
        ({"engine": None}, "engine: found None; expected local or ray"),
        ({"engine": "ray", "isolation": "fresh"}, "isolation needs engine='local'"),
    ],
)
def test_a_wrong_choice_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Replay(suite=a_scripted_agent().suite, **options)
