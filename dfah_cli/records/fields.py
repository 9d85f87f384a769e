"""Converters and validators shared by the records: strict, and an error names record and field.

Only what adapters rely on is converted: int to float, list to tuple, an enum's string value to the enum.
Everything else stays as it is and is refused by the validator.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable
from enum import StrEnum
from typing import Any

from attrs import Attribute, frozen

from dfah_cli.canonical import check_text, copy_json
from dfah_cli.errors import ValidationError
from dfah_cli.records.enums import ChannelState, DispatchState, ToolExecutionState
from dfah_cli.redaction import credential_shape, strings_in

SCHEMA_VERSION = "1.0"
HEX64 = re.compile(r"[0-9a-f]{64}")
GIT_SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
SEMVER = re.compile(
    r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)"
    r"(-(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*)?"
    r"(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?"
)
LATE = {"late": True}  # metadata of a field that a plain form has only where it is not the default
MAX_TEXT = 4096
MAX_COUNT = 2**53 - 1

Validator = Callable[[Any, "Attribute[Any]", Any], None]


def refuse(instance: Any, attribute: Attribute[Any], found: str, expected: str) -> ValidationError:
    """The one wording of an invalid field."""
    return ValidationError(f"{type(instance).__name__}.{attribute.name}: found {found}; expected {expected}")


def kind_of(value: Any) -> str:
    """Type of a value in the words of JSON; never the value itself."""
    names = {bool: "a boolean", int: "an integer", float: "a number", str: "a string", dict: "an object",
             list: "an array", tuple: "an array", type(None): "null"}  # fmt: skip
    return names.get(type(value), type(value).__name__)


def check_printable(value: str) -> str | None:
    """Why a name cannot stand in a record, or None: blank, too long, control characters or lone surrogates."""
    if not value.strip():
        return "an empty or blank string"
    if len(value) > MAX_TEXT:
        return f"a string of {len(value)} characters"
    if value.isascii() and value.isprintable():
        return None
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in value):
        return "a string with control characters or lone surrogates"
    return None


def name(instance: Any, attribute: Attribute[Any], value: Any) -> None:
    """A non-blank string without control characters; used for everything that names something."""
    if type(value) is not str:
        raise refuse(instance, attribute, kind_of(value), "a string")
    problem = check_printable(value)
    if problem:
        raise refuse(instance, attribute, problem, "1 to 4096 printable characters")


def public_name(instance: Any, attribute: Attribute[Any], value: Any) -> None:
    """A name that goes into artifacts: additionally without any credential shape."""
    name(instance, attribute, value)
    no_credentials(instance, attribute, value)


def no_credentials(instance: Any, attribute: Attribute[Any], value: Any) -> None:
    """Refuses a value in which any string looks like a credential."""
    for text in strings_in(value):
        shape = credential_shape(text)
        if shape:
            raise refuse(instance, attribute, f"text shaped like a credential ({shape})", "no secrets in records")


def prose(instance: Any, attribute: Attribute[Any], value: Any) -> None:
    """Any encodable string, the empty one included."""
    if type(value) is not str:
        raise refuse(instance, attribute, kind_of(value), "a string")
    check_text(value, f"{type(instance).__name__}.{attribute.name}")


def flag(instance: Any, attribute: Attribute[Any], value: Any) -> None:
    """Exactly True or False."""
    if type(value) is not bool:
        raise refuse(instance, attribute, kind_of(value), "true or false")


def integer(minimum: int | None = None, maximum: int = MAX_COUNT) -> Validator:
    """An int that is no bool, within the bounds."""
    low = "" if minimum is None else f" of at least {minimum}"

    def check(instance: Any, attribute: Attribute[Any], value: Any) -> None:
        if type(value) is not int:
            raise refuse(instance, attribute, kind_of(value), f"an integer{low}")
        if (minimum is not None and value < minimum) or value > maximum:
            raise refuse(instance, attribute, "an integer out of range", f"an integer{low} and at most {maximum}")

    return check


count = integer(0)


def real(minimum: float = -math.inf, maximum: float = math.inf, *, above: bool = False) -> Validator:
    """A finite float within the bounds; `above` excludes the minimum itself."""
    upper = f" to {maximum}" if maximum < math.inf else ""
    bounds = f"a finite number {'above' if above else 'from'} {minimum}{upper}"

    def check(instance: Any, attribute: Attribute[Any], value: Any) -> None:
        if type(value) is not float:
            raise refuse(instance, attribute, kind_of(value), bounds)
        if not math.isfinite(value) or not minimum <= value <= maximum or (above and value == minimum):
            raise refuse(instance, attribute, "a number out of range", bounds)

    return check


def matching(pattern: re.Pattern[str], expected: str) -> Validator:
    """A string that matches the pattern in full."""

    def check(instance: Any, attribute: Attribute[Any], value: Any) -> None:
        if type(value) is not str:
            raise refuse(instance, attribute, kind_of(value), expected)
        if not pattern.fullmatch(value):
            raise refuse(instance, attribute, "a string of another form", expected)

    return check


digest64 = matching(HEX64, "64 lower-case hex digits (a SHA-256)")
git_sha = matching(GIT_SHA, "40 or 64 lower-case hex digits (a git commit)")
key_id = matching(re.compile("[0-9a-f]{16}"), "16 lower-case hex digits (a key id)")
semver = matching(SEMVER, "a semantic version such as 1.0.0")


def one_of(*allowed: str) -> Validator:
    """One of a closed set of strings."""

    def check(instance: Any, attribute: Attribute[Any], value: Any) -> None:
        if type(value) is not str or value not in allowed:
            raise refuse(instance, attribute, kind_of(value), "one of " + ", ".join(allowed))

    return check


schema_version = one_of(SCHEMA_VERSION)


def instance_of(kind: type) -> Validator:
    """An instance of a record class."""

    def check(instance: Any, attribute: Attribute[Any], value: Any) -> None:
        if not isinstance(value, kind):
            raise refuse(instance, attribute, kind_of(value), f"a {kind.__name__}")

    return check


def tuple_of(each: Validator, minimum: int = 0) -> Validator:
    """A tuple (or, by conversion, a list) whose items all pass."""

    def check(instance: Any, attribute: Attribute[Any], value: Any) -> None:
        if type(value) is not tuple:
            raise refuse(instance, attribute, kind_of(value), "an array")
        if len(value) < minimum:
            raise refuse(instance, attribute, f"{len(value)} items", f"at least {minimum}")
        for item in value:
            each(instance, attribute, item)

    return check


def optional(validator: Validator) -> Validator:
    """None, or what the validator accepts."""

    def check(instance: Any, attribute: Attribute[Any], value: Any) -> None:
        if value is not None:
            validator(instance, attribute, value)

    return check


def to_tuple(value: Any) -> Any:
    """A list as a tuple; everything else unchanged."""
    return tuple(value) if type(value) is list else value


def to_tuples(value: Any) -> Any:
    """A list of lists as a tuple of tuples; everything else unchanged."""
    outer = to_tuple(value)
    return tuple(map(to_tuple, outer)) if type(outer) is tuple else outer


def to_float(value: Any) -> Any:
    """An int (no bool) as a float; everything else unchanged."""
    if type(value) is int:
        try:
            return float(value)
        except OverflowError:
            return value
    return value


def _to_enum(value: Any, kind: type[StrEnum]) -> Any:
    if type(value) is str:
        try:
            return kind(value)
        except ValueError:
            return value
    return value


def to_channel_state(value: Any) -> Any:
    """The enum member for its string value; everything else unchanged, for the validator to refuse."""
    return _to_enum(value, ChannelState)


def to_execution_state(value: Any) -> Any:
    """The enum member for its string value; everything else unchanged, for the validator to refuse."""
    return _to_enum(value, ToolExecutionState)


def to_dispatch_state(value: Any) -> Any:
    """The enum member for its string value; everything else unchanged, for the validator to refuse."""
    return _to_enum(value, DispatchState)


@frozen
class _Refused:
    """What a converter leaves where copying failed, for the validator to report with the field's name."""

    found: Any
    place: str
    problem: str


def to_json(value: Any) -> Any:
    """A deep copy of strict JSON; what is no JSON is left for the validator to refuse."""
    try:
        return copy_json(value, "")
    except ValidationError as problem:
        place, _, reason = str(problem).partition(": ")
        return _Refused(value, place, reason)


def json_value(instance: Any, attribute: Attribute[Any], value: Any) -> None:
    """Any JSON value."""
    if isinstance(value, _Refused):
        where = f"{type(instance).__name__}.{attribute.name}{value.place}"
        raise ValidationError(f"{where}: {value.problem}")


def json_map(instance: Any, attribute: Attribute[Any], value: Any) -> None:
    """A JSON object."""
    json_value(instance, attribute, value)
    if type(value) is not dict:
        raise refuse(instance, attribute, kind_of(value), "an object")


def public_json_map(instance: Any, attribute: Attribute[Any], value: Any) -> None:
    """A JSON object without any credential shape."""
    json_map(instance, attribute, value)
    no_credentials(instance, attribute, value)


def name_sets(instance: Any, attribute: Attribute[Any], value: Any) -> None:
    """Sets of public names, each of at least one name and without a repeated one."""
    tuple_of(tuple_of(public_name, 1))(instance, attribute, value)
    if any(len(set(names)) < len(names) for names in value):
        raise refuse(instance, attribute, "a set with a repeated name", "each name once in a set")
