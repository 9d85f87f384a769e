"""Instability split into its sources: what goes away when one source at a time is frozen, what stays when all are.

Pure, seeded. Every part has an interval over cases, paired case by case with the run in which nothing was frozen.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from dfah_cli.errors import EligibilityError
from dfah_cli.metrics.intervals import LEVEL, SEED, Interval
from dfah_cli.metrics.paired import Measured
from dfah_cli.metrics.uncertainty import Confidence, run_intervals
from dfah_cli.metrics.versus import Difference, compare_runs

METRICS = ("flags", "dar", "tar.seq", "tar.strong")
_OF_RUN = {"flags": "flags_per_100", "dar": "dar", "tar.seq": "tar.seq", "tar.strong": "tar.strong"}


@frozen(kw_only=True)
class Part:
    """How much of an instability; shares, so that 0.05 flags are 5 per 100. cases: that it is about.

    shown: whether the data show that there is any.
    """

    value: float
    low: float
    high: float
    cases: int
    shown: bool


@frozen(kw_only=True)
class Split:
    """One metric, as instability: flag rate, 1 − DAR, 1 − TAR.

    sources: by frozen source, what goes away with it; None when no case was eligible in both runs. remaining: what is
    there with everything frozen; None when no case was eligible. unexplained: live less all of these; what sources do
    only together, and chance. None when a part is missing.
    """

    metric: str
    live: Part
    sources: Mapping[str, Part | None]
    remaining: Part | None
    unexplained: float | None


def split(
    live: Measured, frozen_one: Mapping[str, Measured], frozen_all: Measured, *, level: float = LEVEL, seed: int = SEED
) -> tuple[Split, ...]:
    """The instability of `live`, by metric; only metrics that every run has."""
    how = Confidence(level=level, seed=seed)
    stated = _instabilities(live, how)
    left = _instabilities(frozen_all, how)
    gone = {name: _gone(live, arm, level, seed) for name, arm in frozen_one.items()}
    return tuple(
        _split(metric, stated[metric], {name: parts.get(metric) for name, parts in gone.items()}, left.get(metric))
        for metric in METRICS
        if metric in stated
    )


def unstable(live: Measured) -> bool:
    """Whether there is anything to split: a case whose replays differ in decision or in path."""
    return any(part.value > 0 for part in _instabilities(live, Confidence()).values())


def _split(metric: str, live: Part, sources: Mapping[str, Part | None], remaining: Part | None) -> Split:
    parts = [*sources.values(), remaining]
    known = [part.value for part in parts if part is not None]
    unexplained = live.value - sum(known) if len(known) == len(parts) else None
    return Split(metric=metric, live=live, sources=sources, remaining=remaining, unexplained=unexplained)


def _instabilities(run: Measured, how: Confidence) -> dict[str, Part]:
    """What varies in a run; any variation that was seen is there."""
    intervals = run_intervals(run.run, how)
    found = {}
    for metric, name in _OF_RUN.items():
        interval = intervals.get(name)
        if interval is not None:
            found[metric] = _share(interval) if metric == "flags" else _complement(interval)
    return found


def _share(per_100: Interval) -> Part:
    value, low, high = per_100.value / 100, per_100.low / 100, per_100.high / 100
    return Part(value=value, low=low, high=high, cases=per_100.cases, shown=value > 0)


def _complement(agreement: Interval) -> Part:
    value, low, high = 1.0 - agreement.value, 1.0 - agreement.high, 1.0 - agreement.low
    return Part(value=value, low=low, high=high, cases=agreement.cases, shown=value > 0)


def _gone(live: Measured, arm: Measured, level: float, seed: int) -> dict[str, Part]:
    """What the frozen source takes away, by metric; empty when no case was eligible in both runs."""
    try:
        compared = compare_runs(live, arm, level=level, seed=seed)
    except EligibilityError:
        return {}
    return {one.metric: _reduction(one) for one in compared.differences if one.metric in METRICS}


def _reduction(change: Difference) -> Part:
    interval = change.interval
    # Agreement rises as instability falls.
    rises = change.metric != "flags"
    low, high = (interval.low, interval.high) if rises else (0.0 - interval.high, 0.0 - interval.low)
    value = interval.value if rises else 0.0 - interval.value
    return Part(value=value, low=low, high=high, cases=interval.cases, shown=low > 0)
