"""Everything counted about every replay group, as integer columns. Pure; no Python per episode."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from dfah_cli.metrics.agreement import IntArray, group_counts
from dfah_cli.metrics.eligibility import Eligibility, judge
from dfah_cli.metrics.table import EpisodeTable
from dfah_cli.records.enums import REFINEMENT, PathMode, PathVariationKind


class Known(IntEnum):
    """A fact of three values; `UNKNOWN` where a channel it needs was not captured."""

    UNKNOWN = -1
    NO = 0
    YES = 1


KINDS = (
    PathVariationKind.NONE,
    PathVariationKind.TOOL_SET,
    PathVariationKind.MULTIPLICITY,
    PathVariationKind.ORDER_ONLY,
    PathVariationKind.ARGUMENT_OR_RESULT,
)


@frozen(kw_only=True, eq=False)
class CaseColumns:
    """One entry per group, shape (G,).

    modal, pairs: counts for decisions under "decision" and for each path level under its mode; shares have
    the denominators `replays` and `replays · (replays − 1)`. available: whether every replay has that
    channel. flag, sequence_flag: `Known`. kind: index into `KINDS`, −1 = unknown. Only eligible groups
    carry meaning.
    """

    eligibility: Eligibility
    task: IntArray
    modal: Mapping[str, IntArray]
    pairs: Mapping[str, IntArray]
    total: Mapping[str, IntArray]
    available: Mapping[str, NDArray[np.bool_]]
    flag: NDArray[np.int8]
    sequence_flag: NDArray[np.int8]
    kind: NDArray[np.int8]

    @property
    def replays(self) -> IntArray:
        return self.eligibility.replays

    @property
    def eligible(self) -> NDArray[np.bool_]:
        return self.eligibility.eligible


DECISION = "decision"
CHANNELS: tuple[str, ...] = (DECISION, *REFINEMENT)


def count_cases(table: EpisodeTable, *, replays: int | None) -> tuple[tuple[str, ...], CaseColumns]:
    """Task names (sorted) and the columns over all groups of the table."""
    tasks = tuple(sorted({key.task for key in table.groups}))
    index = {name: position for position, name in enumerate(tasks)}
    task = np.fromiter((index[key.task] for key in table.groups), dtype=np.int64, count=len(table.groups))
    eligibility = judge(table, replays=replays)
    present = eligibility.replays
    modal, pairs, total = {}, {}, {}
    for channel in CHANNELS:
        values = table.decision if channel == DECISION else table.paths(PathMode(channel))
        counts = group_counts(table.group, values, len(table.groups))
        modal[channel], pairs[channel], total[channel] = counts.modal(), counts.pairs(), counts.total()
    available = {channel: (total[channel] == present) & (present > 0) for channel in CHANNELS}
    stable = {channel: _stable(modal[channel], present, available[channel]) for channel in CHANNELS}
    return tasks, CaseColumns(
        eligibility=eligibility,
        task=task,
        modal=modal,
        pairs=pairs,
        total=total,
        available=available,
        flag=_flag(stable[DECISION], _strong_change(stable)),
        sequence_flag=_flag(stable[DECISION], 1 - stable[PathMode.SEQ]),
        kind=_kind(stable),
    )


def _stable(modal: IntArray, present: IntArray, available: NDArray[np.bool_]) -> NDArray[np.int8]:
    return np.where(available, modal == present, np.int8(Known.UNKNOWN)).astype(np.int8)


def _strong_change(stable: Mapping[str, NDArray[np.int8]]) -> NDArray[np.int8]:
    # A change on a coarser level is a change on every finer one, also where the finer one was not captured.
    coarser = np.zeros_like(stable[PathMode.SEQ], dtype=np.bool_)
    for mode in REFINEMENT:
        coarser |= stable[mode] == Known.NO
    unknown = (stable[PathMode.STRONG] == Known.UNKNOWN) & ~coarser
    return np.where(unknown, np.int8(Known.UNKNOWN), coarser).astype(np.int8)


def _flag(unanimous: NDArray[np.int8], change: NDArray[np.int8]) -> NDArray[np.int8]:
    return np.where(unanimous == Known.YES, change, np.int8(Known.NO)).astype(np.int8)


def _kind(stable: Mapping[str, NDArray[np.int8]]) -> NDArray[np.int8]:
    """First level that differs, coarsest first; the two finest levels are one kind."""
    changed = _strong_change(stable)
    finest = np.where(changed == Known.UNKNOWN, np.int8(-1), np.where(changed == Known.YES, 4, 0))
    conditions = [stable[mode] == Known.NO for mode in (PathMode.SET, PathMode.BAG, PathMode.SEQ)]
    return np.select(conditions, [1, 2, 3], default=finest).astype(np.int8)
