"""Where the paths of one case part, and in what they differ there. Pure.

The most frequent path is the reference. Paths are compared as wholes: an inserted call is an insertion, it does not
turn every later step into a difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum

from attrs import frozen

from dfah_cli.metrics.paths import StepLike
from dfah_cli.report.details import CaseDetail, Variant

NAME, ARGUMENTS, OUTPUT, RESULT_STATE, EXECUTION_STATE = range(5)
Path = Sequence[StepLike]


class Cause(StrEnum):
    """What differs where two paths part, coarsest first."""

    TOOL = "tool"
    COUNT = "count"
    ORDER = "order"
    ARGUMENTS = "arguments"
    RESULT = "result"
    STATE = "state"


@frozen(kw_only=True)
class Parting:
    """The first difference of a path from the reference.

    step: 1-based position in the reference. here, there: tool names at the difference, None past the end.
    tags: for arguments and results, the two hashes.
    """

    step: int
    cause: Cause
    here: str | None
    there: str | None
    tags: tuple[str | None, str | None] = (None, None)


def parting(reference: Path, other: Path) -> Parting | None:
    """The first difference; None when the paths are equal."""
    at = _common(reference, other)
    if at == len(reference) == len(other):
        return None
    here, there = _at(reference, at), _at(other, at)
    mine, theirs = (None if step is None else step[NAME] for step in (here, there))
    if here is not None and there is not None and mine == theirs:
        return _same_tool(at, here, there)
    return Parting(step=at + 1, cause=_cause(reference, other), here=mine, there=theirs)


def _common(reference: Path, other: Path) -> int:
    for position, (mine, theirs) in enumerate(zip(reference, other, strict=False)):
        if tuple(mine) != tuple(theirs):
            return position
    return min(len(reference), len(other))


def _at(path: Path, position: int) -> StepLike | None:
    return path[position] if position < len(path) else None


def _same_tool(at: int, here: StepLike, there: StepLike) -> Parting:
    for column, cause in ((ARGUMENTS, Cause.ARGUMENTS), (OUTPUT, Cause.RESULT)):
        if here[column] != there[column]:
            tags = (_tag(here[column]), _tag(there[column]))
            return Parting(step=at + 1, cause=cause, here=here[NAME], there=there[NAME], tags=tags)
    return Parting(step=at + 1, cause=Cause.STATE, here=here[NAME], there=there[NAME])


def _tag(value: object) -> str | None:
    return None if value is None else str(value)


def _cause(reference: Path, other: Path) -> Cause:
    mine, theirs = (Counter(step[NAME] for step in path) for path in (reference, other))
    if mine.keys() != theirs.keys():
        return Cause.TOOL
    return Cause.ORDER if mine == theirs else Cause.COUNT


def first_parting(detail: CaseDetail) -> Parting | None:
    """The coarsest difference between the most frequent path and any other; None when there is one path.

    Of equally coarse ones the earliest counts.
    """
    if len(detail.variants) < 2:
        return None
    reference, *others = detail.variants
    found = [p for other in others if (p := parting(reference.steps, other.steps)) is not None]
    ranks = list(Cause)
    return min(found, key=lambda p: (ranks.index(p.cause), p.step), default=None)


@frozen(kw_only=True)
class Branch:
    """A run of steps that the same replays share, and where they go from there. replays: sorted."""

    steps: tuple[StepLike, ...]
    replays: tuple[int, ...]
    children: tuple[Branch, ...] = ()


def divergence_tree(variants: Sequence[Variant]) -> Branch:
    """The paths as a prefix tree: shared beginnings once, branches ordered by how many replays take them."""
    replays = tuple(sorted(replay for variant in variants for replay in variant.replays))
    shared = _shared([variant.steps for variant in variants])
    rest: dict[StepLike | None, list[Variant]] = {}
    for variant in variants:
        tail = variant.steps[len(shared) :]
        rest.setdefault(tuple(tail[0]) if tail else None, []).append(Variant(steps=tail, replays=variant.replays))  # type: ignore[arg-type]
    if len(rest) < 2:
        return Branch(steps=shared, replays=replays)
    children = [divergence_tree(branch) for branch in rest.values()]
    children.sort(key=lambda child: (-len(child.replays), child.replays))
    return Branch(steps=shared, replays=replays, children=tuple(children))


def _shared(paths: Sequence[Path]) -> tuple[StepLike, ...]:
    if not paths:
        return ()
    shortest = min(paths, key=len)
    for position, step in enumerate(shortest):
        if any(tuple(path[position]) != tuple(step) for path in paths):
            return tuple(shortest[:position])
    return tuple(shortest)
