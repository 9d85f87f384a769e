"""Path identity when some calls may run in parallel: swapping them is no change. Pure.

Source: traces over a partially commutative alphabet (Mazurkiewicz); the lexicographic normal form is the identity.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from attrs import evolve, frozen

from dfah_cli.errors import ConfigurationError
from dfah_cli.metrics.paths import PathInterner, StepLike
from dfah_cli.metrics.table import EpisodeTable
from dfah_cli.records.enums import REFINEMENT


@frozen
class Parallel:
    """Sets of tools declared parallel: any two calls of tools of one set may swap, repeated calls included."""

    sets: frozenset[frozenset[str]]

    @classmethod
    def of(cls, sets: Iterable[Iterable[str]]) -> Parallel:
        return cls(frozenset(frozenset(names) for names in sets))

    def commute(self, left: str, right: str) -> bool:
        """Whether two calls of these tools may swap."""
        return any(left in names and right in names for names in self.sets)


def normal_form(steps: Sequence[StepLike], parallel: Parallel) -> tuple[StepLike, ...]:
    """The first path, in lexicographic order, among those that differ only by allowed swaps."""
    rest = list(steps)
    ordered: list[StepLike] = []
    while rest:
        ordered.append(rest.pop(min(_movable(rest, parallel), key=lambda index: _rank(rest[index]))))
    return tuple(ordered)


def _movable(rest: Sequence[StepLike], parallel: Parallel) -> list[int]:
    """Steps that may come first: everything before them commutes with them."""
    before: set[str] = set()
    movable: list[int] = []
    for index, step in enumerate(rest):
        if all(parallel.commute(name, step[0]) for name in before):
            movable.append(index)
        before.add(step[0])
    return movable


def _rank(step: StepLike) -> tuple[str, ...]:
    # None sorts before every hash; two steps of equal rank are equal.
    return tuple("" if value is None else f"+{value}" for value in step)


def under_partial_order(table: EpisodeTable, parallel: Parallel) -> EpisodeTable:
    """The same episodes with path identities that ignore allowed swaps; measure both and show them side by side.

    Raises: ConfigurationError when the table was built without keeping its distinct paths.
    """
    if len(table.examples) != len(table.path_ids):
        raise ConfigurationError("partial-order identity needs the paths themselves: build the table with examples")
    interner = PathInterner()
    ids = [interner.intern(normal_form(steps, parallel))[1:] for steps in table.examples]
    path_ids = np.array(ids, dtype=np.int32).reshape(len(ids), len(REFINEMENT))
    return evolve(table, path_ids=path_ids, path_keys=interner.keys())
