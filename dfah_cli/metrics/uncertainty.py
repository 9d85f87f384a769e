"""The headline numbers of a run with what the data can stand behind. Pure, seeded."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from attrs import evolve, frozen

from dfah_cli.metrics.agreement import IntArray
from dfah_cli.metrics.columns import DECISION
from dfah_cli.metrics.distinct import distinct
from dfah_cli.metrics.intervals import (
    LEVEL,
    SEED,
    Floats,
    Interval,
    Scope,
    Sides,
    bounded_interval,
    clopper_pearson,
    modal_floor,
)
from dfah_cli.metrics.measure import RunMeasurement
from dfah_cli.records.enums import REFINEMENT, PathMode


@frozen(kw_only=True)
class Confidence:
    """How intervals are made. labels: size of the decision ontology, None when unknown."""

    level: float = LEVEL
    seed: int = SEED
    labels: int | None = None
    sides: Sides = Sides.BOTH
    scope: Scope = Scope.POPULATION


def run_intervals(run: RunMeasurement, how: Confidence) -> Mapping[str, Interval]:
    """Interval per metric.

    Names: `dar`, `tar.MODE`, `gap`, `pairwise.decision`, `pairwise.path.MODE`, `flags_per_100`,
    `sequence_flags_per_100`, `flags_per_100.worst_case`.
    A metric that is unavailable has no entry. The worst case counts every ineligible group as flagged.
    """
    if not run.groups_eligible:
        return {}
    found = {**_modal_intervals(run, how), **_pairwise_intervals(run, how), **_flag_intervals(run, how)}
    return {name: evolve(interval, scope=how.scope) for name, interval in found.items()}


def _modal_intervals(run: RunMeasurement, how: Confidence) -> dict[str, Interval]:
    rows = run.weights.rows
    replays = run.columns.replays[rows]
    most = int(replays.max())
    dar = _shares(run, run.columns.modal, DECISION)
    found = {"dar": _bounded(run, dar, min(modal_floor(n, how.labels) for n in distinct(replays)), 1.0, how)}
    for mode in _known_modes(run):
        found[f"tar.{mode}"] = _bounded(run, _shares(run, run.columns.modal, mode), 1.0 / most, 1.0, how)
    # One subtraction of integers: 2/3 − 1/3 must be the same number in every case.
    gaps = run.columns.modal[DECISION][rows] - run.columns.modal[PathMode.SEQ][rows]
    widest = 1.0 - 1.0 / most
    found["gap"] = _bounded(run, gaps / replays, -widest, widest, how)
    return found


def _pairwise_intervals(run: RunMeasurement, how: Confidence) -> dict[str, Interval]:
    found = {"pairwise.decision": _bounded(run, _pairs(run, DECISION), 0.0, 1.0, how)}
    for mode in _known_modes(run):
        found[f"pairwise.path.{mode}"] = _bounded(run, _pairs(run, mode), 0.0, 1.0, how)
    return found


def _flag_intervals(run: RunMeasurement, how: Confidence) -> dict[str, Interval]:
    cases, lost = run.groups_eligible, run.groups_ineligible
    found = {"sequence_flags_per_100": _per_100(run.sequence_flagged, cases, how)}
    if run.flagged is not None:
        found["flags_per_100"] = _per_100(run.flagged, cases, how)
        # Groups are not lost at random: what failed is what was unstable.
        found["flags_per_100.worst_case"] = _per_100(run.flagged + lost, cases + lost, how)
    return found


def _known_modes(run: RunMeasurement) -> list[PathMode]:
    return [mode for mode in REFINEMENT if run.tar[mode] is not None]


def _shares(run: RunMeasurement, counts: Mapping[str, IntArray], channel: str) -> Floats:
    rows = run.weights.rows
    return np.asarray(counts[channel][rows] / run.columns.replays[rows])


def _pairs(run: RunMeasurement, channel: str) -> Floats:
    replays = run.columns.replays[run.weights.rows]
    return np.asarray(run.columns.pairs[channel][run.weights.rows] / (replays * (replays - 1)))


def _bounded(run: RunMeasurement, values: Floats, lo: float, hi: float, how: Confidence) -> Interval:
    tasks = run.columns.task[run.weights.rows]
    return bounded_interval(values, tasks, lo, hi, level=how.level, seed=how.seed, sides=how.sides)


def _per_100(events: int, cases: int, how: Confidence) -> Interval:
    rate = clopper_pearson(events, cases, level=how.level, sides=how.sides)
    return evolve(rate, value=100 * rate.value, low=100 * rate.low, high=100 * rate.high)
