"""How often the intervals cover the truth, and how often a gate passes an agent that is worse: by simulation.

usage: python -m benchmarks.coverage [RUNS] > docs/coverage.md

The truth is the mean over a population of synthetic cases at the same number of replays, because that is what the
numbers estimate. Seeded: one machine, one answer.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from math import comb
from types import MappingProxyType

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from benchmarks.many_intervals import limits, outcomes
from dfah_cli.metrics.intervals import clopper_pearson, modal_floor

LABELS, PATHS = 2, 4
SIZES = (10, 20, 50, 200)
REPLAYS = (3, 5, 10)
NOMINAL, PROMISED = 0.95, 0.94
POPULATION = 200_000
MARGIN = 0.05
RUNS = 4000

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


@lru_cache(maxsize=64)
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


def coverage(
    profile: Profile, cases: int, replays: int, *, runs: int, tasks: int = 1, seed: int = 7
) -> dict[str, float]:
    """Share of suites whose interval holds the truth, per number; of flags exactly, by enumeration."""
    found = suites(profile, cases, replays, runs=runs, seed=seed)
    labels, expected = np.arange(cases) % tasks, truth(profile, replays)
    widest, miss = 1.0 - 1.0 / replays, (1.0 - NOMINAL) / 2.0
    ranges = {
        "DAR": (found.dar, modal_floor(replays, LABELS), 1.0),
        "TAR": (found.tar, 1.0 / replays, 1.0),
        "gap": (found.gap, -widest, widest),
        "pairwise": (found.pairwise, 0.0, 1.0),
    }
    held = {}
    for name, (values, lo, hi) in ranges.items():
        low, high = limits(outcomes(values.reshape(runs, cases), labels), lo, hi, miss=miss).T
        held[name] = float(((low <= expected[name]) & (expected[name] <= high)).mean())
    return held | {"flags": exact_coverage(expected["flags"], cases)}


def suites(profile: Profile, cases: int, replays: int, *, runs: int, seed: int) -> Sample:
    """Many suites of fresh cases, one after the other in every array."""
    random = np.random.RandomState(seed)
    return sample(draw_cases(profile, runs * cases, random), replays, random)


def exact_coverage(rate: float, cases: int) -> float:
    """Chance that the interval of a rate holds it: flagged cases of fresh suites are binomial, so nothing is drawn."""
    found = (clopper_pearson(flagged, cases) for flagged in range(cases + 1))
    return sum(
        comb(cases, flagged) * rate**flagged * (1.0 - rate) ** (cases - flagged)
        for flagged, interval in enumerate(found)
        if interval.low <= rate <= interval.high
    )


def false_pass(profile: Profile, cases: int, *, runs: int, replays: int = 3, seed: int = 7) -> float:
    """Share of runs in which an agent that is worse by exactly the margin passes the non-inferiority gate."""
    random = np.random.RandomState(seed)
    widest, worse = 1.0 - 1.0 / replays, _worse_by(profile, replays, MARGIN)
    same = draw_cases(profile, runs * cases, random)
    base, candidate = sample(same, replays, random), sample(same, replays, random, worse=worse)
    losses = outcomes((base.dar - candidate.dar).reshape(runs, cases), np.zeros(cases, dtype=np.int64))
    return float((limits(losses, -widest, widest, miss=1.0 - NOMINAL)[:, 1] < MARGIN).mean())


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
    error = (PROMISED * (1.0 - PROMISED) / runs) ** 0.5
    yield "# Coverage of the intervals\n"
    yield f"Nominal {NOMINAL:.0%}; {runs:,} simulated suites per row; made by `python -m benchmarks.coverage {runs}`."
    yield "The cases are synthetic and replays independent. What is covered is the mean over the population of cases at"
    yield f"that number of replays. A simulated share has a standard error of at most {error:.4f}; the column of flags"
    yield "is exact, because flagged cases of fresh suites are binomial and every outcome can be added up.\n"
    names = ("DAR", "TAR", "gap", "pairwise", "flags")
    yield f"| agent | R | cases | tasks | {' | '.join(names)} |"
    yield f"|---|---|---|---|{'---|' * len(names)}"
    lowest = 1.0
    for agent, replays, cases, tasks in cells():
        found = coverage(PROFILES[agent], cases, replays, runs=runs, tasks=tasks)
        lowest = min(lowest, *found.values())
        yield f"| {agent} | {replays} | {cases} | {tasks} | {' | '.join(f'{found[name]:.3f}' for name in names)} |"
    yield f"\nLowest of all: {lowest:.3f}; at least {PROMISED} is promised."
    yield f"\n## Passing an agent that is worse by exactly the margin ({MARGIN})\n"
    yield "Share of passes of the non-inferiority gate on DAR, R = 3; at most 0.05 is wanted.\n"
    yield "| agent | 20 cases | 50 | 100 | 200 |"
    yield "|---|---|---|---|---|"
    for agent, profile in PROFILES.items():
        shares = (false_pass(profile, cases, runs=runs) for cases in (20, 50, 100, 200))
        yield f"| {agent} | {' | '.join(f'{share:.4f}' for share in shares)} |"


def cells() -> Iterator[tuple[str, int, int, int]]:
    """(agent, replays, cases, tasks) of every row."""
    for agent in PROFILES:
        for replays in REPLAYS:
            for cases in SIZES:
                for tasks in (1, 3):
                    yield agent, replays, cases, tasks


def main() -> None:
    for line in page(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS):
        print(line, flush=True)


if __name__ == "__main__":
    main()
