"""Path identity when some calls may run in parallel: swapping them is no change. Pure.

Source: traces over a partially commutative alphabet (Mazurkiewicz); the lexicographic normal form is the identity.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve, field, frozen

from dfah_cli.errors import ConfigurationError
from dfah_cli.metrics.paths import PathInterner, StepLike

if TYPE_CHECKING:
    from dfah_cli.metrics.table import EpisodeTable


@frozen
class Parallel:
    """Sets of tools declared parallel: any two calls of tools of one set may swap, repeated calls included."""

    sets: frozenset[frozenset[str]]
    partners: dict[str, frozenset[str]] = field(init=False, repr=False, eq=False)

    @partners.default
    def _partners(self) -> dict[str, frozenset[str]]:
        names = frozenset().union(*self.sets)
        return {name: frozenset().union(*(one for one in self.sets if name in one)) for name in names}

    @classmethod
    def of(cls, sets: Iterable[Iterable[str]]) -> Parallel:
        return cls(frozenset(frozenset(names) for names in sets))

    def commute(self, left: str, right: str) -> bool:
        """Whether two calls of these tools may swap."""
        return right in self.partners.get(left, ())

    def normal_form(self, steps: Sequence[StepLike]) -> tuple[StepLike, ...]:
        """The first path, in lexicographic order, among those that differ only by allowed swaps."""
        ordered: list[StepLike] = []
        # Nothing passes a call that was not declared, so only the stretches between such calls are put in order.
        for declared, stretch in groupby(steps, key=lambda step: step[0] in self.partners):
            found = list(stretch)
            ordered += self._ordered(found) if declared else found
        return tuple(ordered)

    def _ordered(self, rest: list[StepLike]) -> Iterator[StepLike]:
        names = {step[0] for step in rest}
        if any(names <= one for one in self.sets):
            yield from sorted(rest, key=_rank)
            return
        while rest:
            yield rest.pop(min(self._movable(rest), key=lambda index: _rank(rest[index])))

    def _movable(self, rest: Sequence[StepLike]) -> Iterator[int]:
        """Steps that may come first: everything before them commutes with them."""
        free: frozenset[str] | None = None
        for index, step in enumerate(rest):
            if free is None or step[0] in free:
                yield index
            mine = self.partners[step[0]]
            free = mine if free is None else free & mine
            if not free:
                return


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
    rows = [interner.intern(parallel.normal_form(steps)) for steps in table.examples]
    path_ids = interner.identities()[np.array(rows, dtype=np.int32)]
    return evolve(table, path_ids=path_ids, path_keys=interner.keys(), examples=())


def relaxed(table: EpisodeTable) -> EpisodeTable | None:
    """The same episodes with the identities that were made while it was built; None when nothing was declared."""
    if table.relaxed_ids is None:
        return None
    return evolve(table, path_ids=table.relaxed_ids, path_keys={}, examples=(), relaxed_ids=None)
