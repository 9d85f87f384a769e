"""Unquoted YAML scalars: the few that every reader takes for one JSON value, and why the others are refused.

YAML 1.1 and YAML 1.2 (and the readers between them) disagree about what `no`, `010`, `1e3` or `12:30:00` is.
Only what all read alike and JSON could have said is a value here; text that any of them could take for
something else must be quoted. Pure.
"""

from __future__ import annotations

import re
from typing import Any

# YAML 1.1 needs a point in a float and a sign in its exponent, YAML 1.2 neither: this is a float in both.
COMMON_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]+(?:[eE][-+][0-9]+)?")
COMMON_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
CONSTANTS: dict[str, Any] = {"null": None, "true": True, "false": False, "": None}

SAME = "{shown} is {value} for some YAML readers; write {value}, or {quoted} for text"
BOOLEAN = "{shown} is read as {value} by some YAML readers; write {quoted} for text, or {value}"
# Words that some readers take for a value, in lower case, with that value.
WORDS = {
    "~": ("null", SAME),
    "null": ("null", SAME),
    "true": ("true", SAME),
    "false": ("false", SAME),
    **dict.fromkeys(("yes", "on", "y"), ("true", BOOLEAN)),
    **dict.fromkeys(("no", "off", "n"), ("false", BOOLEAN)),
    **dict.fromkeys(("=", "<<"), ("", "{shown} has a meaning of its own in YAML 1.1; write {quoted}")),
}
LONGEST_WORD = max(map(len, WORDS))
NUMERIC_START = frozenset("0123456789+-.")

# Read from the top; the first shape that matches the whole scalar speaks. Each reason ends with what to write.
SHAPES = (
    (
        r"[-+]?\.(?i:inf|nan)",
        "this is not a JSON number; put it in double quotes",
    ),
    (
        r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}.*)?",
        "a date or time is no JSON value; put it in double quotes",
    ),
    (
        r"[-+]?[0-9][0-9_]*(?::[0-9]+)+(?:\.[0-9_]*)?",
        "numbers joined by ':' are read in base 60 by some YAML readers; put them in double quotes",
    ),
    (
        r"[-+]?0[0-9_]+",
        "a leading zero makes a number octal for some YAML readers; drop it, or use double quotes",
    ),
    (
        r"[-+]?0[xXoObB][0-9a-fA-F_]+",
        "a hexadecimal, octal or binary number is no JSON number; write it in decimal, or quote it",
    ),
    (
        r"[-+]?(?:[0-9][0-9_]*)?\.?[0-9_]*(?<=[0-9_.])[eE][-+]?[0-9]+",
        (
            "a number with this exponent is text for some YAML readers; write it like 1.0e+3 (with a point and a "
            "signed exponent), or put it in double quotes"
        ),
    ),
    (
        r"[-+]?[0-9][0-9_]*_[0-9_]*(?:\.[0-9_]*)?|[-+]?[0-9]*\.[0-9]*_[0-9_]*",
        "underscores in a number are read in two ways; remove them, or put the text in double quotes",
    ),
    (
        r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)",
        "this number is not written as in JSON; write it like 0.5, 5 or -5, or put it in double quotes",
    ),
)


def trap_of(text: str) -> str | None:
    """Why an unquoted scalar is refused and what to write instead; None when every reader takes it alike."""
    if text in CONSTANTS:
        return None
    value, reason = WORDS.get(text.lower(), ("", None)) if len(text) <= LONGEST_WORD else ("", None)
    if reason is not None:
        return reason.format(shown=f"`{text}`", quoted=f'"{text}"', value=value)
    if text[0] not in NUMERIC_START or is_integer(text) or is_float(text):
        return None
    return next((reason for shape, reason in SHAPES if re.fullmatch(shape, text)), None)


def is_integer(text: str) -> bool:
    """Whether an unquoted scalar without a trap is an integer."""
    return COMMON_INTEGER.fullmatch(text) is not None


def is_float(text: str) -> bool:
    """Whether an unquoted scalar without a trap is a float."""
    return COMMON_FLOAT.fullmatch(text) is not None
