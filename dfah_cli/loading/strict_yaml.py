"""YAML or JSON file -> document. The only way a file of the user becomes a value.

Loads JSON types only and exactly as written: every JSON text, and the YAML that YAML 1.1 and 1.2 readers take
alike. Everything else is refused with its place: two values for a key, tags, anchors, merge keys, several
documents, and unquoted text that one reader takes for text and another for a number, a truth value or a date.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

import yaml

from dfah_cli.errors import ValidationError
from dfah_cli.loading.files import read_source
from dfah_cli.loading.json_text import (
    Limits,
    NotJSONError,
    check_surrogates,
    duplicate_key,
    number,
    parse_json,
    quick_json,
)
from dfah_cli.loading.plain_scalars import CONSTANTS, is_float, is_integer, trap_of
from dfah_cli.loading.source import Document, Mark, Source
from dfah_cli.loading.wording import escaped

Event = Any  # an event of PyYAML; its type stubs know the names of no attribute

FAST_READER = getattr(yaml, "CSafeLoader", None)

# Compiled when first searched for: most files need only the first, and the second takes milliseconds.
CONTROL = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
UNPRINTABLE = "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
# Breaks lines for YAML 1.1 readers, and does not for YAML 1.2 readers.
SPLIT_BREAKS = "[\x85\u2028\u2029]"
EXPONENT = re.compile(r"[0-9][eE]")
QUOTED_WORD = re.compile(r'"(?!(?:null|true|false|yes|no|on|off)")[A-Za-z_]{2,}"', re.IGNORECASE)
BEYOND_UNICODE = re.compile(r"\\U(?!000|0010)[0-9a-fA-F]{8}")
PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")

# What PyYAML says -> what helps. Searched for in its message, first hit wins.
HINTS = (
    ("'\\t' that cannot start any token", "a tab cannot indent YAML; use spaces"),
    ("cannot start any token", "unquoted text cannot begin with this character; put it in double quotes"),
    ("mapping values are not allowed", "': ' inside unquoted text; put the text in double quotes"),
    ("could not find expected ':'", "this line is no 'key: value'; check its indentation and quotes"),
    ("while scanning a quoted scalar", "a quoted text does not end; close its quote"),
    ("unknown escape character", "unknown escape; write \\\\ for a backslash, or use single quotes"),
    ("expected escape sequence", "an escape is too short; \\u needs four hexadecimal digits"),
    ("expected ',' or ']'", "the list does not go on here; write ',' or ']'"),
    ("expected ',' or '}'", "the mapping does not go on here; write ',' or '}'"),
    ("did not find expected '-' indicator", "indentation does not fit the list above; align the '-'"),
    ("expected <block end>", "the indentation does not fit the lines above; align it"),
    ("unexpected end of stream", "the file ends in the middle of a value"),
)


def load(path: str | os.PathLike[str]) -> Document:
    """The document in a YAML or JSON file; one whose name ends in `.json` must be JSON.

    Raises: ConfigurationError when the file cannot be read; ValidationError with `file:line:column` when its
    text is refused.
    """
    source = read_source(path)
    return loads(source.text, source.name)


def loads(text: str, name: str = "text") -> Document:
    """The document in a YAML or JSON text; `name` is what errors call it, and `.json` at its end allows JSON only.

    Raises: ValidationError with `name:line:column`.
    """
    source = Source(name, text)
    if name.endswith(".json"):
        return _json(source)
    # First as JSON: YAML readers change some JSON (an escaped surrogate pair, U+2028, 1e-07).
    if not _is_ambiguous(text):
        is_json, value = quick_json(text)
        if is_json:
            return Document(value, source, lambda: parse_json(source)[1])
        try:
            value, mark = parse_json(source)
            return Document(value, source, lambda: mark)
        except NotJSONError:
            pass
    value, mark = _compose(source)
    return Document(value, source, lambda: mark)


def _is_ambiguous(text: str) -> bool:
    """Whether a JSON writer and a YAML writer could mean two things by this text.

    A YAML writer leaves the text "1e3" unquoted, and JSON reads it as a number. But it leaves a plain word unquoted
    too, so a word in double quotes shows that JSON was written.
    """
    return EXPONENT.search(text) is not None and QUOTED_WORD.search(text) is None


def _json(source: Source) -> Document:
    is_json, value = quick_json(source.text)
    if is_json:
        return Document(value, source, lambda: parse_json(source)[1])
    try:
        value, mark = parse_json(source)
    except NotJSONError as error:
        raise ValidationError(f"{source.place(error.offset)}: not JSON: {error.reason}") from None
    return Document(value, source, lambda: mark)


def _at(event: Event) -> int:
    return int(event.start_mark.index)


class _SyntaxRefusal(ValidationError):
    """The text is no YAML for one of the readers."""


def _compose(source: Source) -> tuple[Any, Mark]:
    # libyaml is many times faster and gives the same values (a property test), but parses less and words its errors
    # otherwise: what it does not parse is judged by the reader in Python.
    if FAST_READER is not None:
        try:
            return _Composer(source, FAST_READER).document()
        except _SyntaxRefusal:
            pass
    return _Composer(source, yaml.SafeLoader).document()


class _Composer:
    """One YAML text -> value and marks, event by event; the depth limit keeps the recursion small."""

    def __init__(self, source: Source, reader: Any) -> None:
        self.source = source
        self.reader = reader
        self.limits = Limits(source)
        self.events = self._events()

    def document(self) -> tuple[Any, Mark]:
        self._check_characters()
        next(self.events)  # stream start
        start = next(self.events)
        if isinstance(start, yaml.StreamEndEvent):
            raise ValidationError(f"{self.source.place(0)}: the file is empty; write a value")
        if start.version or start.tags:
            raise self.refusal(start, "YAML directives are not read; remove the lines that begin with '%'")
        value, mark = self.node(next(self.events), 0)
        next(self.events)  # document end
        second = next(self.events)
        if isinstance(second, yaml.DocumentStartEvent):
            raise self.refusal(second, "a second document begins; write one document per file")
        return value, mark

    def node(self, event: Event, depth: int) -> tuple[Any, Mark]:
        self._check_form(event)
        self.limits.admit(_at(event))
        if isinstance(event, yaml.ScalarEvent):
            return self.scalar(event), _at(event)
        self.limits.enter(_at(event), depth)
        if isinstance(event, yaml.SequenceStartEvent):
            return self.sequence(event, depth)
        return self.mapping(event, depth)

    def sequence(self, start: Event, depth: int) -> tuple[list[Any], Mark]:
        value: list[Any] = []
        marks: list[Mark] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            item, mark = self.node(event, depth + 1)
            value.append(item)
            marks.append(mark)
        return value, (_at(start), marks)

    def mapping(self, start: Event, depth: int) -> tuple[dict[str, Any], Mark]:
        value: dict[str, Any] = {}
        marks: dict[str, tuple[int, Mark]] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key, key_at = self.key(event), _at(event)
            if key in value:
                raise duplicate_key(self.source, key, marks[key][0], key_at)
            value[key], mark = self.node(self._value_of(event, next(self.events)), depth + 1)
            marks[key] = (key_at, mark)
        return value, (_at(start), marks)

    def key(self, event: Event) -> str:
        self._check_form(event)
        if not isinstance(event, yaml.ScalarEvent):
            raise self.refusal(event, "a key must be text, not a list or mapping; quote it")
        if event.implicit[0] and event.value == "<<":
            raise self.refusal(event, "merge keys are not read; write the merged keys out")
        key = self.scalar(event)
        if not isinstance(key, str):
            raise self.refusal(event, f'a key must be text; write "{event.value}"')
        return key

    def scalar(self, event: Event) -> Any:
        text: str = event.value
        if not event.implicit[0]:
            return self._joined(text, event)
        reason = trap_of(text)
        if reason is not None:
            raise self.refusal(event, reason)
        if text in CONSTANTS:
            return CONSTANTS[text]
        if is_integer(text) or is_float(text):
            return number(text, is_integer(text), self.source, _at(event))
        return text

    def refusal(self, event: Event, reason: str) -> ValidationError:
        return ValidationError(f"{self.source.place(_at(event))}: {reason}")

    def _value_of(self, key: Event, value: Event) -> Event:
        """The event of a value; refused where `{a:1}` was read as the key `a:1` without a value."""
        is_nothing = isinstance(value, yaml.ScalarEvent) and value.implicit[0] and not value.value
        if is_nothing and isinstance(key, yaml.ScalarEvent) and key.implicit[0] and ":" in key.value:
            raise self.refusal(key, "a key that contains ':' and has no value; write a blank after the ':'")
        return value

    def _joined(self, text: str, event: Event) -> str:
        """Quoted text; two escapes that form a surrogate pair are one character, as in JSON."""
        if text.isascii():
            return text
        joined = PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)
        return check_surrogates(joined, self.source, _at(event))

    def _check_form(self, event: Event) -> None:
        if isinstance(event, yaml.AliasEvent):
            raise self.refusal(event, f"the alias *{escaped(str(event.anchor))} is not read; write the value out")
        if event.anchor is not None:
            raise self.refusal(event, f"the anchor &{escaped(event.anchor)} is not read; remove it")
        if event.tag is not None:
            raise self.refusal(event, f"the tag {escaped(event.tag)} is not read; remove it and quote text")

    def _check_characters(self) -> None:
        text = self.source.text
        not_allowed = "is not allowed in YAML; write it as an escape in double quotes"
        checks = [(CONTROL, not_allowed)]
        if not text.isascii():
            breaks = "breaks lines for some YAML readers; write it as an escape in double quotes"
            checks += [(UNPRINTABLE, not_allowed), (SPLIT_BREAKS, breaks)]
        for shape, what in checks:
            match = re.search(shape, text)
            if match is not None:
                place = self.source.place(match.start())
                raise ValidationError(f"{place}: the character U+{ord(match[0]):04X} {what}")

    def _events(self) -> Iterator[Event]:
        try:
            yield from yaml.parse(self.source.text, Loader=self.reader)
        except yaml.MarkedYAMLError as error:
            raise self._syntax(error) from None
        except yaml.YAMLError as error:
            raise _SyntaxRefusal(f"{escaped(self.source.name)}: not YAML: {escaped(str(error))}") from None
        except (ValueError, OverflowError):
            # PyYAML turns \U00110000 into chr(0x110000).
            raise self._beyond_unicode() from None

    def _beyond_unicode(self) -> _SyntaxRefusal:
        match = BEYOND_UNICODE.search(self.source.text)
        place = self.source.place(match.start() if match else 0)
        return _SyntaxRefusal(f"{place}: an escape names no Unicode character; the last one is \\U0010FFFF")

    def _syntax(self, error: yaml.MarkedYAMLError) -> _SyntaxRefusal:
        said = f"{error.context or ''}: {error.problem or ''}"
        mark = error.problem_mark or error.context_mark
        unknown = f"not YAML: {escaped(said.strip(': '))}"
        hint = next((hint for words, hint in HINTS if words in said), unknown)
        place = self.source.place(mark.index) if mark is not None else escaped(self.source.name)
        return _SyntaxRefusal(f"{place}: {hint}")
