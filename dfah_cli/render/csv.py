"""Table rows as CSV lines: RFC 4180, UTF-8, CRLF. Pure.

An unavailable value is an empty cell. Text that a spreadsheet would take for a formula begins with an apostrophe.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from datetime import datetime
from io import StringIO

from dfah_cli.records.journal import time_text
from dfah_cli.render.text import escape
from dfah_cli.report.tables import Cell, Column

FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_header(columns: Sequence[Column]) -> bytes:
    """The line of column names."""
    return csv_line(column.name for column in columns)


def csv_line(cells: Iterable[Cell]) -> bytes:
    """One row; numbers in full."""
    line = StringIO()
    csv.writer(line, lineterminator="\r\n").writerow([_text(cell) for cell in cells])
    return line.getvalue().encode("utf-8")


def _text(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, int | float):
        return repr(cell)
    return time_text(cell) if isinstance(cell, datetime) else cell_text(cell)


def cell_text(text: str) -> str:
    """User text as a harmless cell."""
    shown = escape(text)
    return f"'{shown}" if shown.startswith(FORMULA) else shown
