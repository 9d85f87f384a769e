"""A run in an object storage behind the seam of the file system, so that the log above it is one and the same.

What appears by `publish` is one conditional create. A synced append to a segment is the next slot of the log. The
lease is the claim in the log itself: to link `lease.json` is to win a slot, to unlink it is to release. Temporary
files and the lock have no counterpart here and cost no request.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import orjson
from attrs import define

from dfah_cli.errors import LeaseError, ValidationError
from dfah_cli.store import layout
from dfah_cli.store.bucket import Bucket
from dfah_cli.store.object_segments import AHEAD, PackedSegment, Payload, SlottedSegment
from dfah_cli.store.slot_log import SlotLog

STATEMENTS = (layout.REPORTS, layout.GATES)
NOT_HERE = (layout.RESERVE, layout.GUARD)
OF_THE_RUN = (layout.HEAD, layout.SEAL, layout.SUMS)


@define
class _Directory:
    path: str


@define
class _Tail:
    """The open end of the last segment. pending: appended, not yet in a slot."""

    seg: int
    length: int
    pending: bytes = b""


class ObjectFiles:
    """See `filesystem.FileSystem`. One log and the files around it; a part has only its log."""

    def __init__(self, bucket: Bucket, log: SlotLog, *, part: bool = False) -> None:
        """part: one of several logs of a run, which has no packed segments and no head of its own."""
        self.bucket, self.log, self._part = bucket, log, part
        self._handles: dict[int, Any] = {}
        self._numbers = count(1)
        self._unborn: dict[str, Payload] = {}
        self._packed: int | None = None
        self._pool: ThreadPoolExecutor | None = None

    # handles

    def open_root(self, path: str, *, create: bool) -> int:
        return self._handle(_Directory(""))

    def open_dir(self, parent: int, name: str) -> int:
        return self._handle(_Directory(self._path(parent, "" if name == "." else name)))

    def make_dir(self, parent: int, name: str) -> None:
        return

    def close(self, handle: int) -> None:
        self._handles.pop(handle, None)
        if not self._handles and self._pool is not None:
            self._pool.shutdown(wait=False)
            self._pool = None

    def create(self, directory: int, name: str) -> int:
        unborn = self._unborn[self._path(directory, name)] = Payload()
        return self._handle(unborn)

    def open_append(self, directory: int, name: str) -> int:
        tip = self.log.tip()
        assert tip is not None
        return self._handle(_Tail(tip.seg, tip.end))

    def open_overwrite(self, directory: int, name: str) -> int:
        return self._handle(Payload())  # `head`, which follows from the slots here

    def open_read(self, directory: int, name: str) -> int:
        path = self._path(directory, name)
        if path.startswith(layout.SEGMENTS + "/") and layout.is_segment(name):
            return self._handle(self._segment(path, int(name[:8])))
        payload = self._lease() if path == layout.LEASE else self._object(path)
        if payload is None:
            raise FileNotFoundError(path)
        return self._handle(Payload(payload))

    def _segment(self, path: str, number: int) -> PackedSegment | SlottedSegment:
        if number < self.packed():
            size = self.bucket.size(path)
            if size is None:
                raise FileNotFoundError(path)
            return PackedSegment(self.bucket, path, size)
        self._pool = self._pool or ThreadPoolExecutor(AHEAD, thread_name_prefix="dfah-read")
        return SlottedSegment(self.log, number, self._pool)

    def _object(self, path: str) -> bytes | None:
        if path in NOT_HERE or (self._part and path in OF_THE_RUN):
            return None
        if path == layout.HEAD and (seal := self.bucket.get(layout.SEAL)) is not None:
            # Never overwritten by a writer that was fenced and does not know it: the seal says where the log ends.
            return sealed_head(seal)
        return self.bucket.get(path)

    def _lease(self) -> bytes | None:
        lease = self.log.holder()
        return None if lease is None else orjson.dumps(lease, option=orjson.OPT_SORT_KEYS)

    # names

    def names(self, directory: int) -> list[str]:
        path = self._path(directory, "")
        if path == layout.SEGMENTS:
            return [layout.segment_name(number) for number in range(self._segments())]
        if path in STATEMENTS and not self._part:
            return list(self._statements(path))
        if not path and self.bucket.size(layout.PLAN) is not None:
            return [layout.PLAN]
        return []

    def _segments(self) -> int:
        tip = self.log.tip()
        return max(self.packed(), 0 if tip is None else tip.seg + 1)

    def packed(self) -> int:
        """How many segments, from the first, are whole objects."""
        if self._packed is None:
            self._packed = 0
            while (
                not self._part
                and self.bucket.size(f"{layout.SEGMENTS}/{layout.segment_name(self._packed)}") is not None
            ):
                self._packed += 1
        return self._packed

    def _statements(self, part: str) -> Iterator[str]:
        for ordinal in count(1):
            name = layout.statement_name(ordinal)
            if self.bucket.size(f"{part}/{name}") is None:
                return
            yield name

    def link(self, directory: int, old: str, target: int, new: str) -> None:
        path = self._path(target, new)
        if path.startswith(layout.LEASES + "/"):
            return  # the claim of the stale writer stays in the log
        payload = bytes(self._unborn[self._path(directory, old)].payload)
        if path == layout.LEASE:
            self._claim(payload)
        elif path.startswith(layout.SEGMENTS + "/"):
            self.log.append(int(new[:8]), 0, payload)
        elif not self.bucket.put_new(path, payload):
            raise FileExistsError(path)

    def _claim(self, lease: bytes) -> None:
        if not self.log.claim(lease):
            raise LeaseError(
                f"{self.bucket.where}: another writer took log {self.log.folder} at this moment. "
                "Repeat the command; it then says who."
            )

    def replace(self, directory: int, old: str, new: str) -> None:
        if not self._part:
            self.bucket.put(self._path(directory, new), bytes(self._unborn.pop(self._path(directory, old)).payload))

    def unlink(self, directory: int, name: str) -> None:
        path = self._path(directory, name)
        if path == layout.LEASE:
            self.log.release()
        else:
            self._unborn.pop(path, None)

    # content

    def size(self, file: int) -> int:
        found: int = self._handles[file].size()
        return found

    def read(self, file: int, size: int, offset: int) -> bytes:
        found: bytes = self._handles[file].read(size, offset)
        return found

    def append(self, file: int, payload: bytes) -> None:
        opened = self._handles[file]
        if isinstance(opened, _Tail):
            opened.pending += payload
        else:
            opened.payload += payload

    def make_room(self, file: int, size: int) -> None:
        return

    def give_back(self, file: int) -> None:
        return

    def overwrite(self, file: int, payload: bytes) -> None:
        self._handles[file].payload = bytearray(payload)

    def sync(self, file: int) -> None:
        opened = self._handles[file]
        if isinstance(opened, _Tail) and opened.pending:
            self.log.append(opened.seg, opened.length, opened.pending)
            opened.length, opened.pending = opened.length + len(opened.pending), b""

    def sync_new(self, file: int) -> None:
        return

    def sync_dir(self, directory: int) -> None:
        return

    def lock(self, file: int) -> bool:
        return True  # the claim in the log is the lock

    def is_named(self, file: int, directory: int, name: str) -> bool:
        return True

    def is_at(self, directory: int, path: str) -> bool:
        return True

    def is_network(self, directory: int) -> bool:
        return False

    def _handle(self, opened: Any) -> int:
        number = next(self._numbers)
        self._handles[number] = opened
        return number

    def _path(self, directory: int, name: str) -> str:
        return "/".join(part for part in (self._handles[directory].path, name) if part)


def sealed_head(seal: bytes) -> bytes | None:
    """What `head` says once the run is sealed; None when these bytes are no seal."""
    try:
        said = orjson.loads(seal)
        return layout.Head(seg=said["segment"], len=said["length"], n=said["log_n"], root=said["log_root"]).render()
    except (orjson.JSONDecodeError, KeyError, TypeError, ValidationError):
        return None
