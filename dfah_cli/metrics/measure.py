"""From a table of episodes to the numbers of a run. Pure, exact, independent of the order of episodes.

DAR, TAR and gap are task-weighted; flags are pooled over all eligible groups. Nothing eligible: None,
never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dfah_cli.metrics.agreement import IntArray
from dfah_cli.metrics.columns import DECISION, KINDS, CaseColumns, Known, count_cases
from dfah_cli.metrics.rows import (
    CaseMeasurement,
    CaseRows,
    Rows,
    TaskMeasurement,
    TaskRows,
    count_flagged,
)
from dfah_cli.metrics.table import EpisodeTable
from dfah_cli.metrics.weighting import Weighting, weighting
from dfah_cli.records.enums import REFINEMENT, PathMode, PathVariationKind


@frozen(kw_only=True, eq=False)
class RunMeasurement:
    """The numbers of one run.

    dar, tar, gap: task-weighted, exact, None when nothing is eligible; tar[mode] also when a replay of an
    eligible group lacks that level. flagged: None when it cannot be known for some group. cases: eligible
    groups only; groups: all. reasons: affected groups per reason, sorted by name. Sums are over all
    episodes present.
    """

    replays: int | None
    episodes: int
    episodes_eligible: int
    groups_total: int
    groups_eligible: int
    dar: Fraction | None
    tar: Mapping[PathMode, Fraction | None]
    gap: Fraction | None
    pairwise_decision: Fraction | None
    pairwise_path: Mapping[PathMode, Fraction | None]
    flagged: int | None
    sequence_flagged: int
    review_queue: tuple[tuple[PathVariationKind, int], ...]
    reasons: tuple[tuple[str, int], ...]
    cost_nusd: int
    latency_us: int
    cases: Rows[CaseMeasurement] = field(repr=False)
    groups: Rows[CaseMeasurement] = field(repr=False)
    tasks: Rows[TaskMeasurement] = field(repr=False)
    columns: CaseColumns = field(repr=False)
    weights: Weighting = field(repr=False)

    @property
    def groups_ineligible(self) -> int:
        return self.groups_total - self.groups_eligible

    @property
    def flags_per_100(self) -> Fraction | None:
        """100 × flagged / eligible groups, pooled over tasks."""
        return None if self.flagged is None else self._per_100(self.flagged)

    @property
    def sequence_flags_per_100(self) -> Fraction | None:
        """The same for the narrower trigger that sees tool names only."""
        return self._per_100(self.sequence_flagged)

    def _per_100(self, flagged: int) -> Fraction | None:
        return Fraction(100 * flagged, self.groups_eligible) if self.groups_eligible else None


def measure(table: EpisodeTable, *, replays: int | None) -> RunMeasurement:
    """Every number of a run.

    replays: the number every group must have; None for recordings made elsewhere (any number from two on).
    """
    names, columns = count_cases(table, replays=replays)
    weights = weighting(columns.task, columns.eligible)
    eligible = np.flatnonzero(columns.eligible)
    modal = _means(columns, columns.modal, weights, columns.replays)
    pairwise = _means(columns, columns.pairs, weights, columns.replays * (columns.replays - 1))
    dar, seq = modal[DECISION], modal[PathMode.SEQ]
    return RunMeasurement(
        replays=replays,
        episodes=len(table),
        episodes_eligible=int(columns.replays[eligible].sum()),
        groups_total=len(table.groups),
        groups_eligible=int(eligible.size),
        dar=dar,
        tar={mode: modal[mode] for mode in REFINEMENT},
        gap=None if dar is None or seq is None else dar - seq,
        pairwise_decision=pairwise[DECISION],
        pairwise_path={mode: pairwise[mode] for mode in REFINEMENT},
        flagged=count_flagged(columns.flag[eligible]),
        sequence_flagged=int((columns.sequence_flag[eligible] == Known.YES).sum()),
        review_queue=_queue(columns, eligible),
        reasons=columns.eligibility.counts(),
        cost_nusd=_exact_sum(table.cost_nusd),
        latency_us=_exact_sum(table.latency_us),
        cases=CaseRows(table.groups, columns, eligible),
        groups=CaseRows(table.groups, columns, np.arange(len(table.groups))),
        tasks=TaskRows(names, columns, weights),
        columns=columns,
        weights=weights,
    )


def _means(
    columns: CaseColumns, counts: Mapping[str, IntArray], weights: Weighting, denominator: IntArray
) -> dict[str, Fraction | None]:
    return {
        channel: weights.mean(values, denominator) if columns.available[channel][weights.rows].all() else None
        for channel, values in counts.items()
    }


def _queue(columns: CaseColumns, eligible: IntArray) -> tuple[tuple[PathVariationKind, int], ...]:
    kinds = columns.kind[eligible][columns.flag[eligible] == Known.YES]
    counts = ((kind, int((kinds == index).sum())) for index, kind in enumerate(KINDS))
    return tuple((kind, count) for kind, count in counts if count)


def _exact_sum(values: NDArray[np.int64]) -> int:
    # Two halves: a sum of large 64-bit numbers could wrap around.
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())
