"""The one writer of a run directory.

A record is acknowledged only after its batch is synced. Any failed write or sync poisons the writer for
ever: a second sync may succeed after the kernel dropped the pages. A full disk is the exception that was
prepared for: the reserve is given up so that what is in flight can still be committed, and nothing new is
dispatched.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from threading import RLock
from types import TracebackType

from attrs import frozen

from dfah_cli.errors import ArtifactError, StorageError, ValidationError
from dfah_cli.store import layout
from dfah_cli.store.appender import Appender
from dfah_cli.store.blobs import Encoded, encode_record
from dfah_cli.store.committer import Call, GroupCommitter
from dfah_cli.store.files import RunFiles
from dfah_cli.store.framing import MAX_BATCH, Line
from dfah_cli.store.host import Host
from dfah_cli.store.lease import Lease, check_same_process, release
from dfah_cli.store.plan import PlanFacts
from dfah_cli.store.protocol import Body, RunReader
from dfah_cli.store.reader import LogReader
from dfah_cli.store.safe_io import NO_SPACE, publish, replace_file, storage_errors
from dfah_cli.store.slots import SlotTable, advance

STILL_TAKEN_WHEN_FULL = frozenset({"episode", "object"})
GROUP_BYTES = MAX_BATCH - MAX_BATCH // 8
"""Of one batch; the rest is for its commit line and padding."""


@frozen(kw_only=True)
class Claim:
    """What the opening established: the directory is ours alone."""

    files: RunFiles
    facts: PlanFacts
    lease: Lease
    host: Host
    guard: int


class LogWriter:
    """See `protocol.RunWriter`."""

    def __init__(self, claim: Claim, appender: Appender, states: bytearray, concurrency: int) -> None:
        self._claim, self._appender = claim, appender
        facts = claim.facts
        self.plan_bytes, self.manifest_bytes = facts.plan_bytes, facts.manifest_bytes
        self.token = claim.lease.token
        self.slots = states
        self._ahead = self._table(states)  # what is durable and what is queued: a call is judged by this
        self._error: StorageError | None = None
        self._full: StorageError | None = None
        self._io = RLock()
        self._staging = RLock()
        self._committer = GroupCommitter(self._write, concurrency)
        self._closed = False

    def _table(self, states: bytearray) -> SlotTable:
        facts, end = self._claim.facts, self._appender.end
        table = SlotTable(facts.episodes_planned, facts.manifest_hash, terminals=False)
        table.states[:] = states
        table.committed, table.closed = states.count(3), end.close is not None
        return table

    # committing

    async def commit(self, records: Sequence[Body]) -> None:
        if records:
            await self._committer.submit(self._stage(records))

    def commit_now(self, records: Sequence[Body]) -> None:
        if records:
            self._committer.submit_now(self._stage(records))

    def _stage(self, records: Sequence[Body]) -> Call:
        """The call, judged and encoded; queued or not, its records count for those staged after it."""
        if self._error is not None:
            raise self._error
        encoded = [encode_record(body) for body in records]
        size = sum([record.size for record in encoded])
        if size > GROUP_BYTES:
            raise ValidationError("records for more than one batch of 8 MiB in one call; commit fewer at once")
        if self._full is not None and any(record.kind not in STILL_TAKEN_WHEN_FULL for record in encoded):
            raise self._full
        with self._staging, self._ahead.rollback():
            for record in encoded:
                for body, line in zip(record.bodies, record.lines, strict=True):
                    if body["t"] == "segment":
                        raise ArtifactError("segment records are the store's own")
                    self._ahead.apply(body["t"], body, line.h)
        return Call(encoded, size)

    def _write(self, calls: list[Call]) -> None:
        """Leaves every call durable, or with its error."""
        with self._io:
            if len(calls) == 1:
                self._write_group(calls)
                return
            group: list[Call] = []
            size = 0
            for call in calls:
                if size + call.size > GROUP_BYTES:
                    self._write_group(group)
                    group, size = [], 0
                group.append(call)
                size += call.size
            self._write_group(group)

    def _write_group(self, calls: list[Call]) -> None:
        try:
            if self._error is not None:
                raise self._error
            check_same_process(self._claim.lease, self._claim.host)
            self._claim.files.check_in_place()
            kept = self._admitted(calls)
            try:
                self._append(kept)
            except OSError as error:
                if self._full is not None or error.errno not in NO_SPACE:
                    raise
                self._give_up_reserve()
                kept = self._admitted(calls)
                self._append(kept)
            self._apply(kept)
        except Exception as error:  # noqa: BLE001 - whatever it is, nobody may go on writing behind it
            self._poison(error)
            for call in calls:
                call.error = call.error or self._error

    def _admitted(self, calls: list[Call]) -> list[Encoded]:
        """What may be written: everything, or on a full disk only terminal records; the others have their error."""
        if self._full is None:
            return [record for call in calls for record in call.records]
        kept = []
        for call in calls:
            for record in call.records:
                if record.kind in STILL_TAKEN_WHEN_FULL:
                    kept.append(record)
                else:
                    call.error = self._full
        return kept

    def _append(self, records: list[Encoded]) -> None:
        for record in records:
            for blob in record.blobs:
                self._claim.files.publish_object(blob.sha256, blob.payload)
        lines: list[Line] = [line for record in records for line in record.lines]
        if lines:
            self._appender.append(lines)

    def _apply(self, records: list[Encoded]) -> None:
        for record in records:
            advance(self.slots, record.kind, record.bodies[-1])
            if record.kind == "close":
                self._appender.closed(record.bodies[0])
        if self._full is not None:
            self._ahead.states[:] = self.slots

    def _give_up_reserve(self) -> None:
        files = self._claim.files
        self._full = StorageError(
            "the disk is full: what was in flight is committed, nothing more is dispatched. "
            "Make room and run the same command again."
        )
        self._appender.abandon()
        with suppress(FileNotFoundError):
            files.fs.unlink(files.root, layout.RESERVE)
            files.fs.sync_dir(files.root)

    def _poison(self, error: Exception) -> None:
        if isinstance(error, StorageError):
            self._error = self._error or error
            return
        what = error.strerror if isinstance(error, OSError) else type(error).__name__
        self._error = StorageError(
            f"writing the run directory failed ({what}): acknowledged records are safe, nothing more is written. "
            "Run the same command again when the disk is well."
        )
        self._error.__cause__ = error

    # stating and sealing

    def publish_report(self, payload: bytes, body: Body) -> int:
        return self._publish("report", layout.REPORTS, payload, body)

    def publish_gate(self, payload: bytes, body: Body) -> int:
        return self._publish("gate", layout.GATES, payload, body)

    def _publish(self, kind: str, part: str, payload: bytes, body: Body) -> int:
        """The file first: a record never announces what is not durable."""
        end, files = self._appender.end, self._claim.files
        with self._io:
            taken = [int(name[:-5]) for name in files.names_in(part) if name[:-5].isdigit()]
            ordinal = max([end.ordinals[kind], *taken]) + 1
            digest = layout.sha256_hex(payload)
            call = self._stage([{**body, "t": kind, "ordinal": ordinal, "sha256": digest}])
            try:
                publish(files.fs, files.made(part), layout.statement_name(ordinal), payload)
            except OSError as error:
                self._poison(error)
                assert self._error is not None
                raise self._error from error
            self._committer.submit_now(call)
            end.ordinals[kind] = ordinal
            end.digests[f"{part}/{layout.statement_name(ordinal)}"] = digest
        return ordinal

    def next_part(self) -> bool:
        return False  # one log is the whole schedule

    def unfinished(self) -> str | None:
        return None

    def reader(self) -> RunReader:
        files = self._claim.files
        return LogReader(RunFiles(files.fs, files.fs.open_dir(files.root, ".")), self._claim.host.boot_id())

    def seal(self, *, episodes: int, episode_root: str, commitment: str) -> None:
        end = self._appender.end
        if end.close is None:
            head = layout.Head(seg=0, len=0, n=0, root="")
            self._check_seal(episodes, episode_root, commitment, head)
            n = end.tree.size
            self.commit_now([{"t": "close", "episodes": episodes, "episode_root": episode_root, "log_n": n}])
        close, closed_at = end.close, end.closed_at
        assert close is not None
        assert closed_at is not None
        if (close["episodes"], close["episode_root"]) != (episodes, episode_root):
            raise ArtifactError("the run is closed with another episode set")
        seal = self._check_seal(episodes, episode_root, commitment, closed_at)
        if end.sealed:
            return
        files = self._claim.files
        with self._io, storage_errors("sealing the run"):
            self._appender.write_head(closed_at, durable=True)
            files.fs.sync_dir(files.root)
            publish(files.fs, files.root, layout.SEAL, seal.render())
            end.sealed = True
            end.digests[layout.SEAL] = layout.sha256_hex(seal.render())
            self._write_sums()

    def _check_seal(self, episodes: int, root: str, commitment: str, head: layout.Head) -> layout.Seal:
        plan = self._claim.facts.plan_sha256
        seal = layout.Seal(plan_sha256=plan, episodes=episodes, episode_root=root, head=head)
        if seal.commitment != commitment:
            raise ArtifactError("the commitment to seal does not follow from plan, episodes and episode root")
        return seal

    def _write_sums(self) -> None:
        files = self._claim.files
        sums = layout.render_sums(self._appender.end.digests)
        if files.read(layout.SUMS) != sums:
            replace_file(files.fs, files.root, layout.SUMS, sums)

    # ending

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._committer.close()
        files, claim = self._claim.files, self._claim
        with self._io:
            try:
                if self._error is None:
                    with storage_errors("closing the run directory"):
                        self._appender.finish()
                        if self._appender.end.sealed:
                            self._write_sums()
            finally:
                self._error = self._error or StorageError("this writer is closed; open a new one")
                with suppress(OSError):
                    files.fs.unlink(files.root, layout.RESERVE)
                with suppress(OSError):
                    release(files, claim.lease)
                self._appender.close()
                with suppress(OSError):
                    files.fs.close(claim.guard)
                files.close()

    def __enter__(self) -> LogWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
