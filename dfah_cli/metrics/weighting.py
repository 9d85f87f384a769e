"""Exact means: inside a task over its cases, then over the represented tasks with equal weight. Pure."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from dfah_cli.metrics.agreement import IntArray
from dfah_cli.metrics.distinct import distinct


@frozen(kw_only=True, eq=False)
class Weighting:
    """Eligible groups in task order.

    rows: group numbers, shape (n,). tasks: the represented tasks, shape (T,). start, size: their slice of
    `rows`.
    """

    rows: IntArray
    tasks: IntArray
    start: IntArray
    size: IntArray

    def task_mean(self, position: int, numerator: IntArray, denominator: IntArray) -> Fraction:
        """Mean of numerator / denominator over the cases of one represented task."""
        rows = self.rows[self.start[position] : self.start[position] + self.size[position]]
        return _sum(numerator[rows], denominator[rows]) / len(rows)

    def mean(self, numerator: IntArray, denominator: IntArray) -> Fraction | None:
        """Task-weighted mean; None when no task is represented."""
        if not self.tasks.size:
            return None
        # Cases of equally large tasks have equal weight, so few exact fractions are added whatever the
        # number of tasks.
        sizes = np.repeat(self.size, self.size)
        total = Fraction(0)
        for size in distinct(self.size):
            rows = self.rows[sizes == size]
            total += _sum(numerator[rows], denominator[rows]) / size
        return total / int(self.tasks.size)

    def weights(self) -> tuple[Fraction, ...]:
        """Weight of each entry of `rows` in the task-weighted mean."""
        return tuple(Fraction(1, int(self.tasks.size) * int(n)) for n in np.repeat(self.size, self.size))


def weighting(task: IntArray, eligible: NDArray[np.bool_]) -> Weighting:
    """Sorts the eligible groups by task.

    task: task number per group, shape (G,). eligible: bool, shape (G,).
    """
    rows = np.flatnonzero(eligible)
    rows = rows[np.argsort(task[rows], kind="stable")]
    tasks, start, size = np.unique(task[rows], return_index=True, return_counts=True)
    return Weighting(rows=rows, tasks=tasks, start=start.astype(np.int64), size=size.astype(np.int64))


def _sum(numerator: IntArray, denominator: IntArray) -> Fraction:
    total = Fraction(0)
    for value in distinct(denominator):
        total += Fraction(int(numerator[denominator == value].sum()), value)
    return total
