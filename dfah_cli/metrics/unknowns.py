"""What a run could still turn out to be if its ineligible groups were known. Pure, exact.

Groups are not lost at random: what failed is often what was unstable. A verdict that holds with all unknowns agreeing
and with all disagreeing does not depend on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from attrs import frozen

from dfah_cli.metrics.agreement import IntArray
from dfah_cli.metrics.columns import DECISION
from dfah_cli.metrics.measure import RunMeasurement
from dfah_cli.metrics.weighting import weighting
from dfah_cli.records.enums import REFINEMENT, PathMode


@frozen(kw_only=True)
class Outcomes:
    """agreeing: every ineligible group had agreed in everything. worst: each had been as bad as this number can be."""

    agreeing: Fraction
    worst: Fraction


def unknown_outcomes(run: RunMeasurement, *, labels: int | None = None) -> Mapping[str, Outcomes]:
    """Outcomes of `dar`, `tar.MODE`, `gap`, `flags_per_100` and `sequence_flags_per_100`; empty without any group.

    labels: size of the decision ontology; None = a decision could have been anything. A number that the eligible
    groups do not have (a channel was not captured) has no entry. Both outcomes equal the number itself when every
    group is eligible.
    """
    if not run.groups_total:
        return {}
    replays = run.replays or int(max(2, run.columns.replays.max(initial=2)))
    floor = -(-replays // labels) if labels else 1
    found = {"dar": _filled(run, DECISION, replays, floor)}
    for mode in REFINEMENT:
        if run.tar[mode] is not None or not run.groups_eligible:
            found[f"tar.{mode}"] = _filled(run, mode, replays, 1)
    seq = found["tar.seq"]
    # The worst gap has every unknown case decide alike on paths that all differ.
    found["gap"] = Outcomes(agreeing=found["dar"].agreeing - seq.agreeing, worst=found["dar"].agreeing - seq.worst)
    if run.flagged is not None:
        found["flags_per_100"] = _flags(run, run.flagged)
    found["sequence_flags_per_100"] = _flags(run, run.sequence_flagged)
    return found


def _filled(run: RunMeasurement, channel: str | PathMode, replays: int, floor: int) -> Outcomes:
    agreeing, worst = (_mean(run, channel, replays, count) for count in (replays, floor))
    return Outcomes(agreeing=agreeing, worst=worst)


def _mean(run: RunMeasurement, channel: str, replays: int, unknown: int) -> Fraction:
    """Task-weighted mean over all groups, the ineligible ones with `unknown` of `replays` in agreement."""
    columns = run.columns
    every = weighting(columns.task, np.ones(run.groups_total, dtype=np.bool_))
    modal: IntArray = np.where(columns.eligible, columns.modal[channel], unknown)
    sizes: IntArray = np.where(columns.eligible, columns.replays, replays)
    found = every.mean(modal, sizes)
    assert found is not None
    return found


def _flags(run: RunMeasurement, flagged: int) -> Outcomes:
    return Outcomes(
        agreeing=Fraction(100 * flagged, run.groups_total),
        worst=Fraction(100 * (flagged + run.groups_ineligible), run.groups_total),
    )
