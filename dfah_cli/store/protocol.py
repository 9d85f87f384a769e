"""What every store promises; `log` and `memory` keep it, and one contract test holds them to it.

Order rules: a record is acknowledged only when it is durable. An intent (`dispatching`) is acknowledged
before the adapter is called, a terminal record (`episode`) before the episode is reported committed. One
writer at a time; any number of readers, which take no lock and write nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from types import TracebackType
from typing import Any, Protocol

from attrs import frozen

Body = dict[str, Any]
"""One record: RFC 8785-able (ASCII keys, no floats, |int| < 2**53); field `t` names its type."""

Clock = Callable[[], str]
"""Gives the current UTC time as ISO 8601 text."""


class SlotState(IntEnum):
    """How far the log says one schedule ordinal got; it never goes back. ELSEWHERE: not this writer's to work on."""

    ABSENT = 0
    PLANNED = 1
    DISPATCHING = 2
    COMMITTED = 3
    ELSEWHERE = 4


@frozen(kw_only=True)
class LogTail:
    """Where the committed log ends.

    n: records (commit lines not counted). root: hex RFC 6962 root over them. length: committed bytes of the
    last segment. torn: bytes behind them, an unacknowledged batch. close: the body of the close record, once
    there is one. sealed: the seal is published too. verified: every line hash and root was checked, not only
    the last commit line read. last_at: the latest time a record states; None when none does.
    """

    n: int
    root: str
    batches: int
    segments: int
    length: int
    torn: int = 0
    close: Body | None = None
    sealed: bool = False
    verified: bool = True
    last_at: str | None = None


class RunReader(Protocol):
    """Reads one run; lock-free, works beside a live writer, on read-only media and on copies."""

    plan_bytes: bytes
    manifest_bytes: bytes

    def records(self) -> Iterator[tuple[str, Body]]:
        """(h, body) of every record but commits, in log order: h is the hex SHA-256 of the stored body.

        Streaming, in bounded memory; a batch is given out only after its root is checked.
        Raises: ArtifactError naming file, line and the broken claim.
        """
        ...

    def tail(self) -> LogTail:
        """Where the log ends: as checked by the last complete pass, else the last commit line, unverified."""
        ...

    def slots(self) -> bytearray:
        """One SlotState per schedule ordinal (makes a pass when none was made)."""
        ...

    def report(self, ordinal: int) -> bytes:
        """The bytes of an announced report. Raises: ArtifactError when absent or altered."""
        ...

    def gate(self, ordinal: int) -> bytes:
        """The bytes of an announced gate record. Raises: ArtifactError when absent or altered."""
        ...


class RunWriter(Protocol):
    """The one writer of a run; a context manager that releases the lease."""

    plan_bytes: bytes
    manifest_bytes: bytes
    token: str
    slots: bytearray
    """One SlotState per schedule ordinal: as found at opening, kept current after each durable commit."""

    async def commit(self, records: Sequence[Body]) -> None:
        """All of `records` are durable. Concurrent callers share one sync.

        Raises: ValidationError or ArtifactError for a record the log would refuse to read (nothing of this
        call is written); StorageError when the disk failed, and for every later call.
        """
        ...

    def commit_now(self, records: Sequence[Body]) -> None:
        """The synchronous form of `commit`: settles interrupted slots, closes."""
        ...

    def publish_report(self, payload: bytes, body: Body) -> int:
        """Makes the file durable, then announces it in the log; returns its ordinal (1, 2, …).

        body: the fields of the `report` record but `t`, `ordinal` and `sha256`, which the store fills in.
        """
        ...

    def publish_gate(self, payload: bytes, body: Body) -> int:
        """The same for a gate record."""
        ...

    def next_part(self) -> bool:
        """Takes up another part of the schedule that nobody works on, and `slots` with it; False when none is left."""
        ...

    def unfinished(self) -> str | None:
        """Why this writer cannot state the run, in words: others hold or left parts of it; None when it can."""
        ...

    def reader(self) -> RunReader:
        """A reader of what is durable now."""
        ...

    def seal(self, *, episodes: int, episode_root: str, commitment: str) -> None:
        """Writes the close record and publishes the seal; idempotent.

        Afterwards only reports, gate records, notes and sessions may follow.
        """
        ...

    def close(self) -> None:
        """Releases the lease; idempotent."""
        ...

    def __enter__(self) -> RunWriter: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class RunStore(Protocol):
    """One place that holds at most one run."""

    def peek_plan(self) -> bytes | None:
        """The bytes of the recorded plan; None when nothing is recorded here yet."""
        ...

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
        """The one writer.

        concurrency: how many callers of `commit` there will be at most; when that many wait, nobody else is
        running.
        Raises: LeaseError, StaleLeaseError, DesignMismatchError, ConfigurationError, ArtifactError,
        StorageError.
        """
        ...

    def open_reader(self, *, sync: bool = False) -> RunReader:
        """A reader. sync: make durable what is read before it is relied on (best effort on read-only media).

        Raises: ArtifactError when there is no run here.
        """
        ...
