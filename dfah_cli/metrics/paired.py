"""The cases that two runs share, with the values of their replays side by side. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np
from attrs import frozen

from dfah_cli.errors import EligibilityError
from dfah_cli.metrics.family import flag_at_k, modal_at_k
from dfah_cli.metrics.measure import RunMeasurement
from dfah_cli.metrics.table import EpisodeTable, GroupKey
from dfah_cli.records.enums import PathMode

Joint = Counter[tuple[str, Hashable, Hashable]]
Joints = Mapping[GroupKey, Joint]
Shape = tuple[tuple[int, ...], ...]


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


def pair(base: Measured | Joints, candidate: Measured | Joints) -> Pairing:
    """The shared cases. Raises: EligibilityError when no case is eligible in both runs."""
    left, right = (joints(side) if isinstance(side, Measured) else side for side in (base, candidate))
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


def joints(side: Measured) -> dict[GroupKey, Joint]:
    """Replays per value in each eligible group; values are comparable between tables."""
    table = side.table
    labels = [*table.labels, ""]
    sequences = _keys(table, PathMode.SEQ)
    strong = _keys(table, PathMode.STRONG)
    order = table.order()
    starts = np.searchsorted(table.group[order], np.arange(len(table.groups) + 1)).tolist()
    found: dict[GroupKey, Joint] = {}
    columns = (table.decision, table.paths(PathMode.SEQ), table.paths(PathMode.STRONG))
    # Plain integers: taking them out of an array one by one costs more than everything else here.
    triples = list(zip(*(column[order].tolist() for column in columns), strict=True))
    for group in np.flatnonzero(side.run.columns.eligible).tolist():
        counts: Counter[tuple[int, int, int]] = Counter(triples[starts[group] : starts[group + 1]])
        joint: Joint = Counter()
        for (d, s, f), many in counts.items():
            joint[labels[d], sequences[s], strong[f]] += many
        found[table.groups[group]] = joint
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


def _margin(joint: Mapping[Any, int], position: int) -> Counter[Any]:
    counts: Counter[Any] = Counter()
    for value, count in joint.items():
        counts[value[position]] += count
    return counts


def metrics_at(joint: Joint, replays: int) -> Mapping[str, Fraction]:
    """`dar`, `tar.seq`, `tar.strong`, `gap`, `flags` and `sequence_flags` at this number of replays.

    Entries that need a strong path are left out where one was not captured. Flags are chances, 0 or 1 at full size.
    """
    return _metrics_at(_anonymous(joint), replays)


def _anonymous(joint: Joint) -> Shape:
    """The joint counts with values replaced by numbers: most cases of a run have one of a few shapes."""
    seen: tuple[dict[Hashable, int], ...] = ({}, {}, {})
    ordered = sorted(joint.items(), key=_by_count)
    return tuple(
        (
            *(
                -1 if value is None else numbers.setdefault(value, len(numbers))
                for numbers, value in zip(seen, values, strict=True)
            ),
            count,
        )
        for values, count in ordered
    )


def _by_count(item: tuple[tuple[str, Hashable, Hashable], int]) -> int:
    return -item[1]


@lru_cache(maxsize=65_536)
def _metrics_at(shape: Shape, replays: int) -> Mapping[str, Fraction]:
    counts: Counter[tuple[int, ...]] = Counter()
    for *values, count in shape:
        counts[tuple(values)] += count
    dar = modal_at_k(_margin(counts, 0).values(), replays)
    seq = modal_at_k(_margin(counts, 1).values(), replays)
    found = {"dar": dar, "tar.seq": seq, "gap": dar - seq}
    strong = _margin(counts, 2)
    if -1 not in strong:
        found["tar.strong"] = modal_at_k(strong.values(), replays)
        found["flags"] = _flags(counts, 2, replays)
    found["sequence_flags"] = _flags(counts, 1, replays)
    return MappingProxyType(found)


def _flags(counts: Counter[tuple[int, ...]], position: int, replays: int) -> Fraction:
    pairs: Counter[tuple[Hashable, Hashable]] = Counter()
    for value, count in counts.items():
        pairs[value[0], value[position]] += count
    return flag_at_k(pairs, replays)
