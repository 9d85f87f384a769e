"""Where the paths of one case part, and in what they differ there. Pure.

The most frequent path is the reference. Paths are compared as wholes: an inserted call is an insertion, it does not
turn every later step into a difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum

from attrs import frozen

from dfah_cli.metrics.alignment import Change, Edit, align
from dfah_cli.metrics.paths import StepLike
from dfah_cli.report.details import CaseDetail, Variant

NAME = 0
Path = Sequence[StepLike]


class Cause(StrEnum):
    """In what two paths differ, coarsest first."""

    TOOL = "tool"
    COUNT = "count"
    ORDER = "order"
    ARGUMENTS = "arguments"
    RESULT = "result"
    STATE = "state"


STRUCTURE = (Edit.INSERT, Edit.DROP, Edit.REPLACE, Edit.SWAP)
DETAILS = {Edit.ARGUMENT: Cause.ARGUMENTS, Edit.RESULT: Cause.RESULT, Edit.STATUS: Cause.STATE}
COLUMNS = {Cause.ARGUMENTS: 1, Cause.RESULT: 2}


@frozen(kw_only=True)
class Parting:
    """The first of the coarsest differences of a path from the reference.

    step: 1-based position in the reference. here: tool of the reference, of the path for an insertion. there: the tool
    in its place, None when there is none. tags: for arguments and results, the two hashes.
    """

    step: int
    cause: Cause
    edit: Edit
    here: str
    there: str | None = None
    tags: tuple[str | None, str | None] = (None, None)


def parting(reference: Path, other: Path) -> Parting | None:
    """How a path differs from the reference; None when they are equal."""
    changes = align(reference, other).changes
    if not changes:
        return None
    structural = next((change for change in changes if change.edit in STRUCTURE), None)
    if structural is not None:
        return _parting(structural, _structure(reference, other))
    finest = min(changes, key=lambda change: (list(DETAILS).index(change.edit), change.at))
    return _parting(finest, DETAILS[finest.edit], _tags(reference, other, finest))


def _parting(change: Change, cause: Cause, tags: tuple[str | None, str | None] = (None, None)) -> Parting:
    return Parting(step=change.at + 1, cause=cause, edit=change.edit, here=change.tool, there=change.instead, tags=tags)


def _structure(reference: Path, other: Path) -> Cause:
    mine, theirs = (Counter(step[NAME] for step in path) for path in (reference, other))
    if mine.keys() != theirs.keys():
        return Cause.TOOL
    return Cause.ORDER if mine == theirs else Cause.COUNT


def _tags(reference: Path, other: Path, change: Change) -> tuple[str | None, str | None]:
    # Without structural changes the paths are aligned step by step.
    column = COLUMNS.get(DETAILS[change.edit])
    if column is None:
        return None, None
    here, there = reference[change.at][column], other[change.at][column]
    return None if here is None else str(here), None if there is None else str(there)


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
