"""What a report says beside its headline numbers: agreement under partial order, time between replays. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import evolve

from dfah_cli.metrics.measure import RunMeasurement, measure
from dfah_cli.metrics.partial_order import relaxed
from dfah_cli.metrics.table import EpisodeTable
from dfah_cli.report.cases import CaseReport, MetricInterval, PartialOrder, ReplaySpread, TaskReport
from dfah_cli.report.shares import rounded, tar_report
from dfah_cli.report.uncertainty import metric_intervals

SUFFIX = ".partial_order"
"""Ends the names of the intervals of numbers under partial order."""


def under_partial_order(table: EpisodeTable, replays: int) -> RunMeasurement | None:
    """The numbers where calls declared parallel may swap; None when none were declared."""
    found = relaxed(table)
    return None if found is None else measure(found, replays=replays)


def partial_order(numbers: RunMeasurement, parallel: Sequence[Sequence[str]]) -> PartialOrder:
    """The statement of the numbers under partial order."""
    return PartialOrder(
        parallel=tuple(map(tuple, parallel)),
        tar=tar_report(numbers.tar),
        gap=rounded(numbers.gap),
        flagged_groups=numbers.flagged or 0,
        sequence_flagged_groups=numbers.sequence_flagged,
    )


def partial_intervals(numbers: RunMeasurement, labels: int) -> tuple[MetricInterval, ...]:
    """Intervals of the numbers that partial order can move."""
    moved = ("tar.seq", "tar.strong", "gap", "flags_per_100")
    return tuple(
        evolve(interval, metric=interval.metric + SUFFIX)
        for interval in metric_intervals(numbers, labels)
        if interval.metric in moved
    )


def beside_cases(cases: Sequence[CaseReport], numbers: RunMeasurement) -> tuple[CaseReport, ...]:
    """The same case reports with their agreement under partial order."""
    known = {(case.task, case.case_id): tar_report(case.tar) for case in numbers.cases}
    return tuple(evolve(case, tar_partial_order=known[case.task, case.case_id]) for case in cases)


def beside_tasks(tasks: Sequence[TaskReport], numbers: RunMeasurement) -> tuple[TaskReport, ...]:
    """The same task reports with their agreement under partial order."""
    known = {task.task: tar_report(task.tar) for task in numbers.tasks}
    return tuple(evolve(task, tar_partial_order=known[task.task]) for task in tasks)


def replay_spread(table: EpisodeTable, numbers: RunMeasurement) -> ReplaySpread | None:
    """Time between the first and the last start of the replays of eligible cases; None where no start was recorded."""
    if len(table.spread_us) != len(table.groups):
        return None
    spread = np.sort(table.spread_us[numbers.columns.eligible & (table.spread_us >= 0)])
    if not spread.size:
        return None
    return ReplaySpread(
        cases=int(spread.size),
        least_us=int(spread[0]),
        median_us=int(spread[(spread.size - 1) // 2]),
        most_us=int(spread[-1]),
    )
