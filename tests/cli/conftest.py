"""Recorded runs that many tests look at and none changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import AGENTS, dfah


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A working directory with the module of adapters in it."""
    (tmp_path / "adapters.py").write_text(AGENTS)
    return tmp_path


@pytest.fixture(scope="session")
def stable_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete run without any variation."""
    return _recorded(tmp_path_factory, "stable", "--agent", "dfah.demo:toy_agent")


@pytest.fixture(scope="session")
def unstable_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete run with every kind of variation."""
    return _recorded(
        tmp_path_factory, "unstable", "--agent", "dfah.demo:unstable_agent", "--replays", "5", "--concurrency", "8"
    )


@pytest.fixture(scope="session")
def partial_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with one case that could not be judged."""
    return _recorded(tmp_path_factory, "partial", "--agent", "adapters:first_case_only", code=4)


def _recorded(factory: pytest.TempPathFactory, name: str, *arguments: str, code: int = 0) -> Path:
    place = factory.mktemp(name)
    (place / "adapters.py").write_text(AGENTS)
    done = dfah("run", *arguments, "--out", "run", cwd=place)
    assert done.returncode == code, done.stderr
    return place / "run"
