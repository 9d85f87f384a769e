"""What is saved from a torn batch. Pure.

Nothing in it was acknowledged. Still a whole intent is kept, as one that may have been reached, and a whole
episode is kept byte for byte, because it may have been paid for.
"""

from __future__ import annotations

from collections.abc import Sequence

from dfah_cli.store.blobs import MEDIA, is_reference
from dfah_cli.store.framing import Line, decode_body, frame
from dfah_cli.store.protocol import Body, SlotState
from dfah_cli.store.slots import SlotTable
from dfah_cli.store.vocabulary import check_fields

KEPT = frozenset({"planned", "dispatching", "episode"})


def salvage(whole: Sequence[Line], table: SlotTable) -> list[Line]:
    """The lines to commit again, made complete; `table` has taken them.

    A line that one of them rests on may be lost: the window of an intent, the announcement of an object.
    Raises: ArtifactError when they cannot follow the log.
    """
    lines: list[Line] = []
    for line in whole:
        body = decode_body(line.raw)
        kind = check_fields(body)
        if kind not in KEPT:
            continue
        if kind == "dispatching" and table.states[body["i"]] == SlotState.ABSENT:
            _take({"t": "planned", "from": body["i"], "to": body["i"] + 1}, table, lines)
        if is_reference(body.get("trajectory")):
            _take({"t": "object", "media": MEDIA, **body["trajectory"]}, table, lines)
        if table.apply(kind, body, line.h):
            lines.append(line)
    return lines


def _take(body: Body, table: SlotTable, lines: list[Line]) -> None:
    line = frame(body)
    table.apply(body["t"], body, line.h)
    lines.append(line)
