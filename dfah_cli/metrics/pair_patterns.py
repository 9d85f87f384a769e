"""What the cases of two runs have in common: a few patterns of counts, so that exact numbers are worked out once each.

A pattern is what is left of a case when its values are replaced by numbers. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import TypeVar

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from dfah_cli.metrics.comparison import CountPairs, DriftTest, drift_of
from dfah_cli.metrics.paired import Joint, Pairing, metrics_at

Value = TypeVar("Value", bound=Hashable)
Entry = tuple[int, int, int, int, int]
Pattern = tuple[Entry, ...]
UNKNOWN = -1


@frozen(kw_only=True, eq=False)
class Patterns:
    """distinct: entries (decision, sequence, strong path, replays in base, in candidate). case: index into `distinct`
    of every case, shape (cases,). task: number of the task of every case, in order of name.
    """

    distinct: tuple[Pattern, ...]
    case: NDArray[np.int64]
    task: NDArray[np.int64]
    tasks: tuple[str, ...]
    replays: int

    def times(self, task: int | None = None) -> NDArray[np.int64]:
        """How many cases, of one task or of all, have each pattern."""
        chosen = self.case if task is None else self.case[self.task == task]
        return np.bincount(chosen, minlength=len(self.distinct))

    def changes(self) -> dict[str, list[Fraction]]:
        """candidate − base of every metric that all cases have, per pattern."""
        before = [metrics_at(_side(pattern, 3), self.replays) for pattern in self.distinct]
        after = [metrics_at(_side(pattern, 4), self.replays) for pattern in self.distinct]
        names = [name for name in before[0] if all(name in numbers for numbers in (*before, *after))]
        return {name: [new[name] - old[name] for old, new in zip(before, after, strict=True)] for name in names}

    def counts(self, position: int) -> list[CountPairs | None]:
        """Replays per value in both runs, per pattern; None where a value was not captured."""
        return [_pairs(pattern, position) for pattern in self.distinct]

    def moved(self) -> list[bool]:
        """Whether the most frequent decisions changed, per pattern."""
        return [_modes(pattern, 3) != _modes(pattern, 4) for pattern in self.distinct]


def patterns_of(pairing: Pairing) -> Patterns:
    """The patterns of the cases; cases are sorted by task."""
    numbers: dict[Pattern, int] = {}
    tasks: dict[str, int] = {}
    case = [numbers.setdefault(_pattern(one.base, one.candidate), len(numbers)) for one in pairing.cases]
    task = [tasks.setdefault(one.key.task, len(tasks)) for one in pairing.cases]
    return Patterns(
        distinct=tuple(numbers),
        case=np.array(case, dtype=np.int64),
        task=np.array(task, dtype=np.int64),
        tasks=tuple(tasks),
        replays=pairing.replays,
    )


def _pattern(base: Joint, candidate: Joint) -> Pattern:
    if len(base) == len(candidate) == 1 and base.keys() == candidate.keys():
        ((value, many),) = base.items()
        return ((0, 0, UNKNOWN if value[2] is None else 0, many, candidate[value]),)
    values = list(base)
    if candidate.keys() != base.keys():
        values += [value for value in candidate if value not in base]
    if len(values) > 1:
        values.sort(key=lambda value: (-base.get(value, 0), -candidate.get(value, 0)))
    seen: tuple[dict[object, int], ...] = ({}, {}, {})
    found = []
    for value in values:
        decision, sequence, strong = (
            UNKNOWN if part is None else known.setdefault(part, len(known))
            for part, known in zip(value, seen, strict=True)
        )
        found.append((decision, sequence, strong, base.get(value, 0), candidate.get(value, 0)))
    return tuple(found)


def _side(pattern: Pattern, side: int) -> Joint:
    """The replays of one run; the numbers stand for the values."""
    joint: Joint = Counter()
    for entry in pattern:
        if entry[side]:
            strong = None if entry[2] == UNKNOWN else entry[2]
            joint[str(entry[0]), entry[1], strong] += entry[side]
    return joint


def _pairs(pattern: Pattern, position: int) -> CountPairs | None:
    found: dict[int, list[int]] = {}
    for entry in pattern:
        if entry[position] == UNKNOWN:
            return None
        both = found.setdefault(entry[position], [0, 0])
        both[0] += entry[3]
        both[1] += entry[4]
    return tuple(sorted((left, right) for left, right in found.values()))


def _modes(pattern: Pattern, side: int) -> frozenset[int]:
    counts: Counter[int] = Counter()
    for entry in pattern:
        counts[entry[0]] += entry[side]
    top = max(counts.values())
    return frozenset(decision for decision, count in counts.items() if count == top)


def tally(values: Sequence[Value], times: NDArray[np.int64]) -> Counter[Value]:
    """Value → how many cases have it."""
    found: Counter[Value] = Counter()
    for value, many in zip(values, times.tolist(), strict=True):
        found[value] += many
    return +found


def drifts(patterns: Patterns) -> dict[str, DriftTest]:
    """The drift test on decisions, on sequences and on strong paths; a level that was not captured has no entry."""
    found = {}
    for position, name in enumerate(("decision", "path.seq", "path.strong")):
        counts = patterns.counts(position)
        known = [pairs for pairs in counts if pairs is not None]
        if len(known) == len(counts):
            found[name] = drift_of(tally(known, patterns.times()))
    return found
