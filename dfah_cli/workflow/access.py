"""What keeps this user from writing to a run directory, told before it is tried."""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path

from attrs import frozen

from dfah_cli.store import layout

LEAST_ROOM = 1 << 20  # bytes; a first batch, what is stated and the reserve of one writer


@frozen(kw_only=True)
class Seen:
    """What the system says of a run directory. mode: the widest of its parts. free: bytes for this user."""

    mine: bool
    mode: int
    writable: bool
    read_only: bool
    free: int


@frozen
class Hindrance:
    """What is, and what to do before anything else. elsewhere: the run cannot be written to where it is."""

    what: str
    remedy: str
    elsewhere: bool = False


def look(run: Path) -> Seen:
    """The directory, and the parts that a writer opens."""
    parts = [run, *run.iterdir(), *(run / layout.SEGMENTS).glob("*")]
    found = [part.lstat() for part in parts]
    disk = os.statvfs(run)
    return Seen(
        mine=all(one.st_uid == os.geteuid() for one in found),
        mode=max((stat.S_IMODE(one.st_mode) for one in found), key=lambda mode: mode & 0o077),
        writable=all(os.access(part, os.W_OK) for part in parts),
        read_only=bool(disk.f_flag & os.ST_RDONLY),
        free=disk.f_bavail * disk.f_frsize,
    )


def hindrance(seen: Seen, run: Path) -> Hindrance | None:
    """The first of them; None when there is none. Pure."""
    # Where the user is, because beside the run nothing can be written either.
    name, copy = shlex.quote(str(run)), shlex.quote(f"{run.name}-copy")
    # Not `dfah copy`: it refuses what a writer has left a lease in.
    elsewhere = f"go on in a copy: cp -r {name} {copy} && chmod -R u+w,go= {copy} && dfah doctor {copy}"
    if seen.read_only:
        return Hindrance("is on a read-only file system", elsewhere, elsewhere=True)
    if not seen.mine:
        return Hindrance("belongs to another user, at least in part", elsewhere, elsewhere=True)
    if seen.mode & 0o077:
        return Hindrance(f"may be accessed by others (mode {seen.mode:o})", f"make it private: chmod -R go= {name}")
    if not seen.writable:
        return Hindrance("may not be written to", f"allow it: chmod -R u+w {name}")
    if seen.free < LEAST_ROOM:
        return Hindrance(f"has {seen.free // 1024} KiB of room left on its disk", "free some space on that disk")
    return None
