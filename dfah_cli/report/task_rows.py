"""Agreement of each task as strings, with intervals where there are not too many tasks. Pure, seeded."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from dfah_cli.metrics.case_values import ranges_at
from dfah_cli.metrics.intervals import bounded_interval, outward
from dfah_cli.report import words
from dfah_cli.report.cases import CaseReport, TaskReport
from dfah_cli.report.record import ReportColumns
from dfah_cli.report.rows import Range, TaskRow

MAX_INTERVALS = 60
"""Tasks with intervals: more than that fit on no picture."""


def task_rows(report: ReportColumns) -> tuple[TaskRow, ...]:
    """One row a task, in the report's order."""
    ranges = ranges_at(report.replays_requested, len(report.manifest.decision_ontology))
    cases: dict[str, list[CaseReport]] = {}
    if len(report.task_reports) <= MAX_INTERVALS:
        for case in report.case_reports:
            cases.setdefault(case.task, []).append(case)

    def limits(task: TaskReport, name: str) -> Range | None:
        members = cases.get(task.task, [])
        values = [case.dar if name == "dar" else case.tar.seq for case in members]
        return _limits(values, ranges[name]) if values else None

    rows = (_row(task, limits(task, "dar"), limits(task, "tar_seq")) for task in report.task_reports)
    return tuple(rows) if report.partial_order is None else tuple(map(_beside, rows))


def _beside(row: TaskRow) -> TaskRow:
    tar = row.numbers.tar_partial_order
    return evolve(row, seq_parallel=words.share(None if tar is None else tar.seq))


def _limits(values: Sequence[float], between: tuple[float, float]) -> Range:
    low, high = outward(bounded_interval(values, None, *between))
    return low, high


def _row(task: TaskReport, dar: Range | None, tar_seq: Range | None) -> TaskRow:
    return TaskRow(
        task=task.task,
        cases=task.cases,
        dar=words.share(task.dar),
        tar_seq=words.share(task.tar.seq),
        gap=words.share(task.gap),
        flags=task.flagged_groups,
        numbers=task,
        ladder=task.ladder,
        dar_range=dar,
        seq_range=tar_seq,
    )
