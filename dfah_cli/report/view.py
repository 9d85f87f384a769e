"""A report as strings, in reading order: verdict, numbers, tasks, cases, what could not be judged, what to do next.

Every renderer shows these strings, so a number is the same in every format. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import frozen

from dfah_cli.records.tool_source import told
from dfah_cli.report import words
from dfah_cli.report.against import Against
from dfah_cli.report.against_view import AgainstView, against_view
from dfah_cli.report.cases import CaseReport, MetricInterval, ReplaySpread, TARReport
from dfah_cli.report.details import CaseDetail
from dfah_cli.report.diagnosis import DiagnosisTable
from dfah_cli.report.divergence import first_parting
from dfah_cli.report.limits import intervals_by_name, limits
from dfah_cli.report.record import ReportColumns
from dfah_cli.report.rows import TAR_PARALLEL, CaseRow, GateRow, GateView, MetricRow, TaskRow
from dfah_cli.report.task_rows import task_rows

INTERVAL_NAMES = {"dar": "dar", "tar_seq": "tar.seq", "gap": "gap", "flags_per_100_cases": "flags_per_100"}


@frozen(kw_only=True)
class ReportView:
    """Everything a renderer shows. parallel: whether tasks and cases have numbers where calls may swap."""

    title: str
    plan: str
    design: str
    scope: str
    sentence: str
    status: str
    mode: str
    metrics: tuple[MetricRow, ...]
    pairwise: tuple[MetricRow, ...]
    parallel: bool
    tasks: tuple[TaskRow, ...]
    cases: tuple[CaseRow, ...]
    attention: int
    reasons: tuple[tuple[str, int], ...]
    checks: tuple[GateRow, ...]
    gate_verdict: str | None
    gate_told: str
    suppositions: str
    against: AgainstView | None
    diagnosis: tuple[DiagnosisTable, ...]
    facts: tuple[tuple[str, str], ...]
    limits: tuple[str, ...]


def view_of(
    report: ReportColumns,
    *,
    gate: GateView | None = None,
    details: Iterable[CaseDetail] = (),
    against: Against | None = None,
    diagnosis: tuple[DiagnosisTable, ...] = (),
) -> ReportView:
    """The view of a report; details, when given, name the decision of a case and the step at which its paths part."""
    known = {detail.case_id: detail for detail in details}
    checks = () if gate is None else gate.checks
    parallel = report.partial_order is not None
    cases = tuple(_case_row(case, known.get(case.case_id), parallel) for case in by_attention(report.case_reports))
    return ReportView(
        title=f"{report.suite_id} {report.suite_version}",
        plan=words.plan_tag(report.run_plan_sha256),
        design=(
            f"{words.count(report.cases_selected, 'case')} × {report.replays_requested} replays = "
            f"{words.count(report.episodes_planned, 'call')}"
        ),
        scope=_scope(report),
        sentence=words.verdict_sentence(report),
        status=str(report.status),
        mode=str(report.mode),
        metrics=with_partial_order(report, metric_rows(report, checks)),
        pairwise=pairwise_rows(report),
        parallel=parallel,
        tasks=task_rows(report),
        cases=cases,
        attention=sum(1 for case in report.case_reports if _deserves(case)),
        reasons=tuple((reason.reason, reason.groups) for reason in report.ineligibility_reasons),
        checks=checks,
        gate_verdict=None if gate is None else gate.verdict,
        gate_told="" if gate is None else gate.told,
        suppositions="" if gate is None else gate.suppositions,
        against=None if against is None else against_view(against, gate),
        diagnosis=diagnosis,
        facts=_facts(report),
        limits=limits(report),
    )


def by_attention(cases: Iterable[CaseReport]) -> list[CaseReport]:
    """Changed decisions first, then flagged paths from the coarsest kind to the finest, then the rest; ties by id."""
    return sorted(cases, key=_attention)


def _attention(case: CaseReport) -> tuple[bool, float, bool, float, float, float, float, str, str]:
    strong = 1.0 if case.tar.strong is None else case.tar.strong
    return (
        case.dar == 1.0,
        case.dar,
        not case.unanimous_with_path_change,
        case.tar.set,
        case.tar.bag,
        case.tar.seq,
        strong,
        case.task,
        case.case_id,
    )


def _deserves(case: CaseReport) -> bool:
    return case.dar < 1.0 or case.unanimous_with_path_change


def metric_rows(report: ReportColumns, checks: Sequence[GateRow]) -> tuple[MetricRow, ...]:
    """The four headline numbers, each with its interval, denominator and gate when there are such."""
    gates = {check.name: check for check in checks}
    intervals = intervals_by_name(report)
    tar_seq = None if report.tar is None else report.tar.seq
    rows = (
        ("dar", "DAR", words.share(report.dar), report.dar),
        ("tar_seq", "TAR.seq", words.share(tar_seq), tar_seq),
        ("gap", "gap", words.share(report.gap), report.gap),
        (
            "flags_per_100_cases",
            "flags / 100",
            words.rate(report.flags_per_100_cases),
            report.flags_per_100_cases,
        ),
    )
    return tuple(_metric_row(report, row, intervals.get(INTERVAL_NAMES[row[0]]), gates.get(row[0])) for row in rows)


def with_partial_order(report: ReportColumns, rows: tuple[MetricRow, ...]) -> tuple[MetricRow, ...]:
    """With TAR.seq where calls declared parallel may swap, when the suite declares such calls."""
    if report.partial_order is None:
        return rows
    tar = report.partial_order.tar
    number = None if tar is None else tar.seq
    row = ("tar_seq_partial_order", TAR_PARALLEL, words.share(number), number)
    beside = _metric_row(report, row, intervals_by_name(report).get("tar.seq.partial_order"), None)
    return (*rows[:2], beside, *rows[2:])


def _metric_row(
    report: ReportColumns,
    row: tuple[str, str, str, float | None],
    interval: MetricInterval | None,
    gate: GateRow | None,
) -> MetricRow:
    key, label, value, number = row
    spell = words.rate if key == "flags_per_100_cases" else words.share
    return MetricRow(
        key=key,
        label=label,
        value=value,
        number=number,
        low="" if interval is None else spell(interval.low),
        high="" if interval is None else spell(interval.high),
        n=report.observed_groups,
        unit="cases",
        gate=gate,
    )


def pairwise_rows(report: ReportColumns) -> tuple[MetricRow, MetricRow]:
    """How often two replays of a case agree, in decision and in path: comparable across replay counts."""
    path = None if report.pairwise_path is None else report.pairwise_path.strong
    known, decision = intervals_by_name(report), report.pairwise_decision
    told = ("pairwise_decision", "decision", words.share(decision), decision)
    walked = ("pairwise_path", "path", words.share(path), path)
    return (
        _metric_row(report, told, known.get("pairwise.decision"), None),
        _metric_row(report, walked, known.get("pairwise.path.strong"), None),
    )


def _case_row(case: CaseReport, detail: CaseDetail | None, parallel: bool) -> CaseRow:
    return CaseRow(
        task=case.task,
        case_id=case.case_id,
        decision=_decision(case, detail),
        paths=_on_one_path(case, case.tar),
        kind=words.KIND_WORDS[case.path_variation_kind],
        status="decision changed" if case.dar < 1.0 else "flagged" if case.unanimous_with_path_change else "stable",
        parts_at=words.UNAVAILABLE if detail is None else words.parting_text(first_parting(detail)),
        dar=words.share(case.dar),
        tar_seq=words.share(case.tar.seq),
        tar_strong=words.share(case.tar.strong),
        replays=case.replay_count,
        paths_parallel=_on_one_path(case, case.tar_partial_order) if parallel else "",
    )


def _on_one_path(case: CaseReport, tar: TARReport | None) -> str:
    """How many replays took the most frequent path, in as much of it as was captured."""
    if tar is None:
        return words.UNAVAILABLE
    share = tar.seq if tar.strong is None else tar.strong
    return f"{round(share * case.trajectory_denominator)} of {case.trajectory_denominator}"


def _decision(case: CaseReport, detail: CaseDetail | None) -> str:
    if detail is None or not detail.decisions:
        return "unanimous" if case.dar == 1.0 else "changed"
    if len(detail.decisions) == 1:
        return detail.decisions[0][0]
    return ", ".join(f"{label} {times}" for label, times in detail.decisions)


def _scope(report: ReportColumns) -> str:
    if report.cases_selected < report.suite_cases_total:
        return f"{report.cases_selected} of {words.count(report.suite_cases_total, 'case')} drawn"
    return "all cases of the suite"


def spread_text(spread: ReplaySpread | None) -> str:
    """How far apart in time the replays of a case started."""
    if spread is None:
        return words.UNAVAILABLE
    median, most = words.duration(spread.median_us), words.duration(spread.most_us)
    return f"{median} in the median case, {most} at most (first to last start)"


def observed_facts(report: ReportColumns) -> tuple[tuple[str, str], ...]:
    """How the episodes were observed, where that is not the usual way."""
    found = [] if report.tools is None else [("tool results", told(report.tools))]
    if report.episodes_not_recorded:
        lacking = f"of {report.episodes_planned}: the recording has no result for a call of theirs"
        found.append(("not recorded", f"{words.count(report.episodes_not_recorded, 'episode')} {lacking}"))
    if report.digest_key_id is not None:
        found.append(("digest key", report.digest_key_id))
    return tuple(found)


def _facts(report: ReportColumns) -> tuple[tuple[str, str], ...]:
    manifest = report.manifest
    return (
        ("provider", manifest.provider),
        ("model", manifest.model),
        ("adapter", f"{manifest.adapter} {manifest.adapter_version or ''}".strip()),
        ("episodes", f"{report.episodes_completed} of {report.episodes_planned} recorded"),
        ("eligible", f"{report.episodes_eligible} of {report.episodes_planned}"),
        ("cost", words.money(report.total_cost_nusd)),
        ("time in calls", words.duration(report.total_latency_us)),
        ("replays apart", spread_text(report.replay_spread)),
        ("schedule seed", str(report.schedule_seed)),
        *observed_facts(report),
        ("run plan", report.run_plan_sha256),
        ("manifest", manifest.hash),
        ("commitment", report.commitment),
        ("report", report.report_sha256),
        ("evidence", "verified" if report.artifacts_verified else "not verified: a file without its run directory"),
        ("last episode", words.UNAVAILABLE if report.created_at is None else report.created_at.isoformat()),
    )
