"""The paths that replays took: variants, the typical one, spread by position, and the tool to blame. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from math import log2
from typing import TypeVar

from attrs import frozen

from dfah_cli.metrics.alignment import edit_distance
from dfah_cli.metrics.family import pairwise
from dfah_cli.metrics.paths import StepLike

PAD = "∅"
Path = TypeVar("Path", bound=Sequence[Hashable])


@frozen(kw_only=True)
class Variant:
    """One path of tool names: replays that took it, their share, the cases they belong to, and their decisions."""

    path: tuple[str, ...]
    count: int
    share: Fraction
    cases: int
    decisions: tuple[tuple[str, int], ...]


def variants(replays: Iterable[tuple[Hashable, str | None, Sequence[StepLike]]]) -> tuple[Variant, ...]:
    """Variant table, most frequent first, ties by path.

    replays: (case, decision, path) of each replay.
    """
    count: Counter[tuple[str, ...]] = Counter()
    cases: dict[tuple[str, ...], set[Hashable]] = {}
    decisions: dict[tuple[str, ...], Counter[str]] = {}
    for case, decision, steps in replays:
        path = tuple(step[0] for step in steps)
        count[path] += 1
        cases.setdefault(path, set()).add(case)
        decisions.setdefault(path, Counter()).update([] if decision is None else [decision])
    total = count.total()
    return tuple(
        Variant(
            path=path,
            count=taken,
            share=Fraction(taken, total),
            cases=len(cases[path]),
            decisions=tuple(sorted(decisions[path].items(), key=lambda pair: (-pair[1], pair[0]))),
        )
        for path, taken in sorted(count.items(), key=lambda pair: (-pair[1], pair[0]))
    )


def medoid(paths: Sequence[Path]) -> Path | None:
    """The path with the smallest total edit distance to all others; None without paths.

    Ties go to the more frequent path, then to the lexicographically first.
    """
    counts: Counter[Path] = Counter(paths)
    if not counts:
        return None

    def rank(path: Path) -> tuple[int, int, Path]:
        return sum(many * edit_distance(path, other) for other, many in counts.items()), -counts[path], path

    return min(counts, key=rank)


def position_entropy(paths: Sequence[Sequence[Hashable]]) -> tuple[float, ...]:
    """Entropy in bits of the tool at each position; "∅" stands after the end of a shorter path."""
    longest = max(map(len, paths), default=0)
    columns = ([path[at] if at < len(path) else PAD for path in paths] for at in range(longest))
    return tuple(_entropy(Counter(column)) for column in columns)


def _entropy(counts: Counter[Hashable]) -> float:
    total = counts.total()
    return 0.0 - sum(count / total * log2(count / total) for count in counts.values())


def leave_one_tool_out(groups: Sequence[Sequence[Sequence[StepLike]]]) -> Mapping[str, Fraction]:
    """Gain of mean pairwise agreement of tool sequences when one tool is ignored, largest first.

    groups: the replays of each case, two or more each. Empty without groups.
    """
    if not groups:
        return {}
    names = [[tuple(step[0] for step in path) for path in group] for group in groups]
    before = _agreement(names)
    tools = sorted({name for group in names for path in group for name in path})
    gains = {tool: _agreement([[_without(path, tool) for path in group] for group in names]) - before for tool in tools}
    return dict(sorted(gains.items(), key=lambda pair: (-pair[1], pair[0])))


def _without(path: tuple[str, ...], tool: str) -> tuple[str, ...]:
    return tuple(name for name in path if name != tool)


def _agreement(groups: Sequence[Sequence[tuple[str, ...]]]) -> Fraction:
    return sum((pairwise(Counter(group).values()) for group in groups), Fraction(0)) / len(groups)
