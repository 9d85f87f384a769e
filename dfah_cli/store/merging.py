"""The records of several logs as one log in the order of the schedule. The record lines stay as they are.

A writer that died while it merged is no loss: whoever has the log next adds what is not there yet.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from tempfile import TemporaryFile
from typing import IO

from dfah_cli.store.framing import FRAME, decode_body, encode_body
from dfah_cli.store.protocol import Body, RunReader, SlotState
from dfah_cli.store.writer import GROUP_BYTES, LogWriter

ROOM = GROUP_BYTES // 2
SURROUNDINGS = ("session", "note")
OF_A_SLOT = ("dispatching", "episode")


def merge(parts: RunReader, own: LogWriter) -> None:
    """Every record of the parts is in the log of `own`: sessions, notes, windows, then episode by episode."""
    with TemporaryFile() as spool:
        found = _Found(spool, len(own.slots))
        for _, body in parts.records():
            found.take(body)
        if not any(own.slots):
            own.commit_now(found.surroundings())
        batch: list[Body] = []
        room = ROOM
        for ordinal, state in enumerate(own.slots):
            if state == SlotState.COMMITTED:
                continue
            needed = found.size(ordinal)
            if batch and needed > room:
                own.commit_now(batch)
                batch, room = [], ROOM
            batch += found.records(ordinal)
            room -= needed
        own.commit_now(batch)


class _Found:
    """What the parts hold: few records in memory, intents and episodes on disk by slot."""

    def __init__(self, spool: IO[bytes], episodes: int) -> None:
        self._spool = spool
        self._at = {kind: array("q", bytes(8 * episodes)) for kind in OF_A_SLOT}
        self._length = {kind: array("q", bytes(8 * episodes)) for kind in OF_A_SLOT}
        self._end = 0
        self._surroundings: list[Body] = []
        self._windows: set[tuple[int, int]] = set()

    def take(self, body: Body) -> None:
        kind = body["t"]
        if kind in OF_A_SLOT:
            raw = encode_body(body)
            self._at[kind][body["i"]], self._length[kind][body["i"]] = self._end, len(raw)
            self._spool.write(raw)
            self._end += len(raw)
        elif kind == "planned":
            self._windows.add((body["from"], body["to"]))
        elif kind in SURROUNDINGS:
            self._surroundings.append(body)

    def surroundings(self) -> list[Body]:
        """What is said about the run and its windows, in an order that does not depend on who wrote which log."""
        said = sorted(self._surroundings, key=encode_body)
        said.sort(key=lambda body: (body["t"] != "session", body.get("at") or ""))
        return [*said, *({"t": "planned", "from": low, "to": high} for low, high in sorted(self._windows))]

    def size(self, ordinal: int) -> int:
        return sum(self._length[kind][ordinal] + FRAME for kind in OF_A_SLOT)

    def records(self, ordinal: int) -> Iterator[Body]:
        for kind in OF_A_SLOT:
            self._spool.seek(self._at[kind][ordinal])
            yield decode_body(self._spool.read(self._length[kind][ordinal]))
