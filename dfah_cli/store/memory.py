"""A store that lives as long as its object. For tests and for runs that keep nothing.

The same records are accepted and refused as by the log, with the same digests and roots.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from types import TracebackType
from uuid import uuid4

from dfah_cli.errors import ArtifactError, DesignMismatchError, LeaseError, StaleLeaseError, StorageError
from dfah_cli.merkle import CompactRange
from dfah_cli.merkle import commitment as commitment_of
from dfah_cli.store.blobs import encode_record, is_reference, resolved
from dfah_cli.store.framing import Line, decode_body
from dfah_cli.store.plan import PlanFacts, plan_facts
from dfah_cli.store.protocol import Body, Clock, LogTail, RunReader, RunWriter
from dfah_cli.store.slots import SlotTable
from dfah_cli.store.vocabulary import check_fields, stated_time


class MemoryStore:
    """One place for one run, in memory."""

    def __init__(self) -> None:
        self.plan_bytes: bytes | None = None
        self.manifest_bytes = b""
        self.lines: list[Line] = []
        self.batches = 0
        self.blobs: dict[str, bytes] = {}
        self.files: dict[tuple[str, int], bytes] = {}
        self.sealed = False
        self.holder: MemoryWriter | None = None
        self.holder_is_gone = False

    def peek_plan(self) -> bytes | None:
        return self.plan_bytes

    def lose_writer(self) -> None:
        """The writer dies where it stands: what it committed stays, so does its lease."""
        self.holder_is_gone = True

    def open_writer(
        self,
        *,
        plan_bytes: bytes,
        manifest_bytes: bytes,
        clock: Clock,
        recover_stale_lease: bool = False,
        lease_token: str | None = None,
        concurrency: int = 1,
    ) -> RunWriter:
        self._take_lease(recover_stale_lease)
        facts = plan_facts(plan_bytes, manifest_bytes)
        if self.plan_bytes is not None and self.plan_bytes != plan_bytes:
            raise DesignMismatchError("the store is bound to another run plan; use a new one")
        self.plan_bytes, self.manifest_bytes = plan_bytes, manifest_bytes
        self.holder = MemoryWriter(self, facts)
        return self.holder

    def _take_lease(self, recover_stale_lease: bool) -> None:
        if self.holder is None:
            return
        if not self.holder_is_gone:
            raise LeaseError("another writer of this process holds the store; close it first")
        if not recover_stale_lease:
            raise StaleLeaseError("the last writer of this store is gone; recover with --recover-stale-lease")
        self.holder.lost = True
        self.holder, self.holder_is_gone = None, False

    def open_reader(self, *, sync: bool = False) -> RunReader:
        if self.plan_bytes is None:
            raise ArtifactError("no run is recorded in this store")
        return MemoryReader(self, plan_facts(self.plan_bytes, self.manifest_bytes))


class MemoryReader:
    """Reads what was committed when the pass began."""

    def __init__(self, store: MemoryStore, facts: PlanFacts) -> None:
        self.plan_bytes, self.manifest_bytes = facts.plan_bytes, facts.manifest_bytes
        self._store, self._facts = store, facts

    def records(self, faults: list[ArtifactError] | None = None) -> Iterator[tuple[str, Body]]:
        """See `LogReader.records`; beside these lines there are no files that could be wrong."""
        table = SlotTable(self._facts.episodes_planned, self._facts.manifest_hash)
        for line in list(self._store.lines):
            body = decode_body(line.raw)
            if not table.apply(check_fields(body), body, line.h):
                continue
            if is_reference(body.get("trajectory")):
                body = resolved(body, self._store.blobs.__getitem__)
            yield line.h, body

    def tail(self) -> LogTail:
        tree, last_at, close = CompactRange(), None, None
        for line in self._store.lines:
            tree.append(bytes.fromhex(line.h))
            body = decode_body(line.raw)
            last_at = stated_time(body) or last_at
            close = body if body["t"] == "close" else close
        return LogTail(
            n=tree.size,
            root=tree.root().hex(),
            batches=self._store.batches,
            segments=1 if tree.size else 0,
            length=sum(len(line.framed()) for line in self._store.lines),
            close=close,
            sealed=self._store.sealed,
            last_at=last_at,
        )

    def slots(self) -> bytearray:
        table = SlotTable(self._facts.episodes_planned, self._facts.manifest_hash)
        for h, body in self.records():
            table.apply(body["t"], body, h)
        return table.states

    def report(self, ordinal: int) -> bytes:
        return self._file("report", ordinal)

    def gate(self, ordinal: int) -> bytes:
        return self._file("gate", ordinal)

    def _file(self, kind: str, ordinal: int) -> bytes:
        payload = self._store.files.get((kind, ordinal))
        if payload is None:
            raise ArtifactError(f"no {kind} {ordinal} is recorded in this store")
        return payload


class MemoryWriter:
    """Appends to a `MemoryStore`; durable as soon as accepted."""

    def __init__(self, store: MemoryStore, facts: PlanFacts) -> None:
        self.plan_bytes, self.manifest_bytes = facts.plan_bytes, facts.manifest_bytes
        self.token = uuid4().hex
        self.lost = False
        self._store, self._facts = store, facts
        self._table = SlotTable(facts.episodes_planned, facts.manifest_hash, terminals=False)
        for line in store.lines:
            body = decode_body(line.raw)
            self._table.apply(body["t"], body, line.h)
        self.slots = self._table.states

    async def commit(self, records: Sequence[Body]) -> None:
        self.commit_now(records)

    def commit_now(self, records: Sequence[Body]) -> None:
        if self.lost or self._store.holder is not self:
            raise StorageError("this writer is closed; open a new one")
        encoded = [encode_record(body) for body in records]
        with self._table.rollback():
            for record in encoded:
                for body, line in zip(record.bodies, record.lines, strict=True):
                    self._table.apply(body["t"], body, line.h)
        for record in encoded:
            self._store.lines += record.lines
            self._store.blobs |= {blob.sha256: blob.payload for blob in record.blobs}
        self._store.batches += bool(encoded)

    def publish_report(self, payload: bytes, body: Body) -> int:
        return self._publish("report", payload, body)

    def publish_gate(self, payload: bytes, body: Body) -> int:
        return self._publish("gate", payload, body)

    def _publish(self, kind: str, payload: bytes, body: Body) -> int:
        ordinal = 1 + max((number for name, number in self._store.files if name == kind), default=0)
        stated = {**body, "t": kind, "ordinal": ordinal, "sha256": sha256(payload).hexdigest()}
        self.commit_now([stated])
        self._store.files[kind, ordinal] = payload
        return ordinal

    def next_part(self) -> bool:
        return False  # one log is the whole schedule

    def unfinished(self) -> str | None:
        return None

    def reader(self) -> RunReader:
        return MemoryReader(self._store, self._facts)

    def seal(self, *, episodes: int, episode_root: str, commitment: str) -> None:
        expected = commitment_of(episodes=episodes, episode_root=episode_root, plan_sha256=self._facts.plan_sha256)
        if commitment != expected:
            raise ArtifactError("the commitment to seal does not follow from plan, episodes and episode root")
        close = self.reader().tail().close
        if close is None:
            n = len(self._store.lines)
            self.commit_now([{"t": "close", "episodes": episodes, "episode_root": episode_root, "log_n": n}])
        elif (close["episodes"], close["episode_root"]) != (episodes, episode_root):
            raise ArtifactError("the run is closed with another episode set")
        self._store.sealed = True

    def close(self) -> None:
        if self._store.holder is self:
            self._store.holder = None

    def __enter__(self) -> MemoryWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
