"""The batches of one segment, each given out only after every line digest and its root is checked.

Pure but for the `read` it is given. Memory: one batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256

from attrs import frozen

from dfah_cli.errors import ArtifactError
from dfah_cli.merkle import CompactRange
from dfah_cli.store.framing import MAX_BATCH, CommitMark, Line, is_commit, padding, parse_line

CHUNK = 1 << 20
SCAN_LIMIT = 2 * MAX_BATCH
"""Bytes without a commit line after which the rest is no batch of ours (a batch with salvage may exceed 8 MiB)."""

Read = Callable[[int, int], bytes]
"""(size, offset) -> bytes; shorter at the end, empty behind it."""


@frozen
class Batch:
    """One checked batch. start, end: bytes in the segment, padding included. line: number of its first line."""

    lines: list[Line]
    mark: CommitMark
    start: int
    end: int
    line: int


class SegmentScan:
    """Iterates the batches of a segment, as far as they are whole.

    Afterwards: `end` is the committed length, `fault` what is wrong with the bytes behind it (None when
    there are none), `tree` and `b` continue the log, `digest` runs over the committed bytes.
    """

    def __init__(self, read: Read, *, b: int, tree: CompactRange, limit: int | None = None) -> None:
        """b: number of the next batch. limit: committed length as pinned by the next segment."""
        self._read, self._limit = read, limit
        self._buffer, self._base = b"", 0  # _base: offset of the buffer's first byte
        self.b, self.tree = b, tree
        self.end = 0
        self.line = 1
        self.digest = sha256()
        self.fault: ArtifactError | None = None
        self._ended = False

    def __iter__(self) -> Iterator[Batch]:
        while batch := self._next():
            yield batch

    def go_on(self, limit: int) -> None:
        """The segment has grown to its final committed length."""
        self._limit, self.fault, self._ended = limit, None, False

    def again(self) -> None:
        """Looks anew behind the committed bytes: a live writer goes on there, or replaces what was torn."""
        self._buffer, self._base, self.fault, self._ended = b"", self.end, None, False
        late = self._padded(self.end)
        self.digest.update(self._buffer[:late])
        self.end += late

    def behind(self, size: int) -> bytes:
        """Everything behind the committed bytes of a segment of `size` bytes."""
        return self._read(size - self.end, self.end) if size > self.end else b""

    def rest(self, most: int) -> bytes:
        """Up to `most` bytes behind the committed ones, whatever they are.

        Not what a live writer added after the end was reached: that is no torn batch.
        """
        while self._base + len(self._buffer) - self.end < most and not self._ended and self._fill():
            pass
        start = self.end - self._base
        return self._buffer[start : start + most]

    def _fill(self) -> bool:
        """One more chunk; False at the end of the segment."""
        reached = self._base + len(self._buffer)
        size = CHUNK if self._limit is None else min(CHUNK, self._limit - reached)
        chunk = self._read(size, reached) if size > 0 else b""
        keep = self.end - self._base
        self._buffer, self._base = self._buffer[keep:] + chunk, self.end
        self._ended = not chunk
        return bool(chunk)

    def _next(self) -> Batch | None:
        lines: list[Line] = []
        at = self.end
        while (raw := self._line(at)) is not None:
            if is_commit(raw):
                return self._commit(lines, at, raw)
            try:
                lines.append(parse_line(raw))
            except ArtifactError as error:
                self._stop(error, len(lines))
                return None
            at += len(raw)
        return None

    def _line(self, at: int) -> bytes | None:
        """The line at an offset, its LF included; None when the segment ends before one."""
        while (stop := self._buffer.find(b"\n", at - self._base)) < 0:
            if not self._reads_on():
                return None
        return self._buffer[at - self._base : stop + 1]

    def _reads_on(self) -> bool:
        """Whether there is more to find the end of a batch in."""
        if self._base + len(self._buffer) - self.end > SCAN_LIMIT:
            self._stop(ArtifactError("no commit line within 16 MiB"), 0)
            return False
        if self._fill():
            return True
        if self._base + len(self._buffer) > self.end:
            self._stop(ArtifactError("the segment ends inside a batch"), 0)
        return False

    def _commit(self, lines: list[Line], at: int, raw: bytes) -> Batch | None:
        tree = self.tree.copy()
        tree.extend([bytes.fromhex(line.h) for line in lines])
        mark = CommitMark(self.b, tree.size, self.end, tree.root().hex())
        if not lines or raw != mark.line():
            error = ArtifactError("the commit line does not continue the log (batch, count, offset or root)")
            self._stop(error, len(lines))
            return None
        end = at + len(raw)
        end += self._padded(end)
        batch = Batch(lines, mark, self.end, end, self.line)
        self.digest.update(self._buffer[self.end - self._base : end - self._base])
        self.end, self.b, self.tree = end, self.b + 1, tree
        self.line += len(lines) + 1 + (end > at + len(raw))
        return batch

    def _padded(self, end: int) -> int:
        """Bytes of padding that follow; 0 unless all of them are there."""
        pad = padding(end)
        while self._base + len(self._buffer) < end + len(pad) and self._fill():
            pass
        start = end - self._base
        return len(pad) if self._buffer[start : start + len(pad)] == pad else 0

    def _stop(self, error: ArtifactError, lines: int) -> None:
        self.fault = ArtifactError(f"line {self.line + lines}: {error}")
