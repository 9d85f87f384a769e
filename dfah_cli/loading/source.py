"""A text, the value it holds, and where in the text each part of the value stands. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, TypeAlias

from attrs import field, frozen

from dfah_cli.loading.wording import escaped

# The place of a value is its character offset. A mapping adds, by key, the offset of the key and the place of
# the value; a sequence adds the places of its items. Lines and columns are counted when an error asks.
Mark: TypeAlias = "int | tuple[int, dict[str, tuple[int, Mark]]] | tuple[int, list[Mark]]"
Path: TypeAlias = Sequence[str | int]


@frozen
class Source:
    """A named text; `name` is what errors call it, normally the path as the user wrote it."""

    name: str
    text: str = field(repr=False)

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of a character offset, both counted from 1; a column is one character."""
        before = self.text[:offset].replace("\r\n", "\n").replace("\r", "\n")
        return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1

    def place(self, offset: int) -> str:
        """`name:line:column` of a character offset."""
        line, column = self.position(offset)
        return f"{escaped(self.name)}:{line}:{column}"


@frozen
class Document:
    """A loaded file: a JSON value of plain dict, list and scalars, and the place of each of its parts."""

    value: Any = field(repr=False)
    source: Source
    find_mark: Callable[[], Mark] = field(repr=False, eq=False)

    @cached_property
    def mark(self) -> Mark:
        """The places; found when the first one is asked for, because a valid file needs none."""
        return self.find_mark()

    def position(self, path: Path, *, of_key: bool = False) -> tuple[int, int]:
        """Line and column of the value at `path` or of its key; of the nearest parent when there is none."""
        return self.source.position(self._offset(path, of_key))

    def place(self, path: Path, *, of_key: bool = False) -> str:
        """`name:line:column` of the value at `path`; see `position`."""
        return self.source.place(self._offset(path, of_key))

    @cached_property
    def positions(self) -> dict[str, tuple[int, int]]:
        """Line and column of every value by JSON pointer (`""` is the whole document, `/a/0` a part)."""
        return {pointer: self.source.position(offset) for pointer, offset in _walk("", self.mark)}

    def _offset(self, path: Path, of_key: bool) -> int:
        mark, key_offset = self.mark, _start(self.mark)
        for part in path:
            child = _child(mark, part)
            if child is None:
                return _start(mark)
            key_offset, mark = child
        return key_offset if of_key else _start(mark)


def pointer(path: Path) -> str:
    """The JSON pointer (RFC 6901) of a path."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def _start(mark: Mark) -> int:
    return mark if isinstance(mark, int) else mark[0]


def _child(mark: Mark, part: str | int) -> tuple[int, Mark] | None:
    if isinstance(mark, int):
        return None
    children = mark[1]
    if isinstance(children, dict):
        return children.get(part) if isinstance(part, str) else None
    if isinstance(part, int) and 0 <= part < len(children):
        return _start(children[part]), children[part]
    return None


def _walk(prefix: str, mark: Mark) -> Iterator[tuple[str, int]]:
    yield prefix, _start(mark)
    if isinstance(mark, int):
        return
    children = mark[1]
    if isinstance(children, dict):
        for key, (_, child) in children.items():
            yield from _walk(prefix + pointer([key]), child)
    else:
        for index, child in enumerate(children):
            yield from _walk(f"{prefix}/{index}", child)
