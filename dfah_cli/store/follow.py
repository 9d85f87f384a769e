"""Follows a log that another process writes: every look reads only what is new, and gives out only what is committed.

Lock-free and read-only. Lines and roots are checked as they come; the files beside the log are not looked at, so this
is for watching, never for evidence.
"""

from __future__ import annotations

from collections.abc import Iterator

from dfah_cli.errors import ArtifactError
from dfah_cli.merkle import CompactRange
from dfah_cli.store import layout
from dfah_cli.store.blobs import is_reference, resolved
from dfah_cli.store.files import RunFiles
from dfah_cli.store.framing import BLOCK, decode_body, parse_line
from dfah_cli.store.protocol import Body
from dfah_cli.store.safe_io import PosixFiles, absolute, storage_errors
from dfah_cli.store.scan import SegmentScan
from dfah_cli.store.slots import SlotTable
from dfah_cli.store.vocabulary import check_fields


class LogFollower:
    """One run directory; holds a handle of it and one of its last segment until it is closed."""

    def __init__(self, path: str | RunFiles) -> None:
        """path: of a run directory; or the files of a run, which are closed with this.

        Raises: ArtifactError when there is no plan yet; StorageError when the directory cannot be read.
        """
        fs = PosixFiles(private=False)
        with storage_errors("reading the run" if isinstance(path, RunFiles) else f"reading {path}"):
            self._files = (
                path if isinstance(path, RunFiles) else RunFiles(fs, fs.open_root(absolute(path), create=False))
            )
            try:
                facts = self._files.facts()
            except BaseException:
                self._files.close()
                raise
        self.plan_bytes = facts.plan_bytes
        self._table = SlotTable(facts.episodes_planned, facts.manifest_hash)
        self._number = 0
        self._file: int | None = None
        self._scan = SegmentScan(self._read, b=0, tree=CompactRange())

    def poll(self) -> Iterator[Body]:
        """Every record that was committed since the last look; a terminal record that stands twice is given once.

        Raises: ArtifactError when the log contradicts itself.
        """
        with storage_errors("reading the run directory"):
            while self._opened():
                self._scan.again()
                yield from self._batches()
                if self._files.segments() <= self._number + 1:
                    return
                yield from self._rest()
                self._advance()

    def close(self) -> None:
        """Gives the handles back; idempotent."""
        self._close_segment()
        self._files.close()

    def _opened(self) -> bool:
        if self._file is None and self._number < self._files.segments():
            directory = self._files.part(layout.SEGMENTS)
            assert directory is not None
            self._file = self._files.fs.open_read(directory, layout.segment_name(self._number))
        return self._file is not None

    def _read(self, size: int, offset: int) -> bytes:
        assert self._file is not None
        return self._files.fs.read(self._file, size, offset)

    def _batches(self) -> Iterator[Body]:
        for batch in self._scan:
            for line in batch.lines:
                body = decode_body(line.raw)
                kind = check_fields(body)
                if self._table.apply(kind, body, line.h):
                    long = kind == "episode" and is_reference(body.get("trajectory"))
                    yield resolved(body, self._files.object) if long else body

    def _rest(self) -> Iterator[Body]:
        """The end of a segment that has a successor: its length is final."""
        final = self._pinned(self._number + 1)
        self._scan.go_on(final)
        self._scan.again()
        yield from self._batches()
        if self._scan.end != final:
            raise ArtifactError(f"segments/{layout.segment_name(self._number)} is shorter than the next one says")

    def _pinned(self, number: int) -> int:
        directory = self._files.part(layout.SEGMENTS)
        assert directory is not None
        file = self._files.fs.open_read(directory, layout.segment_name(number))
        try:
            line = self._files.fs.read(file, BLOCK, 0).partition(b"\n")[0] + b"\n"
        finally:
            self._files.fs.close(file)
        body = decode_body(parse_line(line).raw)
        if check_fields(body) != "segment" or type(body["prev_len"]) is not int:
            raise ArtifactError("the first record of a segment is not its header")
        return body["prev_len"]

    def _advance(self) -> None:
        self._close_segment()
        self._number += 1
        self._scan = SegmentScan(self._read, b=self._scan.b, tree=self._scan.tree)

    def _close_segment(self) -> None:
        if self._file is not None:
            self._files.fs.close(self._file)
            self._file = None
