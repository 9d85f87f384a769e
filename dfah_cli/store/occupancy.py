"""Whether somebody writes a run directory, told without taking its lock: a reader must never be in a writer's way."""

from __future__ import annotations

from enum import StrEnum

from attrs import frozen

from dfah_cli.store import layout
from dfah_cli.store.files import RunFiles
from dfah_cli.store.filesystem import FileSystem
from dfah_cli.store.host import Host
from dfah_cli.store.lease import Lease, age, parse_lease
from dfah_cli.store.safe_io import PosixFiles, storage_errors


class Occupancy(StrEnum):
    """Who holds a run directory. UNKNOWN: a writer on another machine or in another container, alive or not."""

    FREE = "free"
    WRITING = "writing"
    STALE = "stale"
    UNKNOWN = "unknown"
    UNREADABLE = "unreadable"


@frozen(kw_only=True)
class Holding:
    """The lease of a run directory as it is now. lease: None when there is none, or none that can be read."""

    occupancy: Occupancy
    lease: Lease | None = None

    def told(self, now: str) -> str:
        """Who it is: process, host, since when; empty when nobody."""
        if self.lease is None:
            return ""
        return f"pid {self.lease.pid} on {self.lease.hostname}, since {self.lease.at} ({age(self.lease.at, now)})"


def holding(path: str, *, host: Host | None = None, fs: FileSystem | None = None) -> Holding:
    """Who holds the directory. Raises: StorageError when it cannot be read."""
    fs, host = fs or PosixFiles(private=False), host or Host()
    with storage_errors(f"reading {path}"):
        files = RunFiles(fs, fs.open_root(path, create=False))
        try:
            return holding_in(files, host)
        finally:
            files.close()


def holding_in(files: RunFiles, host: Host) -> Holding:
    """The same from the files of a run, which are left open."""
    payload = files.read(layout.LEASE)
    if payload is None:
        return Holding(occupancy=Occupancy.FREE)
    lease = parse_lease(payload)
    if lease is None:
        return Holding(occupancy=Occupancy.UNREADABLE)
    return Holding(occupancy=_judge(lease, host), lease=lease)


def _judge(lease: Lease, host: Host) -> Occupancy:
    if lease.boot_id and lease.boot_id == host.boot_id():
        if lease.pid_ns != host.pid_namespace():
            return Occupancy.UNKNOWN
        return Occupancy.WRITING if host.start_ticks(lease.pid) == lease.start_ticks else Occupancy.STALE
    mine = host.machine()
    same = lease.machine == mine if lease.machine or mine else lease.hostname == host.hostname()
    return Occupancy.STALE if same else Occupancy.UNKNOWN
