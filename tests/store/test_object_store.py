"""The store on object storage keeps the contract, on a storage in memory that keeps conditional writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from dfah_cli.store.protocol import RunStore, RunWriter
from tests.contract.store_contract import StoreContract
from tests.store.test_log import ScriptedHost

pytest.importorskip("obstore", reason='python -m pip install "dfah-cli[s3]"')

from obstore.store import MemoryStore

from dfah_cli.store.bucket import Bucket
from dfah_cli.store.object_store import ObjectStore


def a_bucket() -> Bucket:
    return Bucket(MemoryStore(), "runs/one", "s3://bucket/runs/one", pause_s=0.0)


class TestObjectStore(StoreContract):
    def make_store(self, tmp_path: Path) -> RunStore:
        self.host = ScriptedHost()
        return ObjectStore(a_bucket(), host=self.host)

    def lose_writer(self, store: RunStore, writer: RunWriter) -> None:
        self.host.die()
