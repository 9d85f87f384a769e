"""Several runs side by side: of a sweep, or of one agent over time. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from dfah_cli.report import words
from dfah_cli.report.record import ReportColumns
from dfah_cli.report.view import MetricRow, metric_rows


@frozen(kw_only=True)
class OverviewRow:
    """One run. label: how the caller names it."""

    label: str
    suite: str
    plan: str
    model: str
    design: str
    status: str
    sentence: str
    metrics: tuple[MetricRow, ...]
    pairwise: str
    cost: str
    last: str
    gate: str | None


@frozen(kw_only=True)
class Overview:
    """The runs in the order of their last episode. remarks: what must not be compared."""

    rows: tuple[OverviewRow, ...]
    remarks: tuple[str, ...]


def overview(runs: Sequence[tuple[str, ReportColumns, str | None]]) -> Overview:
    """The overview of (label, report, gate verdict)."""
    ordered = sorted(runs, key=lambda run: (run[1].created_at is None, run[1].created_at or 0, run[0]))
    return Overview(
        rows=tuple(_row(label, report, verdict) for label, report, verdict in ordered),
        remarks=tuple(_remarks([report for _, report, _ in ordered])),
    )


def _row(label: str, report: ReportColumns, verdict: str | None) -> OverviewRow:
    return OverviewRow(
        label=label,
        suite=f"{report.suite_id} {report.suite_version}",
        plan=words.plan_tag(report.run_plan_sha256),
        model=report.manifest.model,
        design=f"{report.cases_selected} × {report.replays_requested}",
        status=str(report.status),
        sentence=words.verdict_sentence(report),
        metrics=metric_rows(report, ()),
        pairwise=words.share(report.pairwise_decision),
        cost=words.money(report.total_cost_nusd),
        last=words.UNAVAILABLE if report.created_at is None else report.created_at.isoformat(timespec="seconds"),
        gate=verdict,
    )


def _remarks(reports: Sequence[ReportColumns]) -> list[str]:
    told = []
    if len({report.replays_requested for report in reports}) > 1:
        told.append(
            "The runs have different numbers of replays: DAR, TAR, gap and flags move with it alone. Compare them by "
            "the chance that two replays agree."
        )
    if len({(report.suite_id, report.suite_version) for report in reports}) > 1:
        told.append("The runs are of different suites or suite versions; their numbers are not of the same cases.")
    if len({report.manifest.hash for report in reports}) > 1:
        told.append("The runs have different manifests: they measure different agents or settings.")
    return told
