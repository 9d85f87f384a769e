"""The in-memory store keeps the contract."""

from __future__ import annotations

from pathlib import Path

from dfah_cli.store.memory import MemoryStore
from dfah_cli.store.protocol import RunStore, RunWriter
from tests.contract.store_contract import StoreContract


class TestMemoryStore(StoreContract):
    def make_store(self, tmp_path: Path) -> RunStore:
        return MemoryStore()

    def lose_writer(self, store: RunStore, writer: RunWriter) -> None:
        assert isinstance(store, MemoryStore)
        store.lose_writer()
