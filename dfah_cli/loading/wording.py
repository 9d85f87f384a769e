"""How refusals are worded: user text made safe for one line, and the nearest right spelling. Pure."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable

MAX_QUOTED = 60
# Control, format, surrogate, private and separator characters move the cursor or hide text.
HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def escaped(text: str) -> str:
    """The text with every character that a terminal would act on, or hide, written as an escape."""
    if text.isprintable():
        return text
    return "".join(_shown(char) for char in text)


def _shown(char: str) -> str:
    hidden = unicodedata.category(char) in HIDDEN_CATEGORIES
    return char.encode("unicode_escape").decode("ascii") if hidden else char


def quoted(text: str) -> str:
    """The text in single quotes, escaped, and cut to MAX_QUOTED characters."""
    shown = text if len(text) <= MAX_QUOTED else text[: MAX_QUOTED - 1] + "…"
    return f"'{escaped(shown)}'"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` was most likely meant to be; None when nothing is near."""
    words = list(known)
    # difflib is quadratic in the length of the words; no known word is longer than this.
    if len(word) > 200:
        return None
    by_folded = {_folded(known_word): known_word for known_word in reversed(words)}
    if _folded(word) in by_folded:
        return by_folded[_folded(word)]
    near = difflib.get_close_matches(_folded(word), list(by_folded), n=1, cutoff=0.6)
    return by_folded[near[0]] if near else None


def _folded(word: str) -> str:
    return word.casefold().replace("-", "_")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?`, or nothing when no known word is near."""
    near = nearest(word, known)
    return f"; did you mean {quoted(near)}?" if near is not None else ""
