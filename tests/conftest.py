"""Fixtures of every test: a place for a run, and stores that live in memory."""

from __future__ import annotations

import signal
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import settings

from dfah_cli.store.memory import MemoryStore
from dfah_cli.workflow import analyze, replay

# A loaded machine is slow, not wrong.
settings.register_profile("any-machine", deadline=None)
settings.load_profile("any-machine")


# Started in the background or by nohup, this process ignores signals, and so would every process of a test.
for _number, _handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A run directory that does not exist yet."""
    return tmp_path / "run"


@pytest.fixture
def in_memory(monkeypatch: pytest.MonkeyPatch) -> dict[str, MemoryStore]:
    """Runs are kept in memory stores, one for each path, instead of in directories."""
    stores: dict[str, MemoryStore] = defaultdict(MemoryStore)
    monkeypatch.setattr(replay, "_run_store", lambda path, shards: stores[str(path)])
    monkeypatch.setattr(analyze, "open_run", lambda path, sync=False: stores[str(path)].open_reader(sync=sync))
    return stores
