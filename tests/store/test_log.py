"""The local log keeps the contract."""

from __future__ import annotations

from pathlib import Path

from dfah_cli.store.host import Host
from dfah_cli.store.log import LogStore
from dfah_cli.store.protocol import RunStore, RunWriter
from tests.contract.store_contract import StoreContract


class ScriptedHost(Host):
    """A process that can die: the next one has another pid, and the dead one is not found."""

    def __init__(self) -> None:
        self.current = 100

    def die(self) -> None:
        self.current += 1

    def pid(self) -> int:
        return self.current

    def start_ticks(self, pid: int) -> str:
        return "7" if pid == self.current else ""


class TestLogStore(StoreContract):
    def make_store(self, tmp_path: Path) -> RunStore:
        self.host = ScriptedHost()
        return LogStore(tmp_path / "run", host=self.host)

    def lose_writer(self, store: RunStore, writer: RunWriter) -> None:
        claim = writer._claim  # type: ignore[attr-defined]
        claim.files.fs.close(claim.guard)
        self.host.die()
