"""Reading fields of foreign JSON with the place in every refusal."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson

from dfah_cli.loading.replays.recorded import refused


def parse(payload: bytes, where: str) -> Any:
    """The value of one JSON text. Raises: ValidationError naming the place, never the text."""
    try:
        return orjson.loads(payload)
    except orjson.JSONDecodeError as error:
        raise refused(where, f"not JSON: {error.msg} at column {error.colno}") from None


def mapping(value: Any, where: str) -> Mapping[str, Any]:
    """The value, when it is an object."""
    if not isinstance(value, dict):
        raise refused(where, f"expected an object, found {_name(value)}")
    return value


def items(value: Any, where: str) -> list[Any]:
    """The value, when it is an array."""
    if not isinstance(value, list):
        raise refused(where, f"expected an array, found {_name(value)}")
    return value


def text(record: Mapping[str, Any], key: str, where: str) -> str:
    """A required, non-empty string."""
    value = record.get(key)
    if not isinstance(value, str) or not value.strip():
        raise refused(where, f"{key}: expected a non-empty string, found {_name(value)}")
    return value


def optional_text(record: Mapping[str, Any], key: str, where: str) -> str | None:
    """A string, or None when it is missing or null."""
    return None if record.get(key) is None else text(record, key, where)


def index(record: Mapping[str, Any], key: str, where: str) -> int:
    """A required integer from 0 on that fits 32 bits."""
    return _integer(record, key, where, 2**31)


def index_64(record: Mapping[str, Any], key: str, where: str) -> int:
    """A required integer from 0 on that fits 64 bits."""
    return _integer(record, key, where, 2**63)


def _integer(record: Mapping[str, Any], key: str, where: str, limit: int) -> int:
    value = record.get(key)
    if type(value) is not int or not 0 <= value < limit:
        raise refused(where, f"{key}: expected an integer from 0 on, found {_name(value)}")
    return value


def amount(record: Mapping[str, Any], key: str, where: str, scale: int) -> int:
    """A non-negative finite number times `scale`, rounded half-even; 0 when it is missing or null."""
    value = record.get(key)
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value * scale < 2**62:
        raise refused(where, f"{key}: expected a non-negative number, found {_name(value)}")
    return round(value * scale)


def moment(record: Mapping[str, Any], key: str, where: str) -> datetime | None:
    """A time with its offset from UTC; None when it was not recorded."""
    found = optional_text(record, key, where)
    if found is None:
        return None
    try:
        parsed = datetime.fromisoformat(found)
    except ValueError:
        parsed = None
    if parsed is None or parsed.tzinfo is None:
        raise refused(where, f"{key}: expected a time with its offset, such as 2026-01-31T09:00:00Z")
    return parsed


def one_of(record: Mapping[str, Any], key: str, where: str, known: tuple[str, ...]) -> str | None:
    """One of the known words, or None when it is missing."""
    value = record.get(key)
    if value is None:
        return None
    if not isinstance(value, str) or value not in known:
        raise refused(where, f"{key}: expected one of {', '.join(known)}, found {_name(value)}")
    return value


def _name(value: Any) -> str:
    return "nothing" if value is None else type(value).__name__
