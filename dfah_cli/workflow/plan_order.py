"""What earlier looks at a run and the order of its plan say about a gate. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dfah_cli.evidence.verify import VerifiedRun
from dfah_cli.metrics.columns import Known
from dfah_cli.metrics.measure import RunMeasurement
from dfah_cli.metrics.table import GroupKey
from dfah_cli.planning.schedule import Schedule


def earlier_looks(gates: Iterable[Mapping[str, Any]], reports: Iterable[Mapping[str, Any]], commitment: str) -> int:
    """How often other evidence of this run was held against a gate before.

    Only a policy that accepts incomplete runs can pass on them, so only for such a policy is a look an attempt.
    """
    known = {body["ordinal"]: body["commitment"] for body in reports}
    return len({known.get(body["report"]) for body in gates} - {commitment, None})


def plan_prefix(run: VerifiedRun, measurement: RunMeasurement) -> tuple[int, int]:
    """(flagged, cases) of the cases that are finished, in the order in which the plan finishes them.

    Counting stops at the first unfinished case: unstable cases are slower, so those that happen to be finished look
    better than the suite. A case that could not be judged counts as flagged.
    """
    plan, columns = run.plan, measurement.columns
    position = {key: number for number, key in enumerate(run.table.groups)}
    present = np.bincount(run.table.group, minlength=len(run.table.groups))
    flagged = cases = 0
    for case_id, task in completion_order(schedule_of(run)):
        group = position[GroupKey(task, case_id)]
        if present[group] < plan.replays:
            break
        cases += 1
        flagged += not (columns.eligible[group] and columns.flag[group] == Known.NO)
    return flagged, cases


def schedule_of(run: VerifiedRun) -> Schedule:
    """The schedule of a run's plan."""
    return Schedule(run.plan.case_tasks, run.plan.replays, run.plan.seed, run.plan.schedule)


def completion_order(schedule: Schedule) -> list[tuple[str, str]]:
    """(case, task) by the place of its last slot in the plan."""
    last: dict[tuple[str, str], int] = {}
    for ordinal, slot in enumerate(schedule):
        last[slot.case_id, slot.task] = ordinal
    return sorted(last, key=last.__getitem__)
