"""How one path became another: calls inserted, dropped, replaced, swapped, or made with other arguments. Pure.

Aligned as a whole instead of position by position, so one inserted call does not make everything after it different.
For display and grouping, not a gate metric.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from attrs import frozen

from dfah_cli.metrics.paths import StepLike

# A name change outweighs any number of argument or result changes on one path.
_NAME, _ARGUMENT, _RESULT, _STATUS = 1 << 40, 1 << 20, 1 << 10, 1


class Edit(StrEnum):
    """One difference between a path and the reference path."""

    INSERT = "insert"
    DROP = "drop"
    REPLACE = "replace"
    SWAP = "swap"
    ARGUMENT = "argument"
    RESULT = "result"
    STATUS = "status"


@frozen
class Change:
    """at: 0-based position in the reference path. tool: of the reference; of the path for `insert`."""

    at: int
    edit: Edit
    tool: str
    instead: str | None = None


@frozen(kw_only=True)
class Alignment:
    """changes: in path order. reconverges_at: first reference position after the last change; None when the path

    does not come back, that is, when the last change is the end of the path.
    """

    changes: tuple[Change, ...]
    reconverges_at: int | None


def edit_distance(left: Sequence[object], right: Sequence[object]) -> int:
    """Fewest insertions, deletions and replacements that make one sequence the other."""
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, start=1):
        diagonal, row[0] = row[0], i
        for j, b in enumerate(right, start=1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (a != b))
    return row[-1]


def align(reference: Sequence[StepLike], path: Sequence[StepLike]) -> Alignment:
    """The cheapest explanation of `path` as a change of `reference`."""
    # Most replays repeat the reference; the table of costs is for the others.
    if reference == path:
        return Alignment(changes=(), reconverges_at=None)
    costs = _costs(reference, path)
    changes: list[Change] = []
    i, j = len(reference), len(path)
    while i or j:
        i, j, found = _back(reference, path, costs, i, j)
        changes.extend(found)
    changes.reverse()
    if not changes:
        return Alignment(changes=(), reconverges_at=None)
    after = _after(changes[-1])
    return Alignment(changes=tuple(changes), reconverges_at=after if after < len(reference) else None)


def _after(change: Change) -> int:
    return change.at + {Edit.INSERT: 0, Edit.SWAP: 2}.get(change.edit, 1)


def _costs(reference: Sequence[StepLike], path: Sequence[StepLike]) -> list[list[int]]:
    costs = [[0] * (len(path) + 1) for _ in range(len(reference) + 1)]
    for i in range(len(reference) + 1):
        for j in range(len(path) + 1):
            costs[i][j] = min((cost for cost, *_ in _moves(reference, path, costs, i, j)), default=0)
    return costs


def _moves(
    reference: Sequence[StepLike], path: Sequence[StepLike], costs: list[list[int]], i: int, j: int
) -> list[tuple[int, int, int]]:
    """(total cost, i before, j before) of every way to reach (i, j); earlier ones are preferred on a tie."""
    moves: list[tuple[int, int, int]] = []
    if i and j:
        moves.append((costs[i - 1][j - 1] + _difference(reference[i - 1], path[j - 1]), i - 1, j - 1))
    if _swapped(reference, path, i, j):
        details = _difference(reference[i - 1], path[j - 2]) + _difference(reference[i - 2], path[j - 1])
        moves.append((costs[i - 2][j - 2] + _NAME + details, i - 2, j - 2))
    if i:
        moves.append((costs[i - 1][j] + _NAME, i - 1, j))
    if j:
        moves.append((costs[i][j - 1] + _NAME, i, j - 1))
    return moves


def _swapped(reference: Sequence[StepLike], path: Sequence[StepLike], i: int, j: int) -> bool:
    if i < 2 or j < 2:
        return False
    crossed = reference[i - 1][0] == path[j - 2][0] and reference[i - 2][0] == path[j - 1][0]
    return crossed and reference[i - 1][0] != reference[i - 2][0]


def _difference(a: StepLike, b: StepLike) -> int:
    if a[0] != b[0]:
        return _NAME
    return _ARGUMENT * (a[1] != b[1]) + _RESULT * (a[2] != b[2]) + _STATUS * (a[3:] != b[3:])


def _back(
    reference: Sequence[StepLike], path: Sequence[StepLike], costs: list[list[int]], i: int, j: int
) -> tuple[int, int, list[Change]]:
    _, before_i, before_j = min(_moves(reference, path, costs, i, j), key=lambda move: move[0])
    taken, used = i - before_i, j - before_j
    if taken == 2:
        return before_i, before_j, [Change(before_i, Edit.SWAP, reference[before_i][0], reference[before_i + 1][0])]
    if not used:
        return before_i, before_j, [Change(before_i, Edit.DROP, reference[before_i][0])]
    if not taken:
        return before_i, before_j, [Change(i, Edit.INSERT, path[before_j][0])]
    return before_i, before_j, _details(before_i, reference[before_i], path[before_j])


def _details(at: int, a: StepLike, b: StepLike) -> list[Change]:
    if a[0] != b[0]:
        return [Change(at, Edit.REPLACE, a[0], b[0])]
    kinds = ((Edit.ARGUMENT, a[1] != b[1]), (Edit.RESULT, a[2] != b[2]), (Edit.STATUS, a[3:] != b[3:]))
    # The first that differs explains the rest: another argument brings another result.
    return [Change(at, kind, a[0]) for kind, differs in kinds if differs][:1]
