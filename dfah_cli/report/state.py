"""From verified evidence and its measurement to the report. The only maker of a `Report`. Pure.

Exact fractions become floats here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from fractions import Fraction
from itertools import pairwise as successive
from typing import Any

from attrs import evolve

from dfah_cli.evidence.verify import VerifiedRun
from dfah_cli.metrics.measure import RunMeasurement
from dfah_cli.metrics.rows import CaseMeasurement, TaskMeasurement
from dfah_cli.records.enums import REFINEMENT, ChannelState, PathMode, ReplayMode, ReportStatus
from dfah_cli.report.cases import (
    CaseReport,
    Eligibility,
    EligibilityReasonCount,
    Ladder,
    TaskReport,
)
from dfah_cli.report.companions import (
    beside_cases,
    beside_tasks,
    partial_intervals,
    partial_order,
    replay_spread,
    under_partial_order,
)
from dfah_cli.report.record import Report
from dfah_cli.report.shares import Shares, exact_shares, rounded, tar_report
from dfah_cli.report.uncertainty import metric_intervals

BUDGET_STOP = "budget_stop"


def state_report(
    verified: VerifiedRun,
    measurement: RunMeasurement,
    *,
    mode: ReplayMode | str = ReplayMode.SHADOW,
) -> Report:
    """The report of a verified run."""
    plan, numbers = verified.plan, measurement
    over_budget = verified.stop_reason == BUDGET_STOP
    status = report_status(plan.episodes_planned, numbers.episodes, numbers.episodes_eligible, over_budget)
    return Report(
        **_agreement(verified, numbers),
        suite_id=plan.suite_id,
        suite_version=plan.suite_version,
        manifest=verified.manifest,
        status=status,
        replays_requested=plan.replays,
        schedule_seed=plan.seed,
        sample_rate=plan.sample_rate,
        episode_timeout_s=plan.episode_timeout_s,
        suite_cases_total=plan.suite_cases_total,
        cases_selected=len(plan.case_tasks),
        mode=ReplayMode(mode),
        episodes_planned=plan.episodes_planned,
        episodes_completed=numbers.episodes,
        episodes_eligible=numbers.episodes_eligible,
        total_cost_nusd=numbers.cost_nusd,
        total_latency_us=numbers.latency_us,
        budget_exceeded=over_budget,
        flagged_groups=numbers.flagged or 0,
        sequence_flagged_groups=numbers.sequence_flagged,
        observed_groups=numbers.groups_eligible,
        ineligible_groups=numbers.groups_ineligible,
        ineligibility_reasons=tuple(
            EligibilityReasonCount(reason=reason, groups=groups) for reason, groups in numbers.reasons
        ),
        partial_reason=partial_reason(status, verified.stop_reason, plan.episodes_planned - numbers.episodes),
        commitment=verified.commitment,
        episode_artifact_root_sha256=verified.episode_root,
        episode_artifact_count=verified.episodes,
        run_plan_sha256=plan.sha256,
        tools=plan.tools,
        digest_key_id=plan.digest_key_id,
        episodes_not_recorded=verified.unrecorded,
        created_at=None if verified.last_at is None else datetime.fromisoformat(verified.last_at),
        replay_spread=replay_spread(verified.table, numbers),
    )


def _agreement(verified: VerifiedRun, numbers: RunMeasurement) -> dict[str, Any]:
    """Shares, cases, tasks and intervals; where the suite declares calls parallel, partial order beside them."""
    labels = len(verified.manifest.decision_ontology)
    cases, tasks, intervals = case_reports(numbers.cases), task_reports(numbers), metric_intervals(numbers, labels)
    found: dict[str, Any] = {
        "dar": rounded(numbers.dar),
        "tar": tar_report(numbers.tar),
        "gap": signed_gap(numbers.gap, cases),
        "pairwise_decision": rounded(numbers.pairwise_decision),
        "pairwise_path": tar_report(numbers.pairwise_path),
        "exact": exact_shares(numbers.dar, numbers.tar[PathMode.SEQ]),
    }
    loose = under_partial_order(verified.table, verified.plan.replays)
    if loose is None:
        return found | {"case_reports": cases, "task_reports": tasks, "intervals": intervals}
    intervals = (*intervals, *partial_intervals(loose, labels))
    return found | {
        "case_reports": beside_cases(cases, loose),
        "task_reports": beside_tasks(tasks, loose),
        "intervals": tuple(sorted(intervals, key=lambda interval: interval.metric)),
        "partial_order": partial_order(loose, verified.plan.parallel),
    }


def report_status(planned: int, committed: int, eligible: int, over_budget: bool) -> ReportStatus:
    """complete: every planned episode is committed and eligible; ineligible: nothing was recorded at all."""
    if committed == eligible == planned and not over_budget:
        return ReportStatus.COMPLETE
    return ReportStatus.PARTIAL if committed or over_budget else ReportStatus.INELIGIBLE


def partial_reason(status: ReportStatus, stop_reason: str | None, missing: int) -> str | None:
    """Why a report is not complete, as one word; None when it is."""
    if status is ReportStatus.COMPLETE:
        return None
    if stop_reason is not None:
        return stop_reason
    return "episodes_missing" if missing else "ineligible_groups"


COUNTED = Eligibility(eligible=True, decision=ChannelState.OBSERVED_NONEMPTY, trajectory=ChannelState.OBSERVED_NONEMPTY)


def case_reports(cases: Iterable[CaseMeasurement]) -> tuple[CaseReport, ...]:
    """One report a case, sorted by task and id. Equal counts are rounded once: suites have few distinct ones."""
    known: dict[bytes, CaseReport] = {}
    found = []
    for case in cases:
        alike = known.get(case.signature)
        if alike is None:
            found.append(known.setdefault(case.signature, _case_report(case)))
        else:
            found.append(evolve(alike, case_id=case.case_id, task=case.task))
    return tuple(sorted(found, key=lambda case: (case.task, case.case_id)))


def _case_report(case: CaseMeasurement) -> CaseReport:
    tar = tar_report(case.tar)
    assert tar is not None  # the case is eligible
    assert case.dar is not None
    assert case.gap is not None
    return CaseReport(
        case_id=case.case_id,
        task=case.task,
        replay_count=case.replays,
        decision_denominator=case.decision_denominator,
        trajectory_denominator=case.trajectory_denominator,
        dar=float(case.dar),
        tar=tar,
        gap=float(case.gap),
        pairwise_decision=rounded(case.pairwise_decision),
        pairwise_strong=rounded(case.pairwise_path[PathMode.STRONG]),
        eligibility=COUNTED,
        unanimous_with_sequence_change=bool(case.unanimous_with_sequence_change),
        unanimous_with_path_change=bool(case.unanimous_with_path_change),
    )


def signed_gap(gap: Fraction | None, cases: Sequence[CaseReport]) -> float | None:
    """The gap as a float. A zero carries the sign that summing floats case by case leaves, as the reference prints it.

    The number is exact either way; only so do both print the same line for the same run.
    """
    if gap is None or gap:
        return rounded(gap)
    tasks: dict[str, list[CaseReport]] = {}
    for case in cases:
        tasks.setdefault(case.task, []).append(case)
    dar = sum(sum(case.dar for case in task) / len(task) for task in tasks.values()) / len(tasks)
    seq = sum(sum(case.tar.seq for case in task) / len(task) for task in tasks.values()) / len(tasks)
    return -0.0 if dar < seq else 0.0


def task_reports(numbers: RunMeasurement) -> tuple[TaskReport, ...]:
    """One report a represented task, sorted by name."""
    return tuple(map(_task_report, numbers.tasks))


def _task_report(task: TaskMeasurement) -> TaskReport:
    tar = tar_report(task.tar)
    assert tar is not None  # a represented task has an eligible case
    return TaskReport(
        task=task.task,
        cases=task.cases,
        dar=float(task.dar),
        tar=tar,
        gap=float(task.gap),
        flagged_groups=task.flagged or 0,
        ladder=ladder(task.pairwise_path),
        exact=exact_shares(task.dar, task.tar[PathMode.SEQ]),
    )


def ladder(pairwise: Shares) -> Ladder:
    """What each refinement of path identity costs; the steps add up to 1 − strong agreement."""
    levels = [Fraction(1), *(pairwise[mode] for mode in REFINEMENT)]
    losses = [None if a is None or b is None else float(a - b) for a, b in successive(levels)]
    tools, count, order, arguments, results = losses
    assert tools is not None  # names are always captured
    assert count is not None
    assert order is not None
    return Ladder(tools=tools, count=count, order=order, arguments=arguments, results=results)
