"""The store on object storage keeps the contract, on a storage in memory that keeps conditional writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from dfah_cli.store.protocol import RunStore, RunWriter
from tests.contract.store_contract import StoreContract
from tests.store.test_log import ScriptedHost

pytest.importorskip("obstore", reason="no obstore; run: python -m pip install 'dfah-cli[s3]'")

from obstore.store import MemoryStore

from dfah_cli.merkle import CompactRange
from dfah_cli.store.bucket import Bucket
from dfah_cli.store.framing import CommitMark, batch_bytes, frame
from dfah_cli.store.object_store import ObjectStore
from dfah_cli.store.scan import SegmentScan


def test_what_a_live_writer_adds_while_the_end_is_judged_is_no_torn_batch() -> None:
    tree, written, looked = CompactRange(), b"", False
    for number in range(3):
        line = frame({"t": "note", "kind": f"n{number}", "text_sha256": "00" * 32})
        tree.append(bytes.fromhex(line.h))
        mark = CommitMark(number, tree.size, len(written), tree.root().hex())
        written += batch_bytes([line.framed()], mark)

    def read(size: int, offset: int) -> bytes:
        nonlocal looked
        one = len(written) // 3
        if not looked and offset >= one:
            looked = True
            return b""
        return written[offset : one if not looked else len(written)][:size]

    scan = SegmentScan(read, b=0, tree=CompactRange())
    assert sum(1 for _ in scan) == 1
    assert scan.rest(1 << 20) == b""
    scan.again()
    assert sum(1 for _ in scan) == 2


def a_bucket() -> Bucket:
    return Bucket(MemoryStore(), "runs/one", "s3://bucket/runs/one", pause_s=0.0)


class TestObjectStore(StoreContract):
    def make_store(self, tmp_path: Path) -> RunStore:
        self.host = ScriptedHost()
        return ObjectStore(a_bucket(), host=self.host)

    def lose_writer(self, store: RunStore, writer: RunWriter) -> None:
        self.host.die()
