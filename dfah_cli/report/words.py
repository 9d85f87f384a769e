"""Numbers, digests and findings as words. The only place that knows the sign for "unavailable". Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dfah_cli.metrics.alignment import Edit
from dfah_cli.metrics.paths import StepLike
from dfah_cli.records.enums import PathVariationKind
from dfah_cli.report.cases import MetricInterval
from dfah_cli.report.divergence import Cause, Parting
from dfah_cli.report.record import ReportColumns

UNAVAILABLE = "—"
NUSD = 1_000_000_000
KIND_WORDS = {
    PathVariationKind.NONE: "none",
    PathVariationKind.ARGUMENT_OR_RESULT: "arguments or results",
    PathVariationKind.ORDER_ONLY: "order",
    PathVariationKind.MULTIPLICITY: "count",
    PathVariationKind.TOOL_SET: "tools",
}


def share(value: float | None) -> str:
    """A share with three decimals; more when it would otherwise be rounded to 0 or 1."""
    if value is None:
        return UNAVAILABLE
    for digits in range(3, 8):
        text = f"{value:.{digits}f}"
        if float(text) == value or float(text) not in (0.0, 1.0, -1.0):
            return text.replace("-0.000", "0.000") if float(text) == 0.0 else text
    return f"{value:.1e}" if abs(value) < 0.5 else f"{value:.9f}"


def with_interval(value: float | None, limits: MetricInterval | None) -> str:
    """A share and its interval in brackets, when there is one."""
    if limits is None:
        return share(value)
    return f"{share(value)} ({between((limits.low, limits.high))})"


def between(limits: tuple[float, float] | None) -> str:
    """An interval of shares, or empty."""
    return "" if limits is None else interval(share(limits[0]), share(limits[1]))


def interval(low: str, high: str) -> str:
    """Two spelled limits; a dash between numbers with signs would be read as a sign itself."""
    return f"{low} to {high}" if {low[:1], high[:1]} & {"-", "+"} else f"{low} – {high}"


def listed(names: Sequence[str], most: int = 8) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def rate(value: float | None) -> str:
    """A rate per 100 with one decimal."""
    if value is None:
        return UNAVAILABLE
    return f"{value:.1f}" if value == 0.0 or abs(value) >= 0.05 else f"{value:.3f}"


def signed(text: str) -> str:
    """A spelled number as a change: with its sign unless it is zero."""
    return text if text.startswith("-") or not text.strip("0.") or text == UNAVAILABLE else f"+{text}"


def chance(p: float) -> str:
    """The p value of an exact test."""
    if p < 0.0001:
        return "p < 0.0001"
    return f"p = {p:.{4 if p < 0.01 else 3 if p < 0.1 else 2}f}"


def money(nusd: int | None) -> str:
    """Dollars with two decimals; more when the amount is smaller than a cent."""
    if nusd is None:
        return UNAVAILABLE
    if nusd % (NUSD // 100) == 0 or nusd >= NUSD:
        return f"${nusd / NUSD:,.2f}"
    return f"${nusd / NUSD:.9f}".rstrip("0")


def duration(us: float | None) -> str:
    """A time span in the unit that suits it."""
    if us is None:
        return UNAVAILABLE
    if us < 1_000_000:
        return f"{us / 1000:.1f} ms"
    seconds = us / 1_000_000
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{seconds:02d}"


def spread(values: Sequence[int], spell: Callable[[int], str]) -> str:
    """What most of the values are, by nearest rank. values: at least one."""
    ordered = sorted(values)
    if ordered[0] == ordered[-1]:
        return f"{spell(ordered[0])} for each of {count(len(ordered), 'episode')}."
    half, most = ordered[(len(ordered) - 1) // 2], ordered[-(-95 * len(ordered) // 100) - 1]
    told = f"up to {spell(half)}, 95 % up to {spell(most)}, the largest {spell(ordered[-1])}"
    return f"Half of {count(len(ordered), 'episode')} took {told}."


def short(digest: str | None) -> str:
    """The first digits of a digest."""
    return UNAVAILABLE if digest is None else f"{digest[:4]}…"


def plan_tag(digest: str) -> str:
    """The first 12 digits of a plan digest."""
    return digest[:12]


def count(number: int, noun: str) -> str:
    """`1 case`, `2 cases`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def bound(observed: float | str | None) -> str:
    """A threshold or an observation as it was spelled."""
    if observed is None:
        return UNAVAILABLE
    if isinstance(observed, float):
        return str(int(observed)) if observed.is_integer() and abs(observed) < 1e15 else repr(observed)
    return observed


def step_text(step: StepLike) -> str:
    """A step of a path: tool, argument tag, and how its result looks."""
    name, arguments, output, result, execution = step
    if execution != "executed":
        return f"{name} {short(arguments)} → {execution}"
    return f"{name} {short(arguments)} → {'empty' if result == 'observed_empty' else short(output)}"


def parting_text(found: Parting | None) -> str:
    """Where two paths part, and in what."""
    if found is None:
        return UNAVAILABLE
    one, other = short(found.tags[0]), short(found.tags[1])
    told = {
        Edit.INSERT: f"one more call of {found.here}" if found.cause is Cause.COUNT else f"{found.here} comes in",
        Edit.DROP: f"one call of {found.here} less" if found.cause is Cause.COUNT else f"{found.here} is left out",
        Edit.REPLACE: f"{found.here} or {found.there}",
        Edit.SWAP: f"{found.here} ⇄ {found.there}",
        Edit.ARGUMENT: f"{found.here}, argument {one} or {other}",
        Edit.RESULT: f"{found.here}, result {one} or {other} for equal arguments",
        Edit.STATUS: f"{found.here}, another state",
    }
    return f"step {found.step}: {told[found.edit]}"


def observed(value: float | str, expected: float | str) -> str:
    """What a check found, with six digits; all of them when six would look like the threshold."""
    if isinstance(value, str):
        return value
    text = f"{value:.6g}"
    return repr(value) if isinstance(expected, float) and float(text) == expected != value else text


def verdict_sentence(report: ReportColumns) -> str:
    """What the run shows, in one sentence."""
    if not report.observed_groups:
        return f"Nothing could be measured: no replay group of {count(report.cases_selected, 'case')} is eligible."
    lost = f" {count(report.ineligible_groups, 'case')} could not be judged." if report.ineligible_groups else ""
    return _finding(report) + lost


def _finding(report: ReportColumns) -> str:
    groups, flagged = report.observed_groups, report.flagged_groups
    unstable = sum(1 for case in report.case_reports if case.dar < 1.0)
    if unstable:
        told = f"The decision is not stable: {unstable} of {count(groups, 'case')} changed their decision"
        more = f", and {flagged} more reach one decision by different paths" if flagged else ""
        return f"{told}{more}."
    if flagged:
        return (
            f"The decision is stable, the path is not: {flagged} of {count(groups, 'case')} "
            "reach one decision by different paths."
        )
    return f"Every decision and every path repeated: {count(groups, 'case')}, {report.replays_requested} replays each."
