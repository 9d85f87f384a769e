"""A run of several logs in an object storage: several runners on one schedule, one writer a log.

Slot i of the schedule belongs to log i mod S; the schedule is shuffled, so every log has its share of every case. A
runner takes one log after the other that nobody holds and that is not done. Whoever finds all of them done writes the
run's own log, number S: the same records in the order of the schedule, then what is said about them. From its seal on
that log alone is the run, and how many runners there were can no longer be seen in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import NoReturn

from attrs import frozen

from dfah_cli.errors import ArtifactError, LeaseError, StaleLeaseError, StorageError
from dfah_cli.merkle import EMPTY_ROOT
from dfah_cli.store import layout
from dfah_cli.store.bucket import Bucket
from dfah_cli.store.files import RunFiles
from dfah_cli.store.host import Host
from dfah_cli.store.merging import merge
from dfah_cli.store.object_store import ObjectStore, bind, log_folder
from dfah_cli.store.plan import PlanFacts, plan_facts
from dfah_cli.store.protocol import Body, Clock, LogTail, RunReader, RunWriter, SlotState
from dfah_cli.store.slot_log import SlotLog
from dfah_cli.store.writer import LogWriter


@frozen(kw_only=True)
class Opening:
    """What every log of the run is opened with."""

    facts: PlanFacts
    clock: Clock
    recover: bool
    token: str | None
    concurrency: int

    def open(self, store: ObjectStore) -> LogWriter:
        """Raises: LeaseError, StaleLeaseError when somebody has the log."""
        writer = store.open_writer(
            plan_bytes=self.facts.plan_bytes,
            manifest_bytes=self.facts.manifest_bytes,
            clock=self.clock,
            recover_stale_lease=self.recover,
            lease_token=self.token,
            concurrency=self.concurrency,
        )
        assert isinstance(writer, LogWriter)
        return writer


class ShardedStore:
    """One run below a prefix, with a fixed number of logs."""

    def __init__(self, bucket: Bucket, shards: int, *, host: Host | None = None) -> None:
        self._bucket, self.shards, self.host = bucket, shards, host or Host()
        self.path = bucket.where

    @property
    def bucket(self) -> Bucket:
        return self._bucket

    def whole(self) -> ObjectStore:
        """The run's own log."""
        return ObjectStore(self._bucket, host=self.host, log=self.shards, logs=self.shards)

    def part(self, shard: int) -> ObjectStore:
        """One of the logs that runners write."""
        return ObjectStore(self._bucket, host=self.host, log=shard, logs=self.shards)

    def open_files(self) -> RunFiles:
        """The files of the run, for reading; its segments are those of its own log."""
        return self.whole().open_files()

    def peek_plan(self) -> bytes | None:
        return self.whole().peek_plan()

    def open_reader(self, *, sync: bool = False) -> RunReader:
        if self._bucket.size(layout.SEAL) is not None:
            return self.whole().open_reader()
        self.whole().open_reader()  # refuses what is no run
        return PartsReader([self.part(shard).open_reader() for shard in range(self.shards)])

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
        facts = plan_facts(plan_bytes, manifest_bytes)
        bind(self._bucket, facts, self.shards, self.host)
        opening = Opening(
            facts=facts, clock=clock, recover=recover_stale_lease, token=lease_token, concurrency=concurrency
        )
        writer = ShardedWriter(self, opening)
        sealed = self._bucket.size(layout.SEAL) is not None
        took = writer.state_run() if sealed else writer.next_part()
        if not took and writer.unfinished() is not None:
            raise writer.refusal()
        return writer

    def log(self, shard: int) -> SlotLog:
        """The slots of one log, for looking."""
        return SlotLog(self._bucket, log_folder(shard))


class ShardedWriter:
    """Writes one log at a time; see `protocol.RunWriter`."""

    def __init__(self, store: ShardedStore, opening: Opening) -> None:
        self._store, self._opening = store, opening
        self.plan_bytes, self.manifest_bytes = opening.facts.plan_bytes, opening.facts.manifest_bytes
        self._inner: LogWriter | None = None
        self._shard: int | None = None
        self._store_in_use = store.whole()
        self._whole = False
        self._waiting: dict[int, LeaseError] = {}
        self._done: set[int] = set()
        self._fresh = list(range(store.shards))
        self._token = store.host.new_token()
        self.token, self.slots = "", bytearray()

    # parts

    def next_part(self) -> bool:
        self._leave()
        for _ in range(2):
            while self._fresh:
                # Runners that start together begin at different logs.
                shard = self._fresh.pop(int(self._token, 16) % len(self._fresh))
                if self._take(shard):
                    return True
            # A second look, after the release of the own one: the last of several runners finds all of them done.
            self._fresh = sorted(self._waiting)
        self._fresh = []
        if len(self._done) == self._store.shards and not self._whole:
            self.state_run()
        return False

    def _take(self, shard: int) -> bool:
        self._waiting.pop(shard, None)
        tip = self._store.log(shard).tip()
        if tip is not None and tip.done:
            self._done.add(shard)
            return False
        store = self._store.part(shard)
        try:
            inner = self._opening.open(store)
        except LeaseError as held:
            self._waiting[shard] = held
            return False
        self._store_in_use = store
        self._use(inner, shard)
        return True

    def state_run(self) -> bool:
        """Takes the run's own log, unless somebody has it; what it lacks is merged when it is sealed."""
        self._whole = True
        try:
            self._use(self._opening.open(self._store.whole()), None)
        except LeaseError as held:
            self._whole = False
            self._waiting[self._store.shards] = held
            return False
        self.slots = bytearray([SlotState.COMMITTED]) * len(self.slots)
        return True

    def _use(self, inner: LogWriter, shard: int | None) -> None:
        self._inner, self._shard = inner, shard
        self.token, self.slots = inner.token, inner.slots

    def _leave(self) -> None:
        inner, shard = self._inner, self._shard
        if inner is None or shard is None:
            return
        done = all(state >= SlotState.COMMITTED for state in inner.slots)
        if done:
            self._store_in_use.say_done()
            self._done.add(shard)
        inner.close()
        self._inner = self._shard = None

    def unfinished(self) -> str | None:
        if self._whole:
            return None
        if not self._waiting:
            left = self._store.shards - len(self._done)
            return f"{left} of {self._store.shards} parts of the schedule are not finished"
        told = "; ".join(f"{self._named(shard)}: {why}" for shard, why in sorted(self._waiting.items()))
        return f"others hold {len(self._waiting)} of {self._store.shards} parts of the schedule. {told}"

    def _named(self, shard: int) -> str:
        return "the statement of the run" if shard == self._store.shards else f"part {shard}"

    def refusal(self) -> LeaseError:
        """Why no part could be taken up."""
        stale = [why for why in self._waiting.values() if isinstance(why, StaleLeaseError)]
        kind = StaleLeaseError if stale else LeaseError
        return kind(f"{self._store.path}: {self.unfinished()}")

    # records

    def _writing(self) -> LogWriter:
        if self._inner is None:
            raise StorageError("no part of the schedule is taken; open a new writer")
        return self._inner

    async def commit(self, records: Sequence[Body]) -> None:
        await self._writing().commit(records)

    def commit_now(self, records: Sequence[Body]) -> None:
        self._writing().commit_now(records)

    def publish_report(self, payload: bytes, body: Body) -> int:
        return self._stating().publish_report(payload, body)

    def publish_gate(self, payload: bytes, body: Body) -> int:
        return self._stating().publish_gate(payload, body)

    def _stating(self) -> LogWriter:
        if not self._whole:
            raise StorageError(f"{self._store.path}: {self.unfinished()}; nothing is stated before they are")
        return self._writing()

    def reader(self) -> RunReader:
        return self._store.open_reader()

    def seal(self, *, episodes: int, episode_root: str, commitment: str) -> None:
        own = self._stating()
        if self._store.bucket.size(layout.SEAL) is None:
            merge(self._store.open_reader(), own)
        own.seal(episodes=episodes, episode_root=episode_root, commitment=commitment)

    def close(self) -> None:
        self._leave()
        if self._inner is not None:
            self._inner.close()

    def __enter__(self) -> ShardedWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class PartsReader:
    """A run whose logs are still being written, one log after the other."""

    def __init__(self, parts: Sequence[RunReader]) -> None:
        self._parts = parts
        self.plan_bytes, self.manifest_bytes = parts[0].plan_bytes, parts[0].manifest_bytes
        self.compared: dict[str, int] = {}

    def records(self, faults: list[ArtifactError] | None = None) -> Iterator[tuple[str, Body]]:
        for part in self._parts:
            yield from part.records()

    def tail(self) -> LogTail:
        """Sums over the logs; the root is that of none, since there is no one log yet."""
        tails = [part.tail() for part in self._parts]
        times = [tail.last_at for tail in tails if tail.last_at is not None]
        return LogTail(
            n=sum(tail.n for tail in tails),
            root=EMPTY_ROOT.hex(),
            batches=sum(tail.batches for tail in tails),
            segments=sum(tail.segments for tail in tails),
            length=sum(tail.length for tail in tails),
            verified=all(tail.verified for tail in tails),
            last_at=max(times, default=None),
        )

    def slots(self) -> bytearray:
        found = [part.slots() for part in self._parts]
        return bytearray(map(max, *found)) if len(found) > 1 else found[0]

    def report(self, ordinal: int) -> bytes:
        self._none("report")

    def gate(self, ordinal: int) -> bytes:
        self._none("gate record")

    def _none(self, kind: str) -> NoReturn:
        raise ArtifactError(f"no {kind} is announced: a run of several logs is stated when all of them are done.")
