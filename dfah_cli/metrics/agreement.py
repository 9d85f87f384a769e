"""Agreement of repeated values. Pure; shares are exact, so a threshold of 7/10 is met by 7 of 10."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from fractions import Fraction

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

IntArray = NDArray[np.int64]


@frozen(kw_only=True)
class ModalAgreement:
    """How large the largest group of equal values is, and which values reach that size.

    share: in [1/n, 1]. modes: every value with the maximal count, sorted by repr; a tie never breaks by
    order.
    """

    share: Fraction
    denominator: int
    modes: tuple[Hashable, ...]

    @property
    def value(self) -> float:
        return float(self.share)

    @property
    def tied(self) -> bool:
        return len(self.modes) > 1


def modal_agreement(labels: Sequence[Hashable]) -> ModalAgreement | None:
    """Share of replays that gave the most frequent value, with all modes.

    labels: one per replay, shape (n,). Returns None when n = 0, never 0.
    Source: docs/metrics.md, "DAR".
    """
    if not labels:
        return None
    counts = Counter(labels)
    top = max(counts.values())
    modes = tuple(sorted((label for label, count in counts.items() if count == top), key=repr))
    return ModalAgreement(share=Fraction(top, len(labels)), denominator=len(labels), modes=modes)


def modal_share(labels: Sequence[Hashable]) -> Fraction | None:
    """`modal_agreement` without the modes."""
    found = modal_agreement(labels)
    return None if found is None else found.share


def first_anchored(values: Sequence[Hashable]) -> Fraction | None:
    """Share of replays equal to the first one, itself included; at most the modal share; None when empty."""
    if not values:
        return None
    return Fraction(sum(1 for value in values if value == values[0]), len(values))


@frozen(kw_only=True)
class GroupCounts:
    """Sizes of the classes of equal values inside each group.

    group, value, count: one entry per (group, value) that occurs, sorted by group then value, shape (c,).
    """

    groups: int
    group: IntArray
    value: IntArray
    count: IntArray

    def modal(self) -> IntArray:
        """Count of the most frequent value per group, shape (groups,); 0 for a group without values."""
        return self._reduced(np.maximum, self.count)

    def total(self) -> IntArray:
        """Number of values per group, shape (groups,)."""
        return self._reduced(np.add, self.count)

    def pairs(self) -> IntArray:
        """Ordered pairs of distinct replays with equal values, Σ n_v(n_v−1) per group, shape (groups,)."""
        return self._reduced(np.add, self.count * (self.count - 1))

    def distinct(self) -> IntArray:
        """Number of different values per group, shape (groups,)."""
        return self._reduced(np.add, np.ones_like(self.count))

    def _reduced(self, operation: np.ufunc, weights: IntArray) -> IntArray:
        out = np.zeros(self.groups, dtype=np.int64)
        if self.group.size:
            starts = np.flatnonzero(np.diff(self.group, prepend=-1))
            out[self.group[starts]] = operation.reduceat(weights, starts)
        return out


def group_counts(group: NDArray[np.integer], value: NDArray[np.integer], groups: int) -> GroupCounts:
    """Counts of equal values inside each group; entries with value −1 (unavailable) are left out.

    group, value: shape (n,), group in [0, groups). Cost: one sort of n 64-bit integers.
    """
    known = value >= 0
    span = int(value.max(initial=-1)) + 2
    keys = group[known].astype(np.int64) * span + value[known]
    keys.sort()
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    distinct = keys[starts]
    count = np.diff(starts, append=keys.size)
    return GroupCounts(groups=groups, group=distinct // span, value=distinct % span, count=count)
