"""Output text -> decision or nothing, with provenance. Strict, and linear in the length of the output."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

from attrs import frozen

from dfah_cli.records.episode import Decision, ParseProvenance

# ASCII: otherwise "ſ" would match "s". Lines end at "\n" only, so U+2028 and "\r" stay inside a line.
_MARKER = re.compile(r"^[ \t]*DECISION[ \t]*:([^\n]*)$", re.MULTILINE | re.IGNORECASE | re.ASCII)


@frozen
class Parsed:
    """A decision and how it was read; the decision is None when nothing was accepted."""

    decision: Decision | None
    provenance: ParseProvenance


def parse_decision(output_text: str, ontology: Collection[str]) -> Parsed:
    """The decision of exactly one line `DECISION: LABEL`, LABEL being in the ontology.

    ontology: labels in normal form (lower case).
    The reason of a failure is no_marker, several_markers or unknown_label; nothing is guessed.
    """
    markers = _MARKER.finditer(output_text)
    first = next(markers, None)
    if first is None:
        return _rejected("no_marker")
    if next(markers, None) is not None:
        return _rejected("several_markers")
    spelled = first.group(1).removesuffix("\r").strip(" \t")
    # isascii: the Kelvin sign lower-cases to "k".
    label = spelled.lower() if spelled.isascii() else ""
    if label not in ontology:
        return _rejected("unknown_label")
    return _accepted(label)


@lru_cache(maxsize=1024)
def _accepted(label: str) -> Parsed:
    span = f"DECISION: {label.upper()}"
    provenance = ParseProvenance(strategy="strict_marker", raw_span=span, confidence=1.0, accepted=True)
    return Parsed(Decision(label=label, confidence=1.0), provenance)


@lru_cache(maxsize=8)
def _rejected(reason: str) -> Parsed:
    return Parsed(None, ParseProvenance(strategy="none", reason=reason))
