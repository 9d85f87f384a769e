"""A small table for a terminal. Words are never broken: where a table is too wide, each row becomes a paragraph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dfah_cli.render.text import escape

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

PROSE = 24
"""Columns that a column of prose needs to be read with ease."""
BETWEEN = 2

Cell = str | tuple[str, ...]
"""One line, or several."""


def grid(names: Sequence[str], rows: Sequence[Sequence[Cell]], width: int) -> Iterator[RenderableType]:
    """The table, or a paragraph for each row when `width` columns do not hold it."""
    shown = [[_lines(cell) for cell in row] for row in rows]
    columns = list(zip([(name,) for name in names], *shown, strict=True))
    widest = [max(map(_width, column)) for column in columns]
    least = [max(map(_longest_word, column)) for column in columns]
    least[-1] = max(least[-1], min(PROSE, widest[-1]))
    widths = fitted(widest, least, width - BETWEEN * (len(least) - 1))
    if widths is None:
        yield from _paragraphs(names, shown)
    else:
        yield _table(names, shown, widths)


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
    """The narrowest this can be set; of several lines none is broken."""
    return _width(tuple(lines[0].split(" "))) if len(lines) == 1 else _width(lines)


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
        first, *others = (f"{name} {_sentence(lines)}" for name, lines in zip(names, row, strict=True))
        yield Text(first)
        yield Padding(Text(" · ".join(others)), (0, 0, 0, 2))


def _sentence(lines: tuple[str, ...]) -> str:
    first, *others = lines
    return f"{first} ({', '.join(others)})" if others else first
