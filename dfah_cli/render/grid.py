"""Small tables for a terminal. Words are never broken: where a table is too wide, each row becomes a paragraph.

A roster is the other way out, for long tables of things with long names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dfah_cli.render.text import escape
from dfah_cli.render.wrapping import middle

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

PROSE = 24
"""Columns that a column of prose needs to be read with ease."""
BETWEEN = 2
SHORT = 10
LEAST_NAME = 16
LOOKED_AT = 24
"""Rows that decide how wide columns are."""
LOOKED_AT_LETTERS = 400
WHOLE_NAME = 48
"""A name of up to so many columns is shown in full, so that it can be copied; other columns go first."""

Cell = str | tuple[str, ...]
"""One line, or several."""
HEADINGS = {"dar": "DAR", "tar_seq": "TAR.seq", "seq_flags_per_100": "sequence flags / 100"}


def heading(name: str) -> str:
    """What people read above a column that a program knows as `name`."""
    return HEADINGS.get(name, name.replace("_", " "))


def grid(
    names: Sequence[str], rows: Sequence[Sequence[Cell]], width: int, spare: Sequence[str] = ()
) -> Iterator[RenderableType]:
    """The table, or a paragraph for each row when `width` columns do not hold it.

    spare: columns that may go to save the table, the least important first.
    """
    shown = [[_lines(cell) for cell in row] for row in rows]
    for gone in range(len(spare) + 1):
        kept = [place for place, name in enumerate(names) if name not in spare[:gone]]
        heads, cells = [names[place] for place in kept], [[row[place] for place in kept] for row in shown]
        widths = _widths(heads, cells, width)
        if widths is not None:
            yield _table(heads, cells, widths)
            yield from _left_out([name for name in names if name in spare[:gone]])
            return
    yield from _paragraphs(names, shown)


def _widths(names: Sequence[str], rows: Sequence[Sequence[tuple[str, ...]]], width: int) -> list[int] | None:
    columns = list(zip([(name,) for name in names], *rows, strict=True))
    widest = [max(map(_width, column)) for column in columns]
    least = [max(map(_longest_word, column)) for column in columns]
    least[-1] = max(least[-1], min(PROSE, widest[-1]))
    return arranged([column[: LOOKED_AT + 1] for column in columns], widest, least, width - BETWEEN * (len(least) - 1))


def arranged(
    columns: Sequence[Sequence[tuple[str, ...]]], widest: Sequence[int], least: Sequence[int], room: int
) -> list[int] | None:
    """Widths of columns that share `room` so that the rows need few lines; None when it is too little."""
    if sum(least) > room or sum(widest) <= room:
        return fitted(widest, least, room)
    spare = room - sum(least)
    lines = [
        {width: [_height(cell, width) for cell in column] for width in range(low, min(high, low + spare) + 1)}
        for column, low, high in zip(columns, least, widest, strict=True)
    ]
    widths = list(least)
    while (step := _step(lines, widths, room - sum(widths))) is not None:
        place, width = step
        widths[place] = width
    return fitted(widest, widths, room)


def _step(lines: Sequence[dict[int, list[int]]], widths: Sequence[int], spare: int) -> tuple[int, int] | None:
    """The column to widen, and how far, that saves most lines for each column of room; None when nothing saves any."""
    tallest = [sorted(cells, reverse=True)[:2] for cells in zip(*map(_at, lines, widths), strict=True)]
    best: tuple[float, int, int] = (0.0, 0, 0)
    for place, (of_width, now) in enumerate(zip(lines, widths, strict=True)):
        for width in range(now + 1, min(max(of_width), now + spare) + 1):
            saved = sum(
                top - max(cell, second if was == top else top)
                for cell, was, (top, second) in zip(of_width[width], of_width[now], tallest, strict=True)
            )
            best = max(best, (saved / (width - now), place, width))
    return best[1:] if best[0] > 0 else None


def _at(of_width: dict[int, list[int]], width: int) -> list[int]:
    return of_width[width]


def _height(cell: tuple[str, ...], width: int) -> int:
    from rich.cells import cell_len

    height = 0
    for line in cell:
        height, taken = height + 1, -1
        for word in line[:LOOKED_AT_LETTERS].split(" "):
            length = cell_len(word)
            if taken >= 0 and taken + 1 + length > width:
                height, taken = height + 1, -1
            taken = taken + 1 + length if taken >= 0 else length
    return height


def _left_out(names: Sequence[str]) -> Iterator[RenderableType]:
    from rich.text import Text

    if names:
        yield Text(f"a wider terminal, or --json, shows also: {', '.join(names)}", style="dim")


def roster(
    names: Sequence[str], rows: Sequence[Sequence[str]], width: int, spare: Sequence[str]
) -> Iterator[RenderableType]:
    """A table with long names in its first column: they are cut in the middle, and columns are left out if need be.

    spare: columns that may go, the least important first.
    """
    cells = [[escape(cell) for cell in row] for row in rows]
    widest = [_width((name, *column)) for name, column in zip(names, zip(*cells, strict=True), strict=True)]
    kept, gone = list(range(len(names))), []
    for name in spare:
        if _room(widest, kept, width) >= min(WHOLE_NAME, widest[0]):
            break
        gone.append(name)
        kept.remove(names.index(name))
    room = max(LEAST_NAME, min(widest[0], _room(widest, kept, width)))
    shown = [[(middle(row[0], room),), *((row[place],) for place in kept[1:])] for row in cells]
    yield _table([names[place] for place in kept], shown, [room, *(widest[place] for place in kept[1:])])
    yield from _left_out(sorted(gone, key=names.index))


def _room(widest: Sequence[int], kept: Sequence[int], width: int) -> int:
    return width - sum(widest[place] + BETWEEN for place in kept[1:])


def fitted(widest: Sequence[int], least: Sequence[int], room: int) -> list[int] | None:
    """Widths of columns that share `room`: the one with most to give is narrowed first. None when it is too little."""
    if sum(least) > room:
        return None
    widths = list(widest)
    for _ in range(sum(widest) - room):
        place = max(range(len(widths)), key=lambda one: widths[one] - least[one])
        widths[place] -= 1
    return widths


def _lines(cell: Cell) -> tuple[str, ...]:
    return (escape(cell),) if isinstance(cell, str) else tuple(map(escape, cell))


def _width(lines: tuple[str, ...]) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, lines))


def _longest_word(lines: tuple[str, ...]) -> int:
    """The narrowest this can be set; of several lines none is broken, nor is a short one."""
    whole = len(lines) > 1 or len(lines[0]) <= SHORT
    return _width(lines) if whole else _width(tuple(lines[0].split(" ")))


def _table(names: Sequence[str], rows: Sequence[Sequence[tuple[str, ...]]], widths: Sequence[int]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, BETWEEN, 0, 0))
    for name, columns in zip(names, widths, strict=True):
        table.add_column(name, overflow="fold", width=columns)
    for row in rows:
        table.add_row(*(Text("\n".join(lines)) for lines in row))
    return table


def _paragraphs(names: Sequence[str], rows: Sequence[Sequence[tuple[str, ...]]]) -> Iterator[RenderableType]:
    from rich.padding import Padding
    from rich.text import Text

    for row in rows:
        told = [f"{name} {_sentence(lines)}" for name, lines in zip(names, row, strict=True) if any(lines)]
        first, *others = told
        yield Text(first)
        yield Padding(Text(" · ".join(others)), (0, 0, 0, 2))


def _sentence(lines: tuple[str, ...]) -> str:
    first, *others = lines
    return f"{first} ({', '.join(others)})" if others else first
