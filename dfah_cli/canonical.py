"""Strict JSON value -> canonical bytes -> digest. The one encoder of everything that is hashed.

Canonical form: UTF-8, keys sorted by code point, no spaces, finite numbers in Python spelling (so `1` and `1.0`
are two values), no trailing newline. docs/store-format.md says where this equals RFC 8785 and where not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import Enum

# By name: an adapter that replaces functions of these modules must not reach what is recorded.
from hashlib import sha256
from json import JSONEncoder, loads
from typing import Any

from dfah_cli.errors import ValidationError

JSONValue = Any  # null, boolean, integer, finite float, string, list of these, dict from string to these

MAX_DEPTH = 100
# A record wraps values of the full depth: suite > cases > case > input.
ENVELOPE = 10
MAX_PLACE = 200
MAX_INTEGER_DIGITS = 4300


_ENCODE = JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def canonical_bytes(value: JSONValue) -> bytes:
    """The canonical encoding of a JSON value.

    Raises: ValidationError for anything that is not JSON (a non-string key, NaN, a lone surrogate, depth > 110).
    """
    # Copied first: json.dumps coerces keys such as 1 or True, fails with four different exceptions, and does not
    # know mappings that are no dict.
    return _encode(_copy(value, "value", -ENVELOPE))


def _encode(value: JSONValue) -> bytes:
    text = _ENCODE(value)
    return text.encode("utf-8")


def parse(payload: bytes | str, where: str = "value") -> JSONValue:
    """The JSON value of a text, integers of any size exact.

    Raises: ValidationError for what is no JSON; a faster parser would turn integers beyond 64 bits into floats.
    """
    try:
        return loads(payload, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise ValidationError(f"{where}: not JSON") from None


def _no_constant(_: str) -> JSONValue:
    raise ValueError("JSON has no NaN and no infinity")


def digest_bytes(payload: bytes) -> str:
    """SHA-256 of bytes as 64 lower-case hex digits."""
    return sha256(payload).hexdigest()


def digest(value: JSONValue) -> str:
    """SHA-256 of the canonical encoding of a JSON value."""
    return digest_bytes(canonical_bytes(value))


def digest_plain(value: JSONValue) -> str:
    """`digest` of a value that is known to be strict JSON because records made it; nothing is checked again."""
    return digest_bytes(_encode(value))


def check_json(value: JSONValue, where: str = "value") -> None:
    """Nothing, when `value` is strict JSON within the limits.

    Raises: ValidationError naming the place and the type found, never the value.
    """
    copy_json(value, where)


def copy_json(value: JSONValue, where: str = "value") -> JSONValue:
    """A deep copy of a strict JSON value as plain dict, list and scalars; tuples become lists.

    Raises: ValidationError naming the place and the type found, never the value.
    """
    return _copy(value, where, 0)


def _copy(value: JSONValue, where: str, depth: int) -> JSONValue:
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is str:
        return check_text(value, where)
    if kind is int:
        # 4300 digits is CPython's own limit for int -> str; numbers of 14284 bits always stay below it.
        if value.bit_length() > 14_284 and abs(value) >= 10**MAX_INTEGER_DIGITS:
            raise ValidationError(f"{where}: integer with more than {MAX_INTEGER_DIGITS} digits")
        return value
    if kind is float:
        if not math.isfinite(value):
            raise ValidationError(f"{where}: non-finite number; JSON has only finite numbers")
        return value
    if depth >= MAX_DEPTH:
        raise ValidationError(f"{where[:MAX_PLACE]}…: nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, Mapping):
        return _copy_mapping(value, where, depth)
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return [_copy(item, f"{where}[{index}]", depth + 1) for index, item in enumerate(value)]
    return _copy_subclass(value, where, depth)


def _copy_mapping(value: Mapping[Any, Any], where: str, depth: int) -> dict[str, JSONValue]:
    copied: dict[str, JSONValue] = {}
    for key, item in value.items():
        if type(key) is not str:
            raise ValidationError(f"{where}: key of type {type(key).__name__}; JSON keys are strings")
        check_text(key, f"{where}: key")
        copied[key] = _copy(item, f"{where}.{key}" if key.isidentifier() else f"{where}[key]", depth + 1)
    return copied


def _copy_subclass(value: Any, where: str, depth: int) -> JSONValue:
    """Scalars of a subclass (StrEnum, IntEnum, numpy-like floats) lose the subclass; everything else is refused."""
    if isinstance(value, Enum):
        return _copy(value.value, where, depth)
    for base in (str, int, float):
        if isinstance(value, base):
            return _copy(base(value), where, depth)
    raise ValidationError(f"{where}: {type(value).__name__} is not a JSON value")


def check_text(value: str, where: str) -> str:
    """The text itself, when UTF-8 can encode it.

    Raises: ValidationError for a lone surrogate.
    """
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise ValidationError(f"{where}: text with a lone surrogate cannot be encoded as UTF-8") from None
    return value


def count_nodes(value: JSONValue) -> int:
    """Number of values in a JSON value, itself included; iterative, so depth does not matter."""
    stack: list[JSONValue] = [value]
    count = 0
    while stack:
        item = stack.pop()
        count += 1
        if isinstance(item, Mapping):
            stack.extend(item.values())
        elif isinstance(item, Sequence) and not isinstance(item, str):
            stack.extend(item)
    return count
