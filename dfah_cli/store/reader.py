"""Reads a run directory: no lock, no writes, also beside a live writer, on read-only media and on copies."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from contextlib import suppress

from dfah_cli.errors import ArtifactError
from dfah_cli.merkle import EMPTY_ROOT
from dfah_cli.store import layout
from dfah_cli.store.files import RunFiles
from dfah_cli.store.framing import BLOCK, MAX_BATCH, parse_commit
from dfah_cli.store.protocol import Body, LogTail
from dfah_cli.store.safe_io import storage_errors
from dfah_cli.store.walk import LogEnd, LogWalk

_COMMIT_AT = b'","r":{"b":'
_LOOK_BACK = (1 << 16, 2 * MAX_BATCH + BLOCK)


class LogReader:
    """Holds only the handle of the directory, and gives it back when it is collected."""

    def __init__(self, files: RunFiles, boot_id: str) -> None:
        self._files, self._boot_id = files, boot_id
        weakref.finalize(self, files.close)
        with storage_errors("reading the run directory"):
            self._facts = files.facts()
        self.plan_bytes, self.manifest_bytes = self._facts.plan_bytes, self._facts.manifest_bytes
        self._end: LogEnd | None = None
        self._slots: bytearray | None = None
        self.compared: Mapping[str, int] = {}
        """Files beside the log that the last complete pass compared with it: how many, by kind."""

    def records(self, faults: list[ArtifactError] | None = None) -> Iterator[tuple[str, Body]]:
        """See `protocol.RunReader`. faults: takes what is wrong with files beside the log, instead of raising."""
        walk = LogWalk(self._files, self._facts, self._boot_id, faults)
        with storage_errors("reading the run directory"):
            yield from walk.records()
        self._end, self._slots, self.compared = walk.end, walk.table.states, walk.compared

    def tail(self) -> LogTail:
        end = self._end
        if end is None:
            with storage_errors("reading the run directory"):
                return self._look()
        return LogTail(
            n=end.tree.size,
            root=end.tree.root().hex(),
            batches=end.b,
            segments=end.segments,
            length=end.length,
            torn=len(end.torn),
            close=end.close,
            sealed=end.sealed,
            last_at=end.last_at,
        )

    def slots(self) -> bytearray:
        return bytearray(self._passed()[1])

    def report(self, ordinal: int) -> bytes:
        return self._statement(layout.REPORTS, ordinal)

    def gate(self, ordinal: int) -> bytes:
        return self._statement(layout.GATES, ordinal)

    def _passed(self) -> tuple[LogEnd, bytearray]:
        if self._end is None or self._slots is None:
            for _ in self.records():
                pass
        assert self._end is not None
        assert self._slots is not None
        return self._end, self._slots

    def _statement(self, part: str, ordinal: int) -> bytes:
        name = f"{part}/{layout.statement_name(ordinal)}"
        announced = self._passed()[0].digests.get(name)
        if announced is None:
            raise ArtifactError(f"{name} is not announced in the log. Ask for one that `dfah log` shows.", part=name)
        with storage_errors(f"reading {name}"):
            payload = self._files.read_in(part, layout.statement_name(ordinal))
        if payload is None or layout.sha256_hex(payload) != announced:
            raise ArtifactError(f"{name} does not match its log record. {layout.ADVICE}", part=name)
        return payload

    def _look(self) -> LogTail:
        """The last commit line, without checking what it commits."""
        count = self._files.segments()
        sealed = self._files.read(layout.SEAL) is not None
        for number in reversed(range(count)):
            found = self._last_commit(number)
            if found is not None:
                n, root, batches, length, torn = found
                return LogTail(
                    n=n,
                    root=root,
                    batches=batches,
                    segments=count,
                    length=length,
                    torn=torn,
                    sealed=sealed,
                    verified=False,
                )
        return LogTail(n=0, root=EMPTY_ROOT.hex(), batches=0, segments=count, length=0, verified=False)

    def _last_commit(self, number: int) -> tuple[int, str, int, int, int] | None:
        fs, directory = self._files.fs, self._files.part(layout.SEGMENTS)
        assert directory is not None
        file = fs.open_read(directory, layout.segment_name(number))
        try:
            size = fs.size(file)
            for reach in _LOOK_BACK:
                start = max(0, size - reach)
                lines = fs.read(file, size - start, start).split(b"\n")
                end = size
                for line in reversed(lines):
                    if _COMMIT_AT in line[:90]:
                        with suppress(ArtifactError):
                            mark = parse_commit(line + b"\n")
                            return mark.n, mark.root, mark.b + 1, end, size - end
                    end -= len(line) + 1
        finally:
            fs.close(file)
        return None
