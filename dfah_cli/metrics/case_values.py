"""The numbers of single cases as a gate weighs them: known, or with what is unknown filled in. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from fractions import Fraction

import numpy as np
from attrs import evolve, frozen

from dfah_cli.metrics.agreement import IntArray
from dfah_cli.metrics.columns import DECISION, Known
from dfah_cli.metrics.intervals import Floats, modal_floor
from dfah_cli.metrics.measure import RunMeasurement
from dfah_cli.metrics.paired import Measured, joints, metrics_at
from dfah_cli.records.enums import PathMode

SMALL_DENOMINATOR = 10**7


class Unknown(StrEnum):
    """What is assumed of a group that could not be counted: that it agrees in everything, or in as little as it can."""

    AGREEING = "agreeing"
    WORST = "worst"


@frozen(kw_only=True, eq=False)
class CaseValues:
    """One entry per case, shape (n,). numbers: `dar`, `tar_seq`, `gap`, `flag` (0, 1, or a chance when rarefied).

    ranges: smallest and largest value that one case can have.
    """

    tasks: tuple[str, ...]
    cases: tuple[str, ...]
    numbers: Mapping[str, Floats]
    ranges: Mapping[str, tuple[float, float]]
    replays: int

    def __len__(self) -> int:
        return len(self.tasks)

    def of_task(self, task: str) -> CaseValues:
        """The cases of one task."""
        rows = [row for row, one in enumerate(self.tasks) if one == task]
        return evolve(
            self,
            tasks=tuple(self.tasks[row] for row in rows),
            cases=tuple(self.cases[row] for row in rows),
            numbers={name: values[rows] for name, values in self.numbers.items()},
        )

    def mean(self, metric: str) -> Fraction:
        """Exact mean: flags pooled over the cases, everything else inside a task and then over the tasks."""
        values = self.numbers[metric]
        if metric == "flag":
            return _sum(values) / len(values)
        tasks = np.asarray(self.tasks)
        parts = [values[tasks == task] for task in sorted(set(self.tasks))]
        return sum((_sum(part) / len(part) for part in parts), Fraction(0)) / len(parts)


def _sum(values: Floats) -> Fraction:
    distinct, counts = np.unique(values, return_counts=True)
    # A share is a fraction with a small denominator; this undoes the rounding of the float.
    exact = [Fraction(float(value)).limit_denominator(SMALL_DENOMINATOR) for value in distinct]
    return sum((int(count) * value for count, value in zip(counts, exact, strict=True)), Fraction(0))


def ranges_at(replays: int, labels: int | None = None) -> dict[str, tuple[float, float]]:
    """What one case can show. labels: size of the decision ontology, None when unknown."""
    widest = 1.0 - 1.0 / replays
    return {
        "dar": (modal_floor(replays, labels), 1.0),
        "tar_seq": (1.0 / replays, 1.0),
        "gap": (-widest, widest),
        "flag": (0.0, 1.0),
    }


def filled(run: RunMeasurement, cases: Sequence[tuple[str, str]], unknown: Unknown, labels: int) -> CaseValues:
    """Every planned case, those that could not be counted as `unknown` says. cases: (task, case) of each group."""
    replays = run.replays or int(max(2, run.columns.replays.max(initial=2)))
    ranges = ranges_at(replays, labels)
    columns, eligible = run.columns, run.columns.eligible
    worst = unknown is Unknown.WORST

    def column(counted: IntArray, agreeing: float, bad: float) -> Floats:
        # What a group without episodes would have is never used, but must not divide by zero.
        shares = counted / np.maximum(columns.replays, 1)
        return np.asarray(np.where(eligible, shares, bad if worst else agreeing), dtype=np.float64)

    dar, seq = columns.modal[DECISION], columns.modal[PathMode.SEQ]
    raised = (columns.flag == Known.YES) | (worst & (columns.flag == Known.UNKNOWN))
    flagged: IntArray = np.where(raised, np.maximum(columns.replays, 1), 0)
    return CaseValues(
        tasks=tuple(task for task, _ in cases),
        cases=tuple(case for _, case in cases),
        numbers={
            "dar": column(dar, 1.0, ranges["dar"][0]),
            "tar_seq": column(seq, 1.0, ranges["tar_seq"][0]),
            "gap": column(dar - seq, 0.0, ranges["gap"][1]),
            "flag": column(flagged, 0.0, 1.0),
        },
        ranges=ranges,
        replays=replays,
    )


def rarefied(side: Measured, replays: int, labels: int) -> CaseValues:
    """What `replays` replays of each eligible case would show on average.

    Raises: ConfigurationError when a case has fewer.
    """
    counted = sorted(joints(side).items())
    shown = [metrics_at(joint, replays) for _, joint in counted]
    pick: dict[str, Callable[[Mapping[str, Fraction]], Fraction]] = {
        "dar": lambda at: at["dar"],
        "tar_seq": lambda at: at["tar.seq"],
        "gap": lambda at: at["gap"],
        # Without the paths in full nothing shows that a case would not be flagged.
        "flag": lambda at: at.get("flags", Fraction(1)),
    }
    return CaseValues(
        tasks=tuple(key.task for key, _ in counted),
        cases=tuple(key.case_id for key, _ in counted),
        numbers={name: np.array([float(of(at)) for at in shown], dtype=np.float64) for name, of in pick.items()},
        ranges=ranges_at(replays, labels),
        replays=replays,
    )
