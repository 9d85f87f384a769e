"""Where two JSON values part first, told without their content. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,60}")
# What the part of a text that differs looks like; the first that fits names it.
SHAPES: Mapping[str, re.Pattern[str]] = {
    "a UUID": re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE),
    "a date or time": re.compile(r"\d{4}-\d\d-\d\d|\b\d\d:\d\d(:\d\d)?\b"),
    "an epoch time": re.compile(r"\b1[5-9]\d{8}(\d{3}|\d{6}|\d{9})?\b"),
    "a memory address": re.compile(r"0x[0-9a-f]{6,}", re.IGNORECASE),
    "a random hexadecimal string": re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{12,}\b", re.IGNORECASE),
    "a number": re.compile(r"\d+"),
}
AROUND = 40


def first_difference(one: Any, other: Any, path: str = "$") -> str | None:
    """The JSON path of the first difference and what kind it is; None for equal values. Keys in sorted order.

    Never quotes a value; a key only where it is a plain identifier.
    """
    if type(one) is not type(other):
        return f"{path} ({_kind(one)} and {_kind(other)})"
    if isinstance(one, dict):
        return _of_objects(one, other, path)
    if isinstance(one, list):
        return _of_lists(one, other, path)
    if one == other:
        return None
    return f"{path} ({_told(one, other)})"


def _of_objects(one: dict[str, Any], other: dict[str, Any], path: str) -> str | None:
    for key in sorted(one.keys() | other.keys()):
        if key not in one or key not in other:
            return f"{path}{_step(key)} (not in every replay)"
        found = first_difference(one[key], other[key], path + _step(key))
        if found is not None:
            return found
    return None


def _of_lists(one: list[Any], other: list[Any], path: str) -> str | None:
    for index, (left, right) in enumerate(zip(one, other, strict=False)):
        found = first_difference(left, right, f"{path}[{index}]")
        if found is not None:
            return found
    return None if len(one) == len(other) else f"{path} ({len(one)} and {len(other)} items)"


def _step(key: str) -> str:
    return f".{key}" if PLAIN_KEY.fullmatch(key) else "[a key]"


def _kind(value: Any) -> str:
    return {dict: "an object", list: "a list", str: "text", bool: "a boolean", type(None): "null"}.get(
        type(value), "a number"
    )


def _told(one: Any, other: Any) -> str:
    if not isinstance(one, str):
        return "another value"
    at = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    shape = _shape(one, at)
    return f"text that parts at character {at}" + (f", where {shape} stands" if shape else "")


def _shape(text: str, at: int) -> str | None:
    start = max(0, at - AROUND)
    near = text[start : at + AROUND]
    for name, pattern in SHAPES.items():
        if any(found.start() <= at - start <= found.end() for found in pattern.finditer(near)):
            return name
    return None
