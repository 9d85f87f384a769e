"""Text set into few columns: hanging indents, and names cut in their middle. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len, set_cell_size

LEAST_ROOM = 12
"""Columns that the text keeps, however long its lead is."""
GAP = "…"


def hanging(pieces: Sequence[str], width: int, first: str = "", rest: str = "") -> Iterator[str]:
    """Lines of `width` columns or fewer; a piece is broken only when a line of its own does not hold it.

    first, rest: what stands before the first line and before every further one.
    """
    first, rest = _lead(first, width), _lead(rest, width)
    room = width - cell_len(rest)
    line, empty = first, True
    for word in _words(pieces, room):
        glue = "" if empty else " "
        if not empty and cell_len(line) + cell_len(glue) + cell_len(word) > width:
            yield line.rstrip()
            line, glue = rest, ""
        line, empty = line + glue + word, False
    yield line.rstrip()


def _lead(text: str, width: int) -> str:
    most = max(0, width - LEAST_ROOM)
    return text if cell_len(text) <= most else text[len(text) - most :]


def _words(pieces: Sequence[str], room: int) -> Iterator[str]:
    for piece in pieces:
        if cell_len(piece) <= room:
            yield piece
            continue
        for word in piece.split(" "):
            yield from _folded(word, room)


def _folded(word: str, room: int) -> Iterator[str]:
    while cell_len(word) > room:
        head = set_cell_size(word, room).rstrip() or word[0]
        yield head
        word = word[len(head) :]
    yield word


def middle(text: str, most: int) -> str:
    """The text, or its beginning and its end with a gap between: what tells long names apart stands at their end."""
    if cell_len(text) <= most or most < len(GAP) + 2:
        return text
    room = most - len(GAP)
    tail = room - room // 3
    return set_cell_size(text, room - tail).rstrip() + GAP + text[len(text) - tail :]
