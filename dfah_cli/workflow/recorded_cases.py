"""Facts of a case beyond its agreement: decisions seen, typical label, first-anchored shares, tool use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from attrs import frozen

from dfah_cli.metrics.agreement import first_anchored, modal_agreement, modal_share
from dfah_cli.metrics.table import EpisodeTable
from dfah_cli.records.enums import PathMode


@frozen(kw_only=True)
class CaseFacts:
    """decisions: in replay order, None = unavailable. sequences: interned tool sequences, −1 = unavailable; empty:
    which of them are the empty path. first: the earliest replay.
    """

    task: str
    replays: int
    decisions: tuple[str | None, ...]
    sequences: tuple[int, ...]
    empty: tuple[bool, ...]

    @property
    def modal_decision(self) -> str | None:
        """The most common label; ties go to the alphabetically first."""
        found = modal_agreement([label for label in self.decisions if label is not None])
        return None if found is None else min(str(mode) for mode in found.modes)

    @property
    def modal_decision_first(self) -> str | None:
        """The most common label; ties go to the one seen first."""
        counts = Counter(label for label in self.decisions if label is not None)
        return max(counts, key=counts.__getitem__, default=None)

    @property
    def tool_run_rate(self) -> Fraction:
        """Share of replays with at least one call."""
        called = sum(sequence >= 0 and not empty for sequence, empty in zip(self.sequences, self.empty, strict=True))
        return Fraction(called, max(1, self.replays))

    @property
    def first_anchored_decision(self) -> Fraction:
        return first_anchored(self.decisions) or Fraction(0)

    @property
    def first_anchored_path(self) -> Fraction:
        return first_anchored(self.sequences) or Fraction(0)

    @property
    def nonempty_paths(self) -> list[int]:
        return [s for s, empty in zip(self.sequences, self.empty, strict=True) if s >= 0 and not empty]

    def columns(self) -> dict[str, Any]:
        """The part of a case row that these facts make."""
        seen = Counter(label for label in self.decisions if label is not None)
        complete = None not in self.decisions and -1 not in self.sequences and self.replays > 1
        return {
            "decisions": dict(sorted(seen.items())),
            "modal_decision": self.modal_decision,
            "modal_decision_first": self.modal_decision_first,
            "distinct_paths": len(set(self.sequences) - {-1}),
            "tool_run_rate": float(self.tool_run_rate) if complete else None,
            "first_anchored_dar": float(self.first_anchored_decision) if complete else None,
            "first_anchored_tar": float(self.first_anchored_path) if complete else None,
            "tar_seq_nonempty": _share(self.nonempty_paths),
        }


def case_facts(table: EpisodeTable) -> Iterator[CaseFacts]:
    """Facts of every group of a table, in its order."""
    order = table.order()
    starts = np.searchsorted(table.group[order], np.arange(len(table.groups) + 1))
    labels: list[str | None] = [*table.labels, None]
    sequences = table.paths(PathMode.SEQ)[order]
    empty = _empty_sequence(table)
    decisions = table.decision[order]
    for group, key in enumerate(table.groups):
        part = slice(int(starts[group]), int(starts[group + 1]))
        found = tuple(sequences[part].tolist())
        yield CaseFacts(
            task=key.task,
            replays=len(found),
            decisions=tuple(labels[index] for index in decisions[part]),
            sequences=found,
            empty=tuple(sequence == empty for sequence in found),
        )


def _empty_sequence(table: EpisodeTable) -> int:
    """The identity of the path without calls; −2 when no replay has it."""
    keys = table.path_keys[PathMode.SEQ]
    return keys.index(()) if () in keys else -2


def _share(values: Sequence[int]) -> float | None:
    share = modal_share(values)
    return None if share is None else float(share)
