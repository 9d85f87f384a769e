"""Many lines put into the order of their keys, in the memory of the keys alone."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from typing import Any


def in_key_order(lines: Iterable[tuple[Any, bytes]]) -> Iterator[bytes]:
    """The lines, sorted by key; keys must be unique. What is recorded lies in order of time, exports do not."""
    places: list[tuple[Any, int, int]] = []
    with tempfile.TemporaryFile() as file:
        start = 0
        for key, line in lines:
            file.write(line)
            places.append((key, start, len(line)))
            start += len(line)
        for _, at, size in sorted(places):
            file.seek(at)
            yield file.read(size)
