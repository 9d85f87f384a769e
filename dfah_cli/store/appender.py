"""Appends batches to the log: one write, one sync, then the hint. Begins new segments; truncates nothing,
ever.

A new segment is whole and durable before it has its name, and pins every byte of the one before it, torn
ones too.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from attrs import frozen

from dfah_cli.merkle import CompactRange
from dfah_cli.store import layout
from dfah_cli.store.files import RunFiles
from dfah_cli.store.framing import CommitMark, Line, batch_bytes, frame
from dfah_cli.store.layout import Head, new_digest, segment_name, sha256_hex
from dfah_cli.store.protocol import Body, Clock
from dfah_cli.store.safe_io import write_temporary
from dfah_cli.store.vocabulary import FORMAT_VERSION
from dfah_cli.store.walk import LogEnd

ROOM = 1024 * 1024
"""Bytes asked for ahead of the end of a segment."""


@frozen(kw_only=True)
class Writing:
    """What every segment header says of its writer."""

    run: str
    token: str
    boot_id: str
    clock: Clock


class _Batch(NamedTuple):
    tree: CompactRange
    mark: CommitMark
    payload: bytes
    records: int


class Appender:
    """The end of the log and the open file behind it. After an OSError only `abandon` may follow."""

    def __init__(self, files: RunFiles, end: LogEnd, writing: Writing) -> None:
        self._files, self._writing = files, writing
        self.end = end
        self._file: int | None = None
        self._records = self._room = 0
        self._head = files.fs.open_overwrite(files.root, layout.HEAD)

    def append(self, lines: Sequence[Line]) -> None:
        """One batch of at most 8 MiB is durable."""
        if self._file is None or self._is_over():
            self.begin_segment(lines)
            return
        batch = self._batch(lines, self.end.length)
        length = self.end.length + len(batch.payload)
        if length > self._room:
            self._room = length + ROOM
            self._files.fs.make_room(self._file, self._room)
        self._files.fs.append(self._file, batch.payload)
        self._files.fs.sync(self._file)
        self._took(batch)

    def begin_segment(self, lines: Sequence[Line], *, salvaged: int = 0) -> None:
        """A new segment that begins with these records is durable."""
        self.end_segment()
        fs, end = self._files.fs, self.end
        directory = self._files.made(layout.SEGMENTS)
        name = segment_name(end.segments)
        batch = self._batch([frame(self._header(salvaged)), *lines], 0)
        temporary = write_temporary(fs, directory, name, batch.payload)
        fs.link(directory, temporary, directory, name)
        fs.sync_dir(directory)
        fs.unlink(directory, temporary)
        self._file = fs.open_append(directory, name)
        end.segments, end.length, end.digest, end.torn = end.segments + 1, 0, new_digest(), b""
        self._records = self._room = 0
        self._took(batch)

    def abandon(self) -> None:
        """Leaves a segment whose last append failed; the next one pins what that left behind."""
        if self._file is not None:
            end, fs = self.end, self._files.fs
            end.torn = fs.read(self._file, fs.size(self._file) - end.length, end.length)
            self.end_segment()

    def end_segment(self) -> None:
        """The last segment is final; the next append begins another."""
        end = self.end
        if end.segments:
            whole = end.digest.copy()
            whole.update(end.torn)
            end.digests[f"{layout.SEGMENTS}/{segment_name(end.segments - 1)}"] = whole.hexdigest()
        if self._file is not None:
            if end.closed_at is None:
                self._files.fs.sync(self._head)
            self._files.fs.give_back(self._file)
            self._files.fs.close(self._file)
            self._file = None

    def head(self) -> Head:
        end = self.end
        return Head(seg=end.segments - 1, len=end.length, n=end.tree.size, root=end.tree.root().hex())

    def write_head(self, head: Head, *, durable: bool = False) -> None:
        self._files.fs.overwrite(self._head, head.render())
        if durable:
            self._files.fs.sync(self._head)

    def closed(self, close: Body) -> None:
        """The last batch held the close record: its segment stays as it is from now on."""
        self.end.close, self.end.closed_at = close, self.head()
        self.end_segment()

    def finish(self) -> None:
        """The hint and the last segment are final."""
        if self.end.segments and self.end.closed_at is None:
            self.write_head(self.head(), durable=True)
        self.end_segment()

    def close(self) -> None:
        if self._file is not None:
            self._files.fs.give_back(self._file)
        for handle in (self._file, self._head):
            if handle is not None:
                with suppress(OSError):
                    self._files.fs.close(handle)
        self._file = None

    def _is_over(self) -> bool:
        return self.end.length >= layout.SEGMENT_BYTES or self._records >= layout.SEGMENT_RECORDS

    def _header(self, salvaged: int) -> Body:
        end, writing = self.end, self._writing
        return {
            "t": "segment",
            "no": end.segments,
            "v": FORMAT_VERSION,
            "run": writing.run,
            "w": writing.token,
            "boot": writing.boot_id,
            "at": writing.clock(),
            "prev_len": end.length,
            "prev_sha256": end.digest.hexdigest(),
            "prev_torn": sha256_hex(end.torn),
            "prev_n": end.tree.size,
            "prev_root": end.tree.root().hex(),
            "salvaged": salvaged,
        }

    def _batch(self, lines: Sequence[Line], offset: int) -> _Batch:
        tree = self.end.tree.copy()
        for line in lines:
            tree.append(bytes.fromhex(line.h))
        mark = CommitMark(self.end.b, tree.size, offset, tree.root().hex())
        return _Batch(tree, mark, batch_bytes([line.framed() for line in lines], mark), len(lines))

    def _took(self, batch: _Batch) -> None:
        end = self.end
        end.tree, end.b, end.length = batch.tree, end.b + 1, end.length + len(batch.payload)
        end.digest.update(batch.payload)
        self._records += batch.records
        if end.closed_at is None:
            # Not synced: a hint that is behind is harmless, and one that is ahead cannot be.
            mark = batch.mark
            self.write_head(Head(seg=end.segments - 1, len=end.length, n=mark.n, root=mark.root))
