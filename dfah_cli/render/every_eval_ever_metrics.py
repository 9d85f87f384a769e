"""Which numbers of a report are in an Every Eval Ever record, and how they are described there. One table."""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen

from dfah_cli.report.record import ReportColumns

TASK_MEAN = "mean over tasks of the mean over their eligible cases; DAR and TAR are over the same replays"
PLANNED = "eligible episodes of all planned ones; one that was never recorded is not eligible"
POOLED = "100 times the flagged cases of all eligible cases"


@frozen
class Metric:
    """One number of the record. interval: its name among the report's intervals; None when it has none."""

    key: str
    name: str
    says: str
    number: Callable[[ReportColumns], float | None]
    interval: str | None
    unit: str = "proportion"
    low: float = 0.0
    high: float = 1.0
    denominator: str = TASK_MEAN
    lower_is_better: bool = False


def _level(name: str) -> Callable[[ReportColumns], float | None]:
    return lambda report: None if report.tar is None else getattr(report.tar, name)


METRICS = (
    Metric("dar", "Decision agreement", "Share of replays with the most frequent decision of their case.",
           lambda report: report.dar, "dar"),
    Metric("tar_seq", "Tool sequence agreement", "Share of replays with the most frequent sequence of tool names.",
           _level("seq"), "tar.seq"),
    Metric("tar_bag", "Tool multiset agreement", "The same where the order of tools does not count.",
           _level("bag"), "tar.bag"),
    Metric("tar_set", "Tool set agreement", "The same where neither order nor number of calls counts.",
           _level("set"), "tar.set"),
    Metric("tar_strong", "Whole path agreement", "The same where digests of arguments and results count too.",
           _level("strong"), "tar.strong"),
    Metric("delta_dt", "Decision-path gap", "DAR minus TAR of the sequence, with its sign; a diagnosis, no ranking.",
           lambda report: report.gap, "gap", "proportion_points", -1.0),
    Metric("eligible_fraction", "Eligible episodes", "Planned episodes that could be compared.",
           lambda report: report.eligible_fraction, None, denominator=PLANNED),
    Metric("flags_per_100", "Flags per 100 cases", "Cases whose replays reach one decision by different paths.",
           lambda report: report.flags_per_100_cases, "flags_per_100", "cases_per_100", 0.0, 100.0, POOLED, True),
)  # fmt: skip
