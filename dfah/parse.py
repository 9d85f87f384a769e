"""The strict decision parser."""

from collections.abc import Sequence

from dfah_cli import parsing
from dfah_cli.records.episode import Decision, ParseProvenance
from dfah_cli.records.suite import normal_label

__all__ = ["parse_decision"]


def parse_decision(text: str, allowed_labels: Sequence[str]) -> tuple[Decision | None, ParseProvenance]:
    """The decision in an output text, None when nothing is accepted, and how it was read.

    allowed_labels: the ontology, in any spelling.
    """
    parsed = parsing.parse_decision(text, [normal_label(label) for label in allowed_labels])
    return parsed.decision, parsed.provenance
