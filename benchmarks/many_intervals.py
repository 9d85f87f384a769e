"""The limits of `bounded_interval` for thousands of simulated suites at once. Seeded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from dfah_cli.metrics.intervals import SMALL_TASK

DRAWS = 4000
AGREES = 0.01

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@frozen(kw_only=True, eq=False)
class Outcomes:
    """A number in many suites: counts[run, slot] cases of task task_of[slot] have the value levels[slot]."""

    levels: Floats
    task_of: Counts
    counts: Counts


def outcomes(values: Floats, tasks: Counts) -> Outcomes:
    """From values of shape (runs, cases); tasks: of each case."""
    rounded = np.round(values, 12)
    levels, task_of, columns = [], [], []
    for task in np.unique(tasks):
        part = rounded[:, tasks == task]
        for level in np.unique(part):
            levels.append(level)
            task_of.append(task)
            columns.append((part == level).sum(axis=1))
    return Outcomes(levels=np.array(levels), task_of=np.array(task_of), counts=np.stack(columns, axis=1))


def limits(found: Outcomes, lo: float, hi: float, *, miss: float) -> Floats:
    """(low, high) of `bounded_interval` for every suite, shape (runs, 2), from one table of draws for all of them.

    A Gamma(count) draw is a running sum of exponentials, so the table serves every count. The limits differ from those
    of `bounded_interval`, which draws afresh and more, by less than `AGREES`.
    """
    shapes, back = np.unique(found.counts, axis=0, return_inverse=True)
    random = np.random.RandomState(11)
    gammas = [_running_sums(int(most), random) for most in shapes.max(axis=0)]
    tasks, sizes = _tasks(found)
    small = len(tasks) > 1 and min(sizes) < SMALL_TASK
    unseen = [
        1.0 - random.random_sample(DRAWS) ** (1.0 / size) for size in (sizes if small else [len(sizes) * min(sizes)])
    ]
    known = np.empty((len(shapes), 2))
    for row, shape in enumerate(shapes):
        means = [_mean(found.levels, gammas, shape, slots) for slots in tasks]
        if not small:
            means = [np.mean(means, axis=0)]
        for side, worst in enumerate((lo, hi)):
            mixed = sum((1.0 - share) * mean + share * worst for share, mean in zip(unseen, means, strict=True))
            known[row, side] = np.quantile(mixed / len(means), (miss, 1.0 - miss)[side])
    centre = _centre(found, shapes, tasks, sizes)
    known[:, 0], known[:, 1] = np.minimum(known[:, 0], centre), np.maximum(known[:, 1], centre)
    return known[back.ravel()]


def _running_sums(most: int, random: np.random.RandomState) -> Floats:
    """Gamma(0), Gamma(1), … Gamma(most), each of shape (DRAWS,)."""
    sums = np.zeros((most + 1, DRAWS))
    np.cumsum(random.standard_exponential((most, DRAWS)), axis=0, out=sums[1:])
    return sums


def _tasks(found: Outcomes) -> tuple[list[Counts], list[int]]:
    """Slots and number of cases of every task."""
    tasks = [np.flatnonzero(found.task_of == task) for task in np.unique(found.task_of)]
    return tasks, [int(found.counts[0, slots].sum()) for slots in tasks]


def _mean(levels: Floats, gammas: Sequence[Floats], shape: Counts, slots: Counts) -> Floats:
    used = [slot for slot in slots if shape[slot]]
    weights = [gammas[slot][shape[slot]] for slot in used]
    total = sum(level * weight for level, weight in zip(levels[used], weights, strict=True))
    return np.asarray(total / sum(weights))


def _centre(found: Outcomes, shapes: Counts, tasks: Sequence[Counts], sizes: Sequence[int]) -> Floats:
    means = [shapes[:, slots] @ found.levels[slots] / size for slots, size in zip(tasks, sizes, strict=True)]
    return np.asarray(sum(means) / len(means))
