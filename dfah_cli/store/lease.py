"""The one writer: a lock that dies with its process, and a lease that says whose it was.

The lock alone decides between two live writers. The lease is for the dead: a writer that died leaves it, and
the next one goes on only when its caller says that no writer is left.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from enum import Enum

import orjson
from attrs import asdict, frozen

from dfah_cli.errors import LeaseError, StaleLeaseError, StorageError
from dfah_cli.store import layout
from dfah_cli.store.files import RunFiles
from dfah_cli.store.host import Host
from dfah_cli.store.safe_io import publish


@frozen(kw_only=True)
class Lease:
    """Who writes: enough to tell, later, whether that writer can still be alive."""

    token: str
    pid: int
    start_ticks: str
    boot_id: str
    hostname: str
    machine: str
    pid_ns: str
    manifest: str
    at: str

    def render(self) -> bytes:
        return orjson.dumps(asdict(self), option=orjson.OPT_SORT_KEYS)


class Holder(Enum):
    """What became of the writer that left a lease."""

    ALIVE = "alive"
    ELSEWHERE = "elsewhere"
    DEAD = "dead"


def parse_lease(payload: bytes) -> Lease | None:
    """The lease, or None when it cannot be read."""
    try:
        lease = Lease(**orjson.loads(payload))
    except (orjson.JSONDecodeError, TypeError):
        return None
    return lease if type(lease.pid) is int and lease.pid > 0 else None


def my_lease(host: Host, manifest_hash: str, at: str) -> Lease:
    pid = host.pid()
    return Lease(
        token=host.new_token(),
        pid=pid,
        start_ticks=host.start_ticks(pid),
        boot_id=host.boot_id(),
        hostname=host.hostname(),
        machine=host.machine(),
        pid_ns=host.pid_namespace(),
        manifest=manifest_hash,
        at=at,
    )


def judge_holder(left: Lease, host: Host, *, locks: bool = True) -> Holder:
    """What became of the writer, given that its lock was free; locks: whether there is one that says so."""
    if left.boot_id and left.boot_id == host.boot_id():
        # The same kernel, whatever the host is called now. Another pid namespace: the free lock is the proof.
        if left.pid_ns != host.pid_namespace():
            return Holder.DEAD if locks else Holder.ELSEWHERE
        return Holder.ALIVE if host.start_ticks(left.pid) == left.start_ticks else Holder.DEAD
    mine = host.machine()
    same = left.machine == mine if left.machine or mine else left.hostname == host.hostname()
    return Holder.DEAD if same else Holder.ELSEWHERE


def take_lock(files: RunFiles, now: str) -> int:
    """The handle that holds the lock. Raises: LeaseError naming pid, host and age of the holder."""
    fs = files.fs
    guard = fs.open_overwrite(files.root, layout.GUARD)
    try:
        if fs.lock(guard) and fs.is_named(guard, files.root, layout.GUARD):
            return guard
    except OSError:
        fs.close(guard)
        raise
    fs.close(guard)
    held = files.read(layout.LEASE)
    raise LeaseError(f"Another writer holds {files.path}: {_who(held and parse_lease(held), now)}. Wait for it.")


def take_lease(files: RunFiles, mine: Lease, host: Host, *, recover: bool, token: str | None) -> None:
    """The lease is mine and durable; a stale one is archived for review.

    Raises: LeaseError, StaleLeaseError.
    """
    payload = files.read(layout.LEASE)
    if payload is not None:
        left = parse_lease(payload)
        try:
            check_stale(left, host, mine.at, recover=recover, token=token)
        except LeaseError as refused:
            raise type(refused)(f"{files.path}: {refused}") from None
        _archive(files, left, mine)
    publish(files.fs, files.root, layout.LEASE, mine.render())


def check_stale(
    left: Lease | None, host: Host, now: str, *, recover: bool, token: str | None, locks: bool = True
) -> None:
    """Nothing, when the caller may go on after the writer that left this lease (None: unreadable).

    Raises: LeaseError, StaleLeaseError.
    """
    holder = Holder.DEAD if left is None else judge_holder(left, host, locks=locks)
    who = _who(left, now)
    if holder is Holder.ALIVE:
        raise LeaseError(f"Another writer holds the run directory: {who}. It is alive; wait for it or stop it.")
    if holder is Holder.ELSEWHERE and left is not None and not (recover and token == left.token):
        raise StaleLeaseError(
            f"A writer on another machine left its lease: {who}. When it is certainly stopped, "
            f"repeat with --recover-stale-lease --lease-token {left.token}"
        )
    if not recover:
        raise StaleLeaseError(
            f"The writer that left its lease is gone: {who}. When no runner is active on this directory, "
            "repeat with --recover-stale-lease (recover_stale_lease=True)"
        )


def _archive(files: RunFiles, left: Lease | None, mine: Lease) -> None:
    leases = files.made(layout.LEASES)
    name = f"corrupt-{mine.token}.bin" if left is None else f"{_stamp(left.at)}-{left.token}.json"
    with suppress(FileExistsError):  # archived by a recovery that died before it removed the lease
        files.fs.link(files.root, layout.LEASE, leases, name)
    files.fs.sync_dir(leases)
    files.fs.sync_dir(files.root)
    files.fs.unlink(files.root, layout.LEASE)


def release(files: RunFiles, mine: Lease) -> None:
    """Removes the lease when it still is mine."""
    if files.read(layout.LEASE) == mine.render():
        files.fs.unlink(files.root, layout.LEASE)
        files.fs.sync_dir(files.root)


def check_same_process(mine: Lease, host: Host) -> None:
    """Raises: StorageError in a forked child, which shares the lock but must not write."""
    if host.pid() != mine.pid:
        raise StorageError("a forked child tried to write to the run of its parent; start it by exec instead")


def _stamp(at: str) -> str:
    return "".join(char for char in at if char.isalnum())[:32]


def _who(lease: Lease | bytes | None, now: str) -> str:
    if not isinstance(lease, Lease):
        return "its lease cannot be read"
    return f"pid {lease.pid} on host {lease.hostname}, since {lease.at} ({age(lease.at, now)})"


def age(at: str, now: str) -> str:
    """How long ago, in words."""
    try:
        seconds = int((_time(now) - _time(at)).total_seconds())
    except (ValueError, TypeError):
        return "age unknown"
    hours, rest = divmod(max(0, seconds), 3600)
    return f"{hours} h {rest // 60} min {rest % 60} s ago"


def _time(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
