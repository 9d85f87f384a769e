"""Seeded mistakes in the protocol. The enumerator is worth what it finds: each of them, or its test fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytest

from dfah_cli.store import appender, framing, safe_io, scan, torn, writer
from dfah_cli.store.appender import Appender
from dfah_cli.store.files import RunFiles
from dfah_cli.store.filesystem import FileSystem
from dfah_cli.store.protocol import Body
from dfah_cli.store.writer import LogWriter
from tests.crash.explore import Mode
from tests.crash.scenario import Recording, Scenario
from tests.crash.sim_fs import SimFs

Patch = pytest.MonkeyPatch


class Mutant(NamedTuple):
    """A mistake, where to look for it, and how deep."""

    seed: Callable[[Patch], None]
    mode: Mode
    scenario: type[Scenario] = Recording


def no_sync(patch: Patch) -> None:
    patch.setattr(SimFs, "sync", lambda self, file: None)


def sync_one_batch_late(patch: Patch) -> None:
    late: dict[int, bytes] = {}

    def sync(self: SimFs, file: int) -> None:
        number = self._handles[file]
        node = self._file(file)
        self._before(self, "sync", file, b"")
        self.disk.nodes[number] = node._replace(durable=late.get(number, node.durable))
        late[number] = node.now

    patch.setattr(SimFs, "sync", sync)


def no_sync_of_new_files(patch: Patch) -> None:
    patch.setattr(SimFs, "sync_new", lambda self, file: None)


def no_sync_of_directories(patch: Patch) -> None:
    patch.setattr(SimFs, "sync_dir", lambda self, directory: None)


def reissue_after_intent(patch: Patch) -> None:
    patch.setattr(Scenario, "reissues", True)


def leftover_temporary(patch: Patch) -> None:
    def write_temporary(fs: FileSystem, directory: int, name: str, payload: bytes) -> str:
        file = fs.create(directory, name + ".tmp")
        fs.append(file, payload)
        fs.sync_new(file)
        return name + ".tmp"

    patch.setattr(safe_io, "write_temporary", write_temporary)
    patch.setattr(appender, "write_temporary", write_temporary)
    patch.setattr(RunFiles, "remove_temporaries", lambda self: None)


def acknowledge_when_queued(patch: Patch) -> None:
    queued: dict[int, Any] = {}

    def flush(self: LogWriter) -> None:
        call = queued.pop(id(self), None)
        if call is not None:
            self._committer.submit_now(call)

    async def commit(self: LogWriter, records: Sequence[Body]) -> None:
        flush(self)
        queued[id(self)] = self._stage(records)

    reader = LogWriter.reader

    def flush_and_read(self: LogWriter) -> Any:
        flush(self)
        return reader(self)

    patch.setattr(LogWriter, "commit", commit)
    patch.setattr(LogWriter, "reader", flush_and_read)


def append_behind_the_torn_tail(patch: Patch) -> None:
    init = Appender.__init__

    def continue_the_last(self: Appender, *arguments: Any) -> None:
        init(self, *arguments)
        end, files = self.end, self._files
        segments = files.part("segments")
        if end.torn and segments is not None:
            self._file = files.fs.open_append(segments, f"{end.segments - 1:08d}.jsonl")
            end.digest.update(end.torn)
            end.length, end.torn, end.whole = end.length + len(end.torn), b"", []

    patch.setattr(Appender, "__init__", continue_the_last)


def build_on_what_is_not_durable(patch: Patch) -> None:
    patch.setattr(RunFiles, "sync_read", lambda self: None)


def no_padding(patch: Patch) -> None:
    for module in (framing, scan, torn):
        patch.setattr(module, "padding", lambda end: b"")


def hint_before_the_sync(patch: Patch) -> None:
    def append(self: Appender, lines: Any) -> None:
        if self._file is None:
            self.begin_segment(lines)
            return
        batch = self._batch(lines, self.end.length)
        self._files.fs.append(self._file, batch.payload)
        self._took(batch)
        self._files.fs.sync(self._file)

    patch.setattr(Appender, "append", append)


def seal_before_the_hint_is_durable(patch: Patch) -> None:
    write_head = Appender.write_head
    patch.setattr(Appender, "write_head", lambda self, head, durable=False: write_head(self, head))


def announce_before_the_report_is_durable(patch: Patch) -> None:
    def publish(fs: FileSystem, directory: int, name: str, payload: bytes) -> None:
        fs.append(fs.create(directory, name), payload)

    patch.setattr(writer, "publish", publish)


MUTANTS = {
    "no fdatasync": Mutant(no_sync, Mode("p")),
    "sync one batch late": Mutant(sync_one_batch_late, Mode("p")),
    "no fsync of a new segment": Mutant(no_sync_of_new_files, Mode("p")),
    "no fsync of the directory": Mutant(no_sync_of_directories, Mode("p")),
    "dispatch again after an intent": Mutant(reissue_after_intent, Mode("k")),
    "a leftover temporary file stops the next writer": Mutant(leftover_temporary, Mode("k")),
    "acknowledge when queued": Mutant(acknowledge_when_queued, Mode("k")),
    "append behind the torn tail": Mutant(append_behind_the_torn_tail, Mode("pp")),
    "build on what is only in the page cache": Mutant(build_on_what_is_not_durable, Mode("kp")),
    "no padding, no powersafe overwrite": Mutant(no_padding, Mode("p", powersafe=False)),
    "hint ahead of the sync": Mutant(hint_before_the_sync, Mode("p")),
    "seal before the hint is durable": Mutant(seal_before_the_hint_is_durable, Mode("p"), Scenario),
    "announce a report that is not durable": Mutant(announce_before_the_report_is_durable, Mode("p"), Scenario),
}
