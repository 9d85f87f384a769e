"""Unquoted YAML scalars: the few that every reader takes for one JSON value, and why the others are refused.

YAML 1.1 and YAML 1.2 (and the readers between them) disagree about what `no`, `010`, `1e3` or `12:30:00` is.
Only what all read alike and JSON could have said is a value here; text that any of them could take for
something else must be quoted. Pure.
"""

from __future__ import annotations

import re
from typing import Any

from attrs import frozen

# YAML 1.1 needs a point in a float and a sign in its exponent, YAML 1.2 neither: this is a float in both.
COMMON_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]+(?:[eE][-+][0-9]+)?")
COMMON_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
CONSTANTS: dict[str, Any] = {"null": None, "true": True, "false": False, "": None}

BOOLEAN_WORDS = {
    **dict.fromkeys(("yes", "on", "y"), "true"),
    **dict.fromkeys(("no", "off", "n"), "false"),
}


@frozen
class Trap:
    """A spelling that is read differently, or as no JSON value; `reason` ends with what to write."""

    shape: re.Pattern[str]
    reason: str


def _trap(shape: str, reason: str) -> Trap:
    return Trap(re.compile(shape), reason)


# Read from the top; the first shape that matches the whole scalar speaks.
TRAPS = (
    _trap(r"~|Null|NULL", "{shown} is null for some YAML readers; write null, or {quoted} for text"),
    _trap(r"True|TRUE", "{shown} is true for some YAML readers; write true, or {quoted} for text"),
    _trap(r"False|FALSE", "{shown} is false for some YAML readers; write false, or {quoted} for text"),
    _trap(
        r"(?i:yes|no|on|off|y|n)",
        "{shown} is read as {boolean} by some YAML readers; write {quoted} for text, or {boolean}",
    ),
    _trap(r"=|<<", "{shown} has a meaning of its own in YAML 1.1; write {quoted}"),
    _trap(
        r"[-+]?\.(?i:inf|nan)",
        "{shown} is not a JSON number; write {quoted} for text",
    ),
    _trap(
        r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}.*)?",
        "a date or time is no JSON value; put it in double quotes",
    ),
    _trap(
        r"[-+]?[0-9][0-9_]*(?::[0-9]+)+(?:\.[0-9_]*)?",
        "numbers joined by ':' are read in base 60 by some YAML readers; put them in double quotes",
    ),
    _trap(
        r"[-+]?0[0-9_]+",
        "a leading zero makes a number octal for some YAML readers; drop it, or use double quotes",
    ),
    _trap(
        r"[-+]?0[xXoObB][0-9a-fA-F_]+",
        "a hexadecimal, octal or binary number is no JSON number; write it in decimal, or quote it",
    ),
    _trap(
        r"[-+]?(?:[0-9][0-9_]*)?\.?[0-9_]*(?<=[0-9_.])[eE][-+]?[0-9]+",
        "a number with this exponent is text for some YAML readers; write it like 1.0e+3 (with a point and a "
        "signed exponent), or put it in double quotes",
    ),
    _trap(
        r"[-+]?[0-9][0-9_]*_[0-9_]*(?:\.[0-9_]*)?|[-+]?[0-9]*\.[0-9]*_[0-9_]*",
        "underscores in a number are read in two ways; remove them, or put the text in double quotes",
    ),
    _trap(
        r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)",
        "this number is not written as in JSON; write it like 0.5, 5 or -5, or put it in double quotes",
    ),
)


def trap_of(text: str) -> str | None:
    """Why an unquoted scalar is refused and what to write instead; None when every reader takes it alike."""
    if text in CONSTANTS or COMMON_INTEGER.fullmatch(text) or COMMON_FLOAT.fullmatch(text):
        return None
    for trap in TRAPS:
        if trap.shape.fullmatch(text):
            boolean = BOOLEAN_WORDS.get(text.lower(), "")
            return trap.reason.format(shown=f"`{text}`", quoted=f'"{text}"', boolean=boolean)
    return None


def is_integer(text: str) -> bool:
    """Whether an unquoted scalar without a trap is an integer."""
    return COMMON_INTEGER.fullmatch(text) is not None


def is_float(text: str) -> bool:
    """Whether an unquoted scalar without a trap is a float."""
    return COMMON_FLOAT.fullmatch(text) is not None
