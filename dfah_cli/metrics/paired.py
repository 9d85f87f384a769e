"""The cases that two runs share, with the values of their replays side by side. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction

import numpy as np
from attrs import frozen

from dfah_cli.errors import EligibilityError
from dfah_cli.metrics.family import flag_at_k, modal_at_k
from dfah_cli.metrics.measure import RunMeasurement
from dfah_cli.metrics.table import EpisodeTable, GroupKey
from dfah_cli.records.enums import PathMode

Joint = Counter[tuple[str, Hashable, Hashable]]


@frozen
class Measured:
    """A table with the numbers made from it."""

    table: EpisodeTable
    run: RunMeasurement


@frozen(kw_only=True)
class PairedCase:
    """One case of both runs. base, candidate: replays per (decision, tool sequence, strong path).

    A strong path that was not captured is None.
    """

    key: GroupKey
    base: Joint
    candidate: Joint


@frozen(kw_only=True)
class Pairing:
    """Cases eligible in both runs, sorted by task and case. replays: the smallest number in any of them."""

    cases: tuple[PairedCase, ...]
    replays: int
    rarefied: bool
    only_base: tuple[GroupKey, ...]
    only_candidate: tuple[GroupKey, ...]


def pair(base: Measured, candidate: Measured) -> Pairing:
    """The shared cases. Raises: EligibilityError when no case is eligible in both runs."""
    left, right = _groups(base), _groups(candidate)
    shared = sorted(left.keys() & right.keys())
    if not shared:
        raise EligibilityError("no case is eligible in both runs; compare runs of one suite with complete cases")
    sizes = {sum(side[key].values()) for key in shared for side in (left, right)}
    return Pairing(
        cases=tuple(PairedCase(key=key, base=left[key], candidate=right[key]) for key in shared),
        replays=min(sizes),
        rarefied=len(sizes) > 1,
        only_base=tuple(sorted(left.keys() - right.keys())),
        only_candidate=tuple(sorted(right.keys() - left.keys())),
    )


def _groups(side: Measured) -> dict[GroupKey, Joint]:
    """Replays per value in each eligible group; values are comparable between tables."""
    table = side.table
    labels = [*table.labels, ""]
    sequences = _keys(table, PathMode.SEQ)
    strong = _keys(table, PathMode.STRONG)
    order = table.order()
    starts = np.searchsorted(table.group[order], np.arange(len(table.groups) + 1))
    found: dict[GroupKey, Joint] = {}
    decisions, seq, fine = table.decision[order], table.paths(PathMode.SEQ)[order], table.paths(PathMode.STRONG)[order]
    for group in np.flatnonzero(side.run.columns.eligible):
        part = slice(starts[group], starts[group + 1])
        triples = zip(decisions[part], seq[part], fine[part], strict=True)
        found[table.groups[group]] = Counter((labels[d], sequences[s], strong[f]) for d, s, f in triples)
    return found


def _keys(table: EpisodeTable, mode: PathMode) -> Sequence[Hashable]:
    # −1, "not captured", finds the last entry.
    return [*table.path_keys.get(mode, ()), None]


def decisions(joint: Joint) -> Counter[str]:
    """Replays per decision."""
    return _margin(joint, 0)


def sequences(joint: Joint) -> Counter[Hashable]:
    """Replays per tool sequence."""
    return _margin(joint, 1)


def strong_paths(joint: Joint) -> Counter[Hashable] | None:
    """Replays per strong path; None when one was not captured."""
    counts: Counter[Hashable] = _margin(joint, 2)
    return None if None in counts else counts


def _margin(joint: Joint, position: int) -> Counter:  # type: ignore[type-arg]
    counts: Counter = Counter()  # type: ignore[type-arg]
    for value, count in joint.items():
        counts[value[position]] += count
    return counts


def metrics_at(joint: Joint, replays: int) -> Mapping[str, Fraction]:
    """`dar`, `tar.seq`, `tar.strong`, `gap`, `flags` and `sequence_flags` at this number of replays.

    Entries that need a strong path are left out where one was not captured. Flags are chances, 0 or 1 at full size.
    """
    dar = modal_at_k(decisions(joint).values(), replays)
    seq = modal_at_k(sequences(joint).values(), replays)
    found = {"dar": dar, "tar.seq": seq, "gap": dar - seq}
    strong = strong_paths(joint)
    if strong is not None:
        found["tar.strong"] = modal_at_k(strong.values(), replays)
        found["flags"] = _flags(joint, 2, replays)
    found["sequence_flags"] = _flags(joint, 1, replays)
    return found


def _flags(joint: Joint, position: int, replays: int) -> Fraction:
    pairs: Counter[tuple[Hashable, Hashable]] = Counter()
    for value, count in joint.items():
        pairs[value[0], value[position]] += count
    return flag_at_k(pairs, replays)
