"""Where path agreement is lost: which tools, how often, in which order, with which arguments, with which results.

Pairwise agreement can only fall from one level to the next finer one, so the losses add up to the whole loss. The
last rung (equal arguments, other result) is the environment, not the agent. Pure, exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

from attrs import frozen

from dfah_cli.metrics.family import pairwise
from dfah_cli.metrics.paths import StepLike, path_key
from dfah_cli.records.enums import REFINEMENT, PathMode

RUNGS: tuple[tuple[str, PathMode], ...] = (
    ("which_tools", PathMode.SET),
    ("how_often", PathMode.BAG),
    ("order", PathMode.SEQ),
    ("arguments", PathMode.ARGS),
    ("results", PathMode.STRONG),
)


@frozen(kw_only=True)
class Ladder:
    """Pairwise agreement per level and the loss at each rung; None from the first level that was not captured on.

    Where everything is known, the losses and the agreement of the strong level add up to exactly 1.
    """

    agreement: Mapping[PathMode, Fraction | None]

    @property
    def losses(self) -> tuple[tuple[str, Fraction | None], ...]:
        """(rung, loss) from coarse to fine."""
        found: list[tuple[str, Fraction | None]] = []
        above: Fraction | None = Fraction(1)
        for name, mode in RUNGS:
            here = self.agreement[mode]
            found.append((name, None if above is None or here is None else above - here))
            above = here
        return tuple(found)


def ladder(paths: Sequence[Sequence[StepLike]]) -> Ladder | None:
    """The ladder of the replays of one case; None with fewer than two. That of a run is made from its measurement."""
    if len(paths) < 2:
        return None
    return Ladder(agreement={mode: _agreement(paths, mode) for mode in REFINEMENT})


def _agreement(paths: Sequence[Sequence[StepLike]], mode: PathMode) -> Fraction | None:
    keys = [path_key(path, mode) for path in paths]
    return None if None in keys else pairwise(Counter(keys).values())
