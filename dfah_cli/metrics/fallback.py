"""What agreement would be if some recorded decisions had been invented by a parser fallback. Pure, exact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from fractions import Fraction

from attrs import frozen

OTHER = "∅ other"


@frozen(kw_only=True)
class BoundPoint:
    """Numbers after `episodes_flipped` decisions were moved off their case's mode."""

    fraction: float
    episodes_flipped: int
    dar: float
    tar: float
    gap: float


@frozen(kw_only=True)
class BoundResult:
    """first_sign_change_fraction: the first share of the grid at which the gap is no longer on its side of zero."""

    baseline_dar: float
    baseline_tar: float
    baseline_gap: float
    points: tuple[BoundPoint, ...]
    first_sign_change_fraction: float | None


def flip_path(
    groups: Sequence[Sequence[str]], tar: Fraction, shares: Sequence[float], flips: Sequence[int]
) -> BoundResult:
    """Numbers after each of `flips` flips.

    A decision is flipped at most once, from a mode of its case to the label that leaves the smallest mode. Of all cases
    the one that agrees least after its flip comes first, so a greedy choice, not a proven worst case. Ties: the earlier
    case, the earlier replay, the alphabetically first label.
    """
    path = _dar_path(groups)
    base = path[0] - tar
    points, crossing = [], None
    for share, wanted in zip(shares, flips, strict=True):
        done = min(wanted, len(path) - 1)
        gap = path[done] - tar
        points.append(
            BoundPoint(fraction=share, episodes_flipped=done, dar=float(path[done]), tar=float(tar), gap=float(gap))
        )
        if crossing is None and base and gap * base <= 0:
            crossing = share
    return BoundResult(
        baseline_dar=float(path[0]),
        baseline_tar=float(tar),
        baseline_gap=float(base),
        points=tuple(points),
        first_sign_change_fraction=crossing,
    )


def _dar_path(groups: Sequence[Sequence[str]]) -> list[Fraction]:
    """DAR (mean over groups) after 0, 1, 2, … flips, until none is left."""
    labels = sorted({label for group in groups for label in group})
    cases = [_Case(group, labels) for group in groups]
    path = [sum((case.share for case in cases), Fraction(0)) / len(cases)]
    while True:
        open_cases = [case for case in cases if case.next_flip() is not None]
        if not open_cases:
            return path
        chosen = min(open_cases, key=_Case.share_after)
        before = chosen.share
        chosen.flip()
        path.append(path[-1] + (chosen.share - before) / len(cases))


class _Case:
    """The decisions of one case while they are being flipped."""

    def __init__(self, decisions: Sequence[str], labels: Sequence[str]) -> None:
        self._decisions = list(decisions)
        self.counts: Counter[str] = Counter(decisions)
        self._untouched = list(range(len(decisions)))
        self._labels = labels
        self._size = len(decisions)

    @property
    def share(self) -> Fraction:
        return Fraction(max(self.counts.values()), self._size)

    def next_flip(self) -> tuple[int, str] | None:
        """Position of the first decision that has a modal label and was not flipped yet, and its new label."""
        top = max(self.counts.values())
        here = next((at for at in self._untouched if self.counts[self._decisions[at]] == top), None)
        if here is None:
            return None
        source = self._decisions[here]
        others = [label for label in self._labels if label != source] or [OTHER]
        return here, min(others, key=lambda label: (self._top_after(source, label), label))

    def share_after(self) -> Fraction:
        flip = self.next_flip()
        assert flip is not None
        here, target = flip
        return Fraction(self._top_after(self._decisions[here], target), self._size)

    def flip(self) -> None:
        flip = self.next_flip()
        assert flip is not None
        here, target = flip
        self.counts[self._decisions[here]] -= 1
        self.counts[target] += 1
        self._decisions[here] = target
        self._untouched.remove(here)

    def _top_after(self, source: str, target: str) -> int:
        moved = self.counts.copy()
        moved[source] -= 1
        moved[target] += 1
        return max(moved.values())


def removals_to_close_gap(groups: Sequence[tuple[str, Sequence[Hashable]]], gap: Fraction) -> int | None:
    """Fewest decisions that, made unlike everything else, bring a positive gap to 0 or below; None if none can.

    groups: (task, decisions) of each case. gap: task-weighted, exact; the path numbers stay as they are.
    """
    steps = _steepest(groups)
    for done, loss in enumerate(_running(steps)):
        if gap - loss <= 0:
            return done
    return None


def gap_after_removals(groups: Sequence[tuple[str, Sequence[Hashable]]], gap: Fraction, removals: int) -> Fraction:
    """The gap after that many removals, each taking the most agreement that one removal can."""
    return gap - sum(_steepest(groups)[:removals], Fraction(0))


def _running(steps: Sequence[Fraction]) -> list[Fraction]:
    sums = [Fraction(0)]
    for step in steps:
        sums.append(sums[-1] + step)
    return sums


def _steepest(groups: Sequence[tuple[str, Sequence[Hashable]]]) -> list[Fraction]:
    """Loss of task-weighted DAR of single removals from untied modal classes, largest first."""
    tasks = Counter(task for task, _ in groups)
    losses: list[Fraction] = []
    for task, decisions in groups:
        top, *rest = sorted(Counter(decisions).values(), reverse=True)
        weight = Fraction(1, len(tasks) * tasks[task] * len(decisions))
        losses.extend([weight] * (top - max([1, *rest])))
    return sorted(losses, reverse=True)
