"""JSON text -> value and marks. Exact: what RFC 8259 allows is read as written, what it does not is refused.

The standard decoder keeps no places, lets a second key win and reads NaN; this one shares its string scanner.
"""

from __future__ import annotations

import json
import math
import re
from json.decoder import scanstring  # type: ignore[attr-defined]  # public, but not in the type stubs
from typing import Any

from dfah_cli.canonical import MAX_DEPTH, MAX_INTEGER_DIGITS
from dfah_cli.errors import ValidationError
from dfah_cli.loading.source import Mark, Source
from dfah_cli.loading.wording import quoted

MAX_NODES = 1_000_000
SPACE = re.compile(r"[ \t\n\r]*")
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
WORDS = (("null", None), ("true", True), ("false", False))
SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
SURROGATE = re.compile("[\ud800-\udfff]")


class _OddError(Exception):
    """Something the standard decoder would let through, or decide without a place."""


class NotJSONError(Exception):
    """The text breaks the grammar of JSON at `offset`; it may still be YAML."""

    def __init__(self, offset: int, reason: str) -> None:
        super().__init__(reason)
        self.offset = offset
        self.reason = reason


class Limits:
    """Counts the values of one document and refuses the first one too many or too deep."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.nodes = 0

    def admit(self, offset: int) -> None:
        """Raises: ValidationError when the value at `offset` is one too many."""
        self.nodes += 1
        if self.nodes > MAX_NODES:
            place = self.source.place(offset)
            raise ValidationError(f"{place}: more than {MAX_NODES:,} values; split the file")

    def enter(self, offset: int, depth: int) -> None:
        """Raises: ValidationError when the collection at `offset` lies inside MAX_DEPTH others."""
        if depth >= MAX_DEPTH:
            raise ValidationError(f"{self.source.place(offset)}: nested deeper than {MAX_DEPTH} levels")


def parse_json(source: Source) -> tuple[Any, Mark]:
    """The value of a JSON text and the place of each of its parts.

    Raises: NotJSONError when the grammar is broken; ValidationError for a duplicate key, a lone surrogate, a
    number that no double can hold, or a limit.
    """
    return _Reader(source).document()


def quick_json(text: str) -> tuple[bool, Any]:
    """Whether the text is JSON without anything odd, and its value: what `parse_json` gives, many times faster.

    False says nothing yet: `parse_json` then decides, and names the place.
    """
    if SURROGATE_ESCAPE.search(text):
        return False, None
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_float=_finite, parse_constant=_constant)
    except (ValueError, RecursionError, _OddError):
        return False, None
    return _within_limits(value), value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise _OddError
    return mapping


def _finite(token: str) -> float:
    value = float(token)
    if not math.isfinite(value):
        raise _OddError
    return value


def _constant(_: str) -> Any:
    raise _OddError


def _within_limits(value: Any) -> bool:
    """Level by level, so that neither depth nor size matters."""
    level = [value]
    nodes = 0
    for _ in range(MAX_DEPTH + 1):
        nodes += len(level)
        collections = [item for item in level if type(item) is dict or type(item) is list]
        if not collections or nodes > MAX_NODES:
            break
        level = [child for item in collections for child in (item.values() if type(item) is dict else item)]
    else:
        return False
    return nodes <= MAX_NODES


def number(token: str, is_integer: bool, source: Source, offset: int) -> int | float:
    """The value of a JSON number: an int when it has neither point nor exponent, else a float."""
    if is_integer:
        if len(token.lstrip("-")) > MAX_INTEGER_DIGITS:
            place = source.place(offset)
            raise ValidationError(f"{place}: integer with more than {MAX_INTEGER_DIGITS} digits")
        return int(token)
    value = float(token)
    if not math.isfinite(value):
        raise ValidationError(f"{source.place(offset)}: number too large for a double")
    return value


def check_surrogates(text: str, source: Source, offset: int) -> str:
    """The text itself, when UTF-8 can encode it."""
    if not text.isascii() and SURROGATE.search(text):
        place = source.place(offset)
        raise ValidationError(f"{place}: text with a lone surrogate cannot be encoded as UTF-8")
    return text


def duplicate_key(source: Source, key: str, first: int, second: int) -> ValidationError:
    """The refusal of a second value for one key, naming both places."""
    line, column = source.position(first)
    return ValidationError(
        f"{source.place(second)}: duplicate key {quoted(key)}, first at {line}:{column}; remove one of them"
    )


class _Reader:
    """Recursive descent over one text; the depth limit keeps the recursion small."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = source.text
        self.limits = Limits(source)

    def document(self) -> tuple[Any, Mark]:
        value, mark, end = self.value(self.skip(0), 0)
        end = self.skip(end)
        if end != len(self.text):
            raise NotJSONError(end, "text after the end of the JSON value")
        return value, mark

    def value(self, at: int, depth: int) -> tuple[Any, Mark, int]:
        self.limits.admit(at)
        first = self.text[at : at + 1]
        if first == '"':
            text, end = self.string(at)
            return text, at, end
        if first == "{":
            return self.mapping(at, depth)
        if first == "[":
            return self.sequence(at, depth)
        return self.scalar(at)

    def mapping(self, at: int, depth: int) -> tuple[Any, Mark, int]:
        self.limits.enter(at, depth)
        value: dict[str, Any] = {}
        marks: dict[str, tuple[int, Mark]] = {}
        end = self.skip(at + 1)
        if self.text[end : end + 1] == "}":
            return value, (at, marks), end + 1
        while True:
            key_at = self.expect(end, '"', "a key in double quotes")
            key, end = self.string(key_at)
            if key in value:
                raise duplicate_key(self.source, key, marks[key][0], key_at)
            end = self.skip(self.expect(self.skip(end), ":", "':' after the key") + 1)
            value[key], mark, end = self.value(end, depth + 1)
            marks[key] = (key_at, mark)
            end, closed = self.next_item(end, "}")
            if closed:
                return value, (at, marks), end

    def sequence(self, at: int, depth: int) -> tuple[Any, Mark, int]:
        self.limits.enter(at, depth)
        value: list[Any] = []
        marks: list[Mark] = []
        end = self.skip(at + 1)
        if self.text[end : end + 1] == "]":
            return value, (at, marks), end + 1
        while True:
            item, mark, end = self.value(end, depth + 1)
            value.append(item)
            marks.append(mark)
            end, closed = self.next_item(end, "]")
            if closed:
                return value, (at, marks), end

    def next_item(self, at: int, closing: str) -> tuple[int, bool]:
        """Where the next item begins, or where the collection ended."""
        at = self.skip(at)
        if self.text[at : at + 1] == closing:
            return at + 1, True
        return self.skip(self.expect(at, ",", f"',' or '{closing}'") + 1), False

    def string(self, at: int) -> tuple[str, int]:
        try:
            text, end = scanstring(self.text, at + 1, True)
        except json.JSONDecodeError as error:
            raise NotJSONError(error.pos, error.msg.lower()) from None
        return check_surrogates(text, self.source, at), end

    def scalar(self, at: int) -> tuple[Any, Mark, int]:
        for word, value in WORDS:
            if self.text.startswith(word, at):
                return value, at, at + len(word)
        match = NUMBER.match(self.text, at)
        if match is None:
            raise NotJSONError(at, "expected a JSON value")
        is_integer = match[1] is None and match[2] is None
        return number(match[0], is_integer, self.source, at), at, match.end()

    def skip(self, at: int) -> int:
        match = SPACE.match(self.text, at)
        return match.end() if match else at

    def expect(self, at: int, char: str, what: str) -> int:
        if self.text[at : at + 1] != char:
            raise NotJSONError(at, f"expected {what}")
        return at
