"""What a run cannot show, in words. Pure."""

from __future__ import annotations

from dfah_cli.records.tool_source import answering
from dfah_cli.report import words
from dfah_cli.report.cases import MetricInterval
from dfah_cli.report.record import ReportColumns


def intervals_by_name(report: ReportColumns) -> dict[str, MetricInterval]:
    """The intervals of the whole run."""
    return {interval.metric: interval for interval in report.intervals if interval.task is None}


def limits(report: ReportColumns) -> tuple[str, ...]:
    """One sentence each."""
    told = ["These numbers say how far replays repeat each other. They do not say that a decision is correct."]
    if report.metrics_available:
        told.append(
            f"DAR, TAR, gap and flags depend on the number of replays ({report.replays_requested}): compare them only "
            "with runs of equal replays. The chance that two replays agree does not depend on it."
        )
    told += [*_rare_flags(report), *_replayed(report)]
    if any(interval.low_support for interval in report.intervals):
        told.append("A task has fewer than four cases: its interval is wide because little is known.")
    if report.ineligible_groups:
        told.append(
            f"{words.count(report.ineligible_groups, 'case')} could not be judged; the numbers are of the other "
            f"{report.observed_groups} only, and the missing ones need not be like them."
        )
    return tuple(told)


def _replayed(report: ReportColumns) -> list[str]:
    if answering(report.tools) is None:
        return []
    told = "The tools were not called: their results come from a recording, so these numbers are of the agent alone"
    return [f"{told} and not comparable with those of a run whose tools were called."]


def _rare_flags(report: ReportColumns) -> list[str]:
    interval = intervals_by_name(report).get("flags_per_100")
    if interval is None or report.flagged_groups:
        return []
    cases, most = words.count(report.observed_groups, "case"), words.rate(interval.high)
    return [f"No flag in {cases} does not mean none: the rate may be up to {most} per 100 (95 %)."]
