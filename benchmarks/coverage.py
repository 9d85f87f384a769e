"""How often the intervals cover the truth, and how often a gate passes an agent that is worse: by simulation.

usage: python -m benchmarks.coverage [RUNS] > docs/coverage.md

The truth is the mean over a population of synthetic cases at the same number of replays, because that is what the
numbers estimate. Seeded: one machine, one answer.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from dfah_cli.metrics.intervals import Interval, Sides, bounded_interval, clopper_pearson, modal_floor

LABELS, PATHS = 2, 4
SIZES = (10, 20, 50, 200)
REPLAYS = (3, 5, 10)
NOMINAL, PROMISED = 0.95, 0.94
POPULATION = 200_000
MARGIN = 0.05

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@frozen(kw_only=True)
class Profile:
    """An agent: share of cases on which decision (path) is fixed, and the range of flip chances on the others."""

    fixed_decisions: float
    decision_flip: tuple[float, float]
    fixed_paths: float
    path_flip: tuple[float, float]


PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        "stable": Profile(fixed_decisions=0.97, decision_flip=(0.1, 0.3), fixed_paths=0.90, path_flip=(0.10, 0.48)),
        "typical": Profile(fixed_decisions=0.75, decision_flip=(0.0, 0.46), fixed_paths=0.40, path_flip=(0.10, 0.51)),
        "loose": Profile(fixed_decisions=0.40, decision_flip=(0.1, 0.5), fixed_paths=0.0, path_flip=(0.35, 0.84)),
    }
)


@frozen(kw_only=True, eq=False)
class Sample:
    """Values per case of a metric family, each of shape (cases,)."""

    dar: Floats
    tar: Floats
    pairwise: Floats
    flagged: NDArray[np.bool_]

    @property
    def gap(self) -> Floats:
        return self.dar - self.tar


@frozen(kw_only=True, eq=False)
class Cases:
    """Flip chances of the decision and of the path, shape (cases,)."""

    decision: Floats
    path: Floats


def draw_cases(profile: Profile, cases: int, random: np.random.RandomState) -> Cases:
    """Fresh cases of this agent."""
    return Cases(
        decision=_flips(cases, profile.fixed_decisions, profile.decision_flip, random),
        path=_flips(cases, profile.fixed_paths, profile.path_flip, random),
    )


def _flips(cases: int, fixed: float, between: tuple[float, float], random: np.random.RandomState) -> Floats:
    return np.where(random.random_sample(cases) < fixed, 0.0, random.uniform(*between, cases))


def sample(cases: Cases, replays: int, random: np.random.RandomState, *, worse: float = 0.0) -> Sample:
    """Replays of these cases. worse: share of replays whose decision becomes a third label."""
    decisions = _replays(cases.decision, replays, LABELS, random)
    if worse:
        decisions = np.where(random.random_sample(decisions.shape) < worse, LABELS, decisions)
    modal, pairs = _agreement(decisions, LABELS + 1)
    modal_paths, _ = _agreement(_replays(cases.path, replays, PATHS, random), PATHS)
    return Sample(
        dar=modal / replays,
        tar=modal_paths / replays,
        pairwise=pairs / (replays * (replays - 1)),
        flagged=(modal == replays) & (modal_paths < replays),
    )


def _replays(flip: Floats, replays: int, values: int, random: np.random.RandomState) -> Counts:
    shape = (len(flip), replays)
    return np.where(random.random_sample(shape) < flip[:, None], random.randint(1, values, shape), 0)


def _agreement(values: Counts, distinct: int) -> tuple[Counts, Counts]:
    counts = np.stack([(values == value).sum(axis=1) for value in range(distinct)])
    return counts.max(axis=0), (counts * (counts - 1)).sum(axis=0)


def truth(profile: Profile, replays: int) -> Mapping[str, float]:
    """Means over a large population."""
    random = np.random.RandomState(1)
    found = sample(draw_cases(profile, POPULATION, random), replays, random)
    return {
        "DAR": float(found.dar.mean()),
        "TAR": float(found.tar.mean()),
        "gap": float(found.gap.mean()),
        "pairwise": float(found.pairwise.mean()),
        "flags": float(found.flagged.mean()),
    }


def intervals(found: Sample, tasks: Counts, replays: int) -> Mapping[str, Interval]:
    """The default interval of each number."""
    widest = 1.0 - 1.0 / replays
    return {
        "DAR": _bounded(found.dar, tasks, modal_floor(replays, LABELS), 1.0),
        "TAR": _bounded(found.tar, tasks, 1.0 / replays, 1.0),
        "gap": _bounded(found.gap, tasks, -widest, widest),
        "pairwise": _bounded(found.pairwise, tasks, 0.0, 1.0),
        "flags": clopper_pearson(int(found.flagged.sum()), len(found.flagged)),
    }


def _bounded(values: Floats, tasks: Counts, lo: float, hi: float) -> Interval:
    """The interval, computed once for all suites that differ only in the order of their cases."""
    order = np.lexsort((values, tasks))
    return _bounded_once(values[order].tobytes(), tasks[order].tobytes(), lo, hi)


@lru_cache(maxsize=200_000)
def _bounded_once(values: bytes, tasks: bytes, lo: float, hi: float) -> Interval:
    return bounded_interval(np.frombuffer(values), np.frombuffer(tasks, dtype=np.int64), lo, hi)


def coverage(
    profile: Profile, cases: int, replays: int, *, runs: int, tasks: int = 1, seed: int = 7
) -> dict[str, float]:
    """Share of runs whose interval holds the truth, per number."""
    random = np.random.RandomState(seed)
    expected = truth(profile, replays)
    hits = dict.fromkeys(expected, 0)
    labels = np.arange(cases) % tasks
    for _ in range(runs):
        found = intervals(sample(draw_cases(profile, cases, random), replays, random), labels, replays)
        for name, interval in found.items():
            hits[name] += interval.low <= expected[name] <= interval.high
    return {name: count / runs for name, count in hits.items()}


def false_pass(profile: Profile, cases: int, *, runs: int, replays: int = 3, seed: int = 7) -> float:
    """Share of runs in which an agent that is worse by exactly the margin passes the non-inferiority gate."""
    random = np.random.RandomState(seed)
    widest = 1.0 - 1.0 / replays
    worse = _worse_by(profile, replays, MARGIN)
    passed = 0
    for _ in range(runs):
        same = draw_cases(profile, cases, random)
        base, candidate = sample(same, replays, random), sample(same, replays, random, worse=worse)
        bound = bounded_interval(base.dar - candidate.dar, None, -widest, widest, sides=Sides.UPPER)
        passed += bound.high < MARGIN
    return passed / runs


def _worse_by(profile: Profile, replays: int, loss: float) -> float:
    """The share of spoiled decisions that costs that much DAR, by bisection."""
    random = np.random.RandomState(1)
    population = draw_cases(profile, POPULATION, random)
    expected, low, high = float(sample(population, replays, random).dar.mean()) - loss, 0.0, 0.5
    for _ in range(16):
        middle = (low + high) / 2
        found = sample(population, replays, np.random.RandomState(2), worse=middle)
        low, high = (middle, high) if found.dar.mean() > expected else (low, middle)
    return low


def page(runs: int) -> Iterator[str]:
    """The Markdown page."""
    yield "# Coverage of the intervals\n"
    yield f"Nominal {NOMINAL:.0%}; {runs:,} simulated suites per row; made by `python -m benchmarks.coverage {runs}`."
    yield "The cases are synthetic and replays independent. What is covered is the mean over the population of cases at"
    yield "that number of replays. A share has a standard error of about 0.01 here.\n"
    names = ("DAR", "TAR", "gap", "pairwise", "flags")
    yield f"| agent | R | cases | tasks | {' | '.join(names)} |"
    yield f"|---|---|---|---|{'---|' * len(names)}"
    for agent, profile in PROFILES.items():
        for replays in REPLAYS:
            for cases in SIZES:
                for tasks in (1, 3) if replays == REPLAYS[0] else (1,):
                    found = coverage(profile, cases, replays, runs=runs, tasks=tasks)
                    shown = " | ".join(f"{found[name]:.3f}" for name in names)
                    yield f"| {agent} | {replays} | {cases} | {tasks} | {shown} |"
    yield f"\n## Passing an agent that is worse by exactly the margin ({MARGIN})\n"
    yield "Share of passes of the non-inferiority gate on DAR, R = 3; at most 0.05 is wanted.\n"
    yield "| agent | 20 cases | 50 | 100 | 200 |"
    yield "|---|---|---|---|---|"
    for agent in ("stable", "typical", "loose"):
        shares = (false_pass(PROFILES[agent], cases, runs=runs) for cases in (20, 50, 100, 200))
        yield f"| {agent} | {' | '.join(f'{share:.3f}' for share in shares)} |"


def main() -> None:
    for line in page(int(sys.argv[1]) if len(sys.argv) > 1 else 400):
        print(line, flush=True)


if __name__ == "__main__":
    main()
