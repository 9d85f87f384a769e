"""Segments of a log in an object storage, read as if they were files: from slots, or from whole objects.

Sequential reading asks for several slots at once; a jump finds its slot by halving, over header lines.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NoReturn

from dfah_cli.errors import ArtifactError
from dfah_cli.store.bucket import Bucket
from dfah_cli.store.slot_log import Slot, SlotLog, slot_name

AHEAD = 16
"""Slots asked for at the same time."""
BLOCK_BYTES = 8 << 20

Found = tuple[Slot, bytes] | None


class SlottedSegment:
    """One segment that lies in slots; holds the bytes around the place last read."""

    def __init__(self, log: SlotLog, number: int, pool: ThreadPoolExecutor) -> None:
        self._log, self._number, self._pool = log, number, pool
        self._start = 0
        self._buffer = b""
        self._slots: Iterator[bytes] | None = None

    def read(self, size: int, offset: int) -> bytes:
        """Up to `size` bytes; fewer only at the end of what is there now."""
        if self._slots is None or not self._start <= offset <= self._start + len(self._buffer):
            self._seek(offset)
        self._buffer, self._start = self._buffer[offset - self._start :], offset
        parts, have = [self._buffer], len(self._buffer)
        while have < size and self._slots is not None:
            batch = next(self._slots, None)
            if batch is None:
                self._slots = None  # a live writer may go on: the next read looks again
                break
            parts.append(batch)
            have += len(batch)
        self._buffer = b"".join(parts)
        return self._buffer[:size]

    def size(self) -> int:
        """Bytes of the segment, its padding included."""
        tip = self._log.tip()
        if tip is None or tip.seg < self._number:
            return 0
        seq = self._log.at(self._number, 1 << 62)
        assert seq is not None
        return self._slot(seq)[0].end

    def _seek(self, offset: int) -> None:
        seq = self._log.at(self._number, offset)
        self._start, self._buffer, self._slots = offset, b"", None
        if seq is None:
            return
        slots = self._from(seq)
        for slot, batch in slots:
            if (slot.seg, slot.end) > (self._number, offset):
                if slot.seg == self._number:
                    self._start, self._buffer = slot.off, batch
                    self._slots = (more for later, more in slots if self._here(later))
                break

    def _here(self, slot: Slot) -> bool:
        return slot.seg == self._number

    def _from(self, seq: int) -> Iterator[tuple[Slot, bytes]]:
        """Every slot of the segment from one on, each checked to follow the one before."""
        tip = self._log.tip()
        last = seq if tip is None else tip.seq
        asked: deque[Future[Found]] = deque()
        nxt, before = seq, None
        while True:
            while nxt <= last and len(asked) < AHEAD:
                asked.append(self._pool.submit(self._log.read, nxt))
                nxt += 1
            if not asked:
                return
            found = asked.popleft().result()
            if found is None:
                self._missing(nxt - len(asked) - 1)
            if before is not None and found[0].prev != before:
                raise ArtifactError(
                    f"{self._log.folder}/{slot_name(found[0].seq)} does not name the slot before it. "
                    "The stored run was edited or damaged."
                )
            before = found[0].digest
            if found[0].seg > self._number:
                return
            yield found

    def _slot(self, seq: int) -> tuple[Slot, bytes]:
        found = self._log.read(seq)
        if found is None:
            self._missing(seq)
        return found

    def _missing(self, seq: int) -> NoReturn:
        raise ArtifactError(
            f"{self._log.folder}/{slot_name(seq)} is missing, and later slots are there. The stored run was damaged."
        )


class PackedSegment:
    """One segment that is one object."""

    def __init__(self, bucket: Bucket, key: str, size: int) -> None:
        self._bucket, self._key, self._size = bucket, key, size
        self._start, self._buffer = 0, b""

    def read(self, size: int, offset: int) -> bytes:
        """Up to `size` bytes; fewer only at the end."""
        size = max(0, min(size, self._size - offset))
        if not self._start <= offset or offset + size > self._start + len(self._buffer):
            asked = min(max(size, BLOCK_BYTES), self._size - offset)
            self._start, self._buffer = offset, b""
            if asked > 0:
                self._buffer = self._bucket.get_range(self._key, offset, asked) or b""
        at = offset - self._start
        return self._buffer[at : at + size]

    def size(self) -> int:
        """Bytes of the object."""
        return self._size


class Payload:
    """A small object, or one that is being made."""

    def __init__(self, payload: bytes = b"") -> None:
        self.payload = bytearray(payload)

    def read(self, size: int, offset: int) -> bytes:
        """Up to `size` bytes."""
        return bytes(self.payload[offset : offset + size])

    def size(self) -> int:
        """Bytes so far."""
        return len(self.payload)
