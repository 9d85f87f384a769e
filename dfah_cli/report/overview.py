"""Several runs side by side: of a sweep, or of one agent over time. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from attrs import evolve, frozen

from dfah_cli.report import words
from dfah_cli.report.against import Against
from dfah_cli.report.against_view import AgainstView, against_view
from dfah_cli.report.limits import intervals_by_name
from dfah_cli.report.record import ReportColumns
from dfah_cli.report.rows import MetricRow
from dfah_cli.report.view import metric_rows, pairwise_rows

Run = tuple[str, ReportColumns, str | None]
WITHIN = "within the intervals"
DRIFT = {"dar": "DAR", "tar.seq": "TAR.seq", "gap": "gap", "flags_per_100": "flags"}


@frozen(kw_only=True)
class OverviewRow:
    """One run. label: how the caller names it. drift: what it says beside the run before it that is like it.

    against: its comparison with the baseline; None without one.
    """

    label: str
    suite: str
    plan: str
    model: str
    design: str
    status: str
    sentence: str
    metrics: tuple[MetricRow, ...]
    pairwise: MetricRow
    drift: str
    cost: str
    last: str
    gate: str | None
    against: AgainstView | None = None

    @property
    def moved(self) -> bool:
        """Whether the run drifted from the one before it."""
        return self.drift not in (words.UNAVAILABLE, WITHIN)


@frozen(kw_only=True)
class Overview:
    """The runs in the order of their last episode. sentence: which drifted. remarks: what must not be compared.

    baselines: what the runs are compared with; empty without a comparison.
    """

    sentence: str
    rows: tuple[OverviewRow, ...]
    remarks: tuple[str, ...]

    @property
    def baselines(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.against.base for row in self.rows if row.against is not None))


def overview(runs: Sequence[Run], held: Mapping[int, Against] = MappingProxyType({})) -> Overview:
    """The overview of (label, report, gate verdict). held: comparisons with a baseline, by the place of the run."""
    places = sorted(range(len(runs)), key=lambda place: _age(runs[place]))
    ordered = [runs[place] for place in places]
    views = [against_view(held[place]) if place in held else None for place in places]
    rows = tuple(evolve(_row(run, _before(index, ordered)), against=views[index]) for index, run in enumerate(ordered))
    return Overview(
        sentence=_sentence(rows),
        rows=rows,
        remarks=tuple(_remarks([report for _, report, _ in ordered])),
    )


def _age(run: Run) -> tuple[Any, ...]:
    label, report, _ = run
    return report.created_at is None, report.created_at or 0, label


def _before(index: int, ordered: Sequence[Run]) -> ReportColumns | None:
    """The newest earlier run of the same suite and replays; others cannot be compared with it."""
    _, mine, _ = ordered[index]
    alike = [other for _, other, _ in ordered[:index] if _design(other) == _design(mine) and other.metrics_available]
    return alike[-1] if alike else None


def _design(report: ReportColumns) -> tuple[object, ...]:
    return report.suite_id, report.suite_version, report.cases_selected, report.replays_requested


def drift(before: ReportColumns | None, now: ReportColumns) -> str:
    """Which headline numbers moved further than both intervals explain; a dash where nothing is comparable."""
    if before is None or not now.metrics_available:
        return words.UNAVAILABLE
    earlier, later = intervals_by_name(before), intervals_by_name(now)
    moved = [
        f"{label} {'up' if later[name].low > earlier[name].high else 'down'}"
        for name, label in DRIFT.items()
        if name in earlier and name in later
        if later[name].low > earlier[name].high or later[name].high < earlier[name].low
    ]
    return ", ".join(moved) or WITHIN


def _sentence(rows: Sequence[OverviewRow]) -> str:
    moved = [f"{row.label} ({row.drift})" for row in rows if row.moved]
    if moved:
        verb = "run moved" if len(moved) == 1 else "runs moved"
        return f"{len(moved)} of {len(rows)} {verb} beyond the intervals of the run before: {words.listed(moved, 3)}."
    if all(row.drift == words.UNAVAILABLE for row in rows):
        return (
            f"{words.count(len(rows), 'run')}; no two of them have the same suite and replays, so drift cannot be seen."
        )
    return f"No drift: every run of {len(rows)} stays within the intervals of the one before it."


def _row(run: Run, before: ReportColumns | None) -> OverviewRow:
    label, report, verdict = run
    return OverviewRow(
        label=label,
        suite=f"{report.suite_id} {report.suite_version}",
        plan=words.plan_tag(report.run_plan_sha256),
        model=report.manifest.model,
        design=f"{report.cases_selected} × {report.replays_requested}",
        status=str(report.status),
        sentence=words.verdict_sentence(report),
        metrics=metric_rows(report, ()),
        pairwise=pairwise_rows(report)[0],
        drift=drift(before, report),
        cost=words.money(report.total_cost_nusd),
        last=words.UNAVAILABLE if report.created_at is None else f"{report.created_at:%Y-%m-%d %H:%M} UTC",
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
