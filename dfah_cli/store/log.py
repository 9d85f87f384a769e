"""Opens run directories: the store that survives. See docs/store-format.md for every byte of it.

Opening order: refuse what is not ours; lock; plan compared; lease; plan and manifest published; what an
earlier writer left made durable before it is read; the whole log checked; a torn batch salvaged into a new
segment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import shake_128
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from dfah_cli.errors import ArtifactError, ConfigurationError, DesignMismatchError, DFAHError
from dfah_cli.store import layout
from dfah_cli.store.appender import Appender, Writing
from dfah_cli.store.files import RunFiles
from dfah_cli.store.filesystem import FileSystem
from dfah_cli.store.framing import Line
from dfah_cli.store.host import Host
from dfah_cli.store.lease import Lease, my_lease, release, take_lease, take_lock
from dfah_cli.store.plan import PlanFacts, plan_facts
from dfah_cli.store.protocol import Clock, RunReader, RunWriter
from dfah_cli.store.reader import LogReader
from dfah_cli.store.safe_io import PosixFiles, absolute, publish, read_file, storage_errors
from dfah_cli.store.salvage import salvage
from dfah_cli.store.walk import LogWalk

# A run is read without what writes one, which brings asyncio.
if TYPE_CHECKING:
    from dfah_cli.store.writer import Claim, LogWriter


@frozen(kw_only=True)
class Recovery:
    """What the caller said about a stale lease."""

    recover: bool = False
    token: str | None = None


class LogStore:
    """One run directory."""

    reserve_base = 256 * 1024
    reserve_per_caller = 16 * 1024

    def __init__(
        self,
        path: str | Path,
        *,
        allow_network_files: bool = False,
        fs: FileSystem | None = None,
        host: Host | None = None,
    ) -> None:
        """fs, host: other than the real ones, for tests. The path is made absolute here."""
        self.path = absolute(path)
        self._allow_network_files = allow_network_files
        self._fs = fs or PosixFiles()
        # Copies lose owners and modes, and reading gives nothing away.
        self._reading = fs or PosixFiles(private=False)
        self._host = host or Host()

    def peek_plan(self) -> bytes | None:
        with storage_errors(f"reading {self.path}"):
            try:
                root = self._reading.open_root(self.path, create=False)
            except FileNotFoundError:
                return None
            try:
                return read_file(self._reading, root, layout.PLAN)
            finally:
                self._reading.close(root)

    def open_files(self) -> RunFiles:
        """The files of the run as they lie here, for reading. Raises: ArtifactError when there is no such place."""
        with storage_errors(f"reading {self.path}"):
            try:
                return RunFiles(self._reading, self._reading.open_root(self.path, create=False))
            except FileNotFoundError:
                raise ArtifactError(f"{self.path} does not exist. Give the directory of a run.") from None

    def open_reader(self, *, sync: bool = False) -> RunReader:
        reader = LogReader(files := self.open_files(), self._host.boot_id())
        if sync:
            with suppress(OSError):  # read-only media: nothing there can be lost by a crash of ours
                files.sync_read()
        return reader

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
        recovery = Recovery(recover=recover_stale_lease, token=lease_token)
        with storage_errors(f"opening {self.path}"), self._locked(clock) as (files, guard):
            self._check_plan(files, facts)
            mine = self._lease(files, facts, recovery, clock)
            with released_when_refused(files, mine):
                claim = self._claim(files, guard, facts, mine)
                return self._continue(claim, clock, concurrency)

    # opening, step by step

    @contextmanager
    def _locked(self, clock: Clock) -> Iterator[tuple[RunFiles, int]]:
        """Root and lock; both are given back when the opening fails."""
        fs = self._fs
        root = fs.open_root(self.path, create=True)
        files = RunFiles(fs, root, self.path)
        try:
            names = fs.names(root)
            if names and not layout.is_run(names):
                raise ConfigurationError(
                    f"{self.path} is not empty and not a run directory. Give a new directory; nothing was written."
                )
            if not self._allow_network_files and fs.is_network(root):
                raise ConfigurationError(
                    f"{self.path} lies on a network file system, where a lock can be lost unnoticed. "
                    "Use a local one, or allow network files explicitly."
                )
            guard = take_lock(files, clock())
        except BaseException:
            files.close()
            raise
        try:
            yield files, guard
        except BaseException:
            fs.close(guard)
            files.close()
            raise

    def _check_plan(self, files: RunFiles, facts: PlanFacts) -> None:
        recorded = files.read(layout.PLAN)
        if recorded is not None and recorded != facts.plan_bytes:
            raise DesignMismatchError(
                f"{self.path} is bound to another run plan. Use a new directory, or the design it was made for."
            )

    def _lease(self, files: RunFiles, facts: PlanFacts, recovery: Recovery, clock: Clock) -> Lease:
        files.fs.sync_dir(files.root)  # the guard's name must outlive everything that is made under it
        mine = my_lease(self._host, facts.manifest_hash, clock())
        take_lease(files, mine, self._host, recover=recovery.recover, token=recovery.token)
        return mine

    def _claim(self, files: RunFiles, guard: int, facts: PlanFacts, mine: Lease) -> Claim:
        from dfah_cli.store.writer import Claim

        files.remove_temporaries()
        for name in layout.DIRECTORIES:
            files.made(name)
        files.fs.sync_dir(files.root)
        # The plan last: a directory with a plan has a manifest.
        for name, payload in ((layout.MANIFEST, facts.manifest_bytes), (layout.PLAN, facts.plan_bytes)):
            recorded = files.read(name)
            if recorded is None:
                publish(files.fs, files.root, name, payload)
            elif recorded != payload:
                raise ArtifactError(f"{name} is not the one of this run plan. {layout.ADVICE}")
        return Claim(files=files, facts=facts, lease=mine, host=self._host, guard=guard)

    def _continue(self, claim: Claim, clock: Clock, concurrency: int) -> LogWriter:
        from dfah_cli.store.writer import LogWriter

        files, facts, boot_id = claim.files, claim.facts, self._host.boot_id()
        # Before anything read is relied on: it may be in the page cache only.
        files.sync_read()
        walk = LogWalk(files, facts, boot_id)
        for _ in walk.records():
            pass
        if walk.end.close is None:
            self._reserve(claim, concurrency)
        writing = Writing(run=facts.plan_sha256, token=claim.lease.token, boot_id=boot_id, clock=clock)
        appender = Appender(files, walk.end, writing)
        files.fs.sync_dir(files.root)
        if walk.end.whole:
            lines = self._salvaged(walk)
            appender.begin_segment(lines, salvaged=len(lines))
        return LogWriter(claim, appender, self._own(walk.table.states), concurrency)

    def _own(self, states: bytearray) -> bytearray:
        """The slots as this writer may work on them."""
        return states

    def _salvaged(self, walk: LogWalk) -> Sequence[Line]:
        try:
            return salvage(walk.end.whole, walk.table)
        except ArtifactError as error:
            raise ArtifactError(f"the torn end of the log: {error}. {layout.ADVICE}") from error

    def _reserve(self, claim: Claim, concurrency: int) -> None:
        """Real bytes, incompressible, so that giving them up gives room."""
        size = self.reserve_base + self.reserve_per_caller * concurrency
        files = claim.files
        with suppress(FileNotFoundError):
            files.fs.unlink(files.root, layout.RESERVE)
        file = files.fs.create(files.root, layout.RESERVE)
        try:
            files.fs.append(file, shake_128(claim.lease.token.encode()).digest(size))
            files.fs.sync(file)
        finally:
            files.fs.close(file)


@contextmanager
def released_when_refused(files: RunFiles, mine: Lease) -> Iterator[None]:
    """A directory that is refused, or cannot be opened, is left without a lease: nobody writes it, nobody is gone."""
    try:
        yield
    except (DFAHError, OSError):
        with suppress(OSError):
            release(files, mine)
        raise


def peek_plan(path: str | Path) -> bytes | None:
    """The recorded plan of a run directory; None when there is none (or no directory)."""
    return LogStore(path).peek_plan()


def open_reader(path: str | Path, *, sync: bool = False) -> RunReader:
    """A reader of a run directory. Raises: ArtifactError when it is none."""
    return LogStore(path).open_reader(sync=sync)


def open_writer(
    path: str | Path,
    *,
    plan_bytes: bytes,
    manifest_bytes: bytes,
    clock: Clock,
    recover_stale_lease: bool = False,
    lease_token: str | None = None,
    concurrency: int = 1,
    allow_network_files: bool = False,
) -> RunWriter:
    """The one writer of a run directory, made when absent. Raises: see `protocol.RunStore.open_writer`."""
    return LogStore(path, allow_network_files=allow_network_files).open_writer(
        plan_bytes=plan_bytes,
        manifest_bytes=manifest_bytes,
        clock=clock,
        recover_stale_lease=recover_stale_lease,
        lease_token=lease_token,
        concurrency=concurrency,
    )
