"""Where the replays of one case part, and over what. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import combinations

from attrs import frozen

from dfah_cli.metrics.paths import StepLike


class Cause(StrEnum):
    """What is different at the first step where two paths differ."""

    TOOL = "tool"
    ARGUMENTS = "arguments"
    RESULT = "result"
    STATE = "state"
    LENGTH = "length"


# In this order: another argument explains another result, not the other way round.
_FIELDS = ((0, Cause.TOOL), (1, Cause.ARGUMENTS), (2, Cause.RESULT), (3, Cause.STATE), (4, Cause.STATE))


@frozen
class FirstCause:
    """position: 0-based. tool: the tool of the first path there; for `length` that of the longer path."""

    position: int
    cause: Cause
    tool: str


def first_divergence(paths: Sequence[Sequence[object]]) -> int | None:
    """Length of the common prefix of all paths, 0-based position of the first difference; None when all are equal."""
    shortest = min(map(len, paths), default=0)
    for position in range(shortest):
        if any(path[position] != paths[0][position] for path in paths):
            return position
    return shortest if any(len(path) != shortest for path in paths) else None


def first_cause(left: Sequence[StepLike], right: Sequence[StepLike]) -> FirstCause | None:
    """What parts two paths first; None when they are equal. A hash that was not captured on one side is no cause."""
    for position, (a, b) in enumerate(zip(left, right, strict=False)):
        for index, cause in _FIELDS:
            if a[index] != b[index] and a[index] is not None and b[index] is not None:
                return FirstCause(position, cause, a[0])
    if len(left) == len(right):
        return None
    longer, at = (left, len(right)) if len(left) > len(right) else (right, len(left))
    return FirstCause(at, Cause.LENGTH, longer[at][0])


def tabulate_causes(groups: Iterable[Sequence[Sequence[StepLike]]]) -> tuple[tuple[FirstCause, int], ...]:
    """First causes over all pairs of replays of each case, most frequent first, then by position, cause and tool."""
    found: Counter[FirstCause] = Counter()
    for paths in groups:
        # Equal paths have the same causes: pairs of distinct paths, times how many replays took each.
        distinct = Counter(tuple(path) for path in paths)
        for (left, many), (right, others) in combinations(distinct.items(), 2):
            cause = first_cause(left, right)
            if cause is not None:
                found[cause] += many * others
    return tuple(sorted(found.items(), key=lambda pair: (-pair[1], pair[0].position, pair[0].cause, pair[0].tool)))


@frozen(kw_only=True)
class PrefixNode:
    """Replays that go together until they part.

    steps: what they share from the parent on. replays: their indices. ended: those whose path ends here.
    """

    steps: tuple[StepLike, ...]
    replays: tuple[int, ...]
    ended: tuple[int, ...]
    children: tuple[PrefixNode, ...]

    @property
    def count(self) -> int:
        return len(self.replays)


def prefix_tree(paths: Sequence[Sequence[StepLike]]) -> PrefixNode:
    """All replays of a case as a tree of common prefixes, the most taken branch first."""
    return _node(paths, tuple(range(len(paths))), 0)


def _node(paths: Sequence[Sequence[StepLike]], replays: tuple[int, ...], start: int) -> PrefixNode:
    rest = [paths[replay][start:] for replay in replays]
    parting = first_divergence(rest)
    end = start + (len(rest[0]) if parting is None and rest else parting or 0)
    branches: dict[StepLike, list[int]] = {}
    for replay in replays:
        if len(paths[replay]) > end:
            branches.setdefault(tuple(paths[replay][end]), []).append(replay)  # type: ignore[arg-type]
    ordered = sorted(branches.values(), key=lambda taken: (-len(taken), taken[0]))
    return PrefixNode(
        steps=tuple(paths[replays[0]][start:end]) if replays else (),
        replays=replays,
        ended=tuple(replay for replay in replays if len(paths[replay]) == end),
        children=tuple(_node(paths, tuple(taken), end) for taken in ordered),
    )
