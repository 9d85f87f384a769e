"""User text made harmless, and our own signs made writable in narrow encodings. Pure."""

from __future__ import annotations

import re
import unicodedata

# Control, format (bidi, zero width), surrogate, private, unassigned, line and paragraph separators; and every blank but
# the plain one, because a line is split at blanks.
HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
# What makes a CI server take a line of the log for a command: GitHub `::x::` at the start, and `##[`; Azure `##vso[`.
COMMAND = re.compile(r"##(?=\[|vso\[)|(?<!\S)::")
PLAIN = {
    "—": "-", "–": "-", "−": "-", "·": "-", "…": "...", "×": "x", "≥": ">=", "≤": "<=", "⇄": "<>", "→": "->",
    "←": "<-", "━": "=", "╸": "=", "╺": "-", "─": "-", "│": "|", "┌": "+", "┐": "+", "└": "+", "┘": "+",
    "├": "+", "┤": "+", "┬": "+", "┴": "+", "┼": "+", "█": "#", "▏": ".", "▎": ":", "▍": ":", "▌": "|",
    "▋": "|", "▊": "#", "▉": "#",
}  # fmt: skip


def escape(text: str) -> str:
    """The text with all that a terminal or a CI server would act on, or hide, written as an escape: `\\x1b`."""
    if "##" in text or "::" in text:
        text = COMMAND.sub(lambda found: "".join(map(_code, found[0])), text)
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape(c) if c != " " and unicodedata.category(c) in HIDDEN else c for c in text)


def _code(character: str) -> str:
    return f"\\x{ord(character):02x}"


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def writable(text: str, encoding: str | None) -> str:
    """The text as this encoding can write it: our own signs fall back to ASCII, other letters become escapes."""
    if text.isascii():
        return text
    name = encoding or "ascii"
    try:
        text.encode(name)
    except (UnicodeEncodeError, LookupError):
        narrowed = "".join(_narrow(character, name) for character in text)
        return narrowed.encode("ascii" if not _known(name) else name, "backslashreplace").decode(
            "ascii" if not _known(name) else name
        )
    return text


def _known(encoding: str) -> bool:
    try:
        "".encode(encoding)
    except LookupError:
        return False
    return True


def _narrow(character: str, encoding: str) -> str:
    if character not in PLAIN:
        return character
    try:
        character.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return PLAIN[character]
    return character


def quoted(value: str) -> str:
    """A value of a `key=value` line: bare when it is one plain word, in double quotes otherwise."""
    shown = escape(value)
    if shown and not any(c in ' "=\\' for c in shown):
        return shown
    return '"' + shown.replace('"', '\\"') + '"'


def spoken(**pairs: object) -> str:
    """The same pairs in words, for people; None is left out."""
    return " · ".join(f"{key.replace('_', ' ')} {_told(value)}" for key, value in pairs.items() if value is not None)


def _told(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return escape(str(value))


def fact(**pairs: object) -> str:
    """One line of `key=value` pairs; None is left out, and a truth value is spelled as in JSON."""
    return " ".join(f"{key}={quoted(_spelled(value))}" for key, value in pairs.items() if value is not None)


def _spelled(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
