"""How much a number depends on which cases, replays or parser fallbacks there were. Pure, seeded.

These describe the recorded suite; for a claim about other cases use `metrics.intervals`. Quantiles interpolate
linearly at (n − 1)p. `random.Random` keeps one stream on every machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from fractions import Fraction
from math import ceil, log
from random import Random
from typing import Any

from attrs import frozen

from dfah_cli.errors import ValidationError
from dfah_cli.metrics.agreement import first_anchored, modal_share
from dfah_cli.metrics.fallback import BoundResult, flip_path
from dfah_cli.metrics.paths import seq_key

ReplayGroup = tuple[Sequence[str], Sequence[Any]]


@frozen(kw_only=True)
class IntervalResult:
    """point and percentile range of resampled means."""

    point: float
    low: float
    high: float
    draws: int
    level: float
    seed: int


@frozen(kw_only=True)
class PermutationResult:
    """statistic: absolute mean. p_value: (1 + draws at least as extreme) / (1 + draws), two-sided."""

    statistic: float
    p_value: float
    permutations: int
    seed: int


@frozen(kw_only=True)
class SubsampleResult:
    """Median and central 95 % of DAR, TAR.seq and gap over random subsets of k replays per case."""

    dar_median: float
    dar_low: float
    dar_high: float
    tar_median: float
    tar_low: float
    tar_high: float
    gap_median: float
    gap_low: float
    gap_high: float
    draws: int
    k: int
    seed: int


@frozen(kw_only=True)
class LOOResult:
    """Mean of all values, and the range of means with one value left out; `values` in the order given."""

    full: float
    minimum: float
    maximum: float
    values: tuple[float, ...]


def quantile(values: Sequence[float], p: float) -> float:
    """Linear interpolation at position (n − 1)p of the sorted values."""
    ordered = sorted(values)
    position = (len(ordered) - 1) * p
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def case_resampling_interval(
    values: Sequence[float], *, n: int = 5000, seed: int = 42, level: float = 0.95
) -> IntervalResult:
    """Percentile range of the mean over cases drawn with replacement. It collapses when all values are equal."""
    _require(bool(values) and n >= 1 and 0.0 < level < 1.0, "values, n ≥ 1 and 0 < level < 1")
    random = Random(seed)
    means = [sum(random.choice(values) for _ in values) / len(values) for _ in range(n)]
    tail = (1.0 - level) / 2.0
    return IntervalResult(
        point=sum(values) / len(values),
        low=quantile(means, tail),
        high=quantile(means, 1.0 - tail),
        draws=n,
        level=level,
        seed=seed,
    )


def sign_flip_permutation(gaps: Sequence[float], *, n: int = 10000, seed: int = 42) -> PermutationResult:
    """Two-sided test that the signs of the case gaps are exchangeable, by random flips."""
    _require(bool(gaps) and n >= 1, "at least one gap and n ≥ 1")
    random = Random(seed)
    statistic = abs(sum(gaps)) / len(gaps)
    extreme = 0
    for _ in range(n):
        flipped = sum(gap if random.getrandbits(1) else -gap for gap in gaps)
        extreme += abs(flipped) / len(gaps) >= statistic - 1e-12
    return PermutationResult(statistic=statistic, p_value=(1 + extreme) / (1 + n), permutations=n, seed=seed)


def subsample_replays(
    groups: Sequence[ReplayGroup], *, k: int = 3, draws: int = 500, seed: int = 42
) -> SubsampleResult:
    """What k replays per case would have shown; the exact mean of the same is `metrics.family.modal_at_k`.

    groups: (decisions, paths) of each case; a path is a Trajectory, a sequence of calls, or any hashable value.
    """
    _require(bool(groups) and draws >= 1 and k >= 1, "groups, draws ≥ 1 and k ≥ 1")
    _require(all(len(d) == len(p) >= k for d, p in groups), "k or more replays in every group, decisions as paths")
    keyed = [(decisions, [_sequence(path) for path in paths]) for decisions, paths in groups]
    random = Random(seed)
    found = [_one_draw(keyed, k, random) for _ in range(draws)]
    numbers = {
        f"{name}_{part}": quantile([float(draw[index]) for draw in found], p)
        for index, name in enumerate(("dar", "tar", "gap"))
        for part, p in (("median", 0.5), ("low", 0.025), ("high", 0.975))
    }
    return SubsampleResult(**numbers, draws=draws, k=k, seed=seed)


def _one_draw(
    groups: Sequence[tuple[Sequence[str], Sequence[Hashable]]], k: int, random: Random
) -> tuple[Fraction, Fraction, Fraction]:
    dar = tar = Fraction(0)
    for decisions, paths in groups:
        taken = random.sample(range(len(decisions)), k)
        dar += modal_share([decisions[index] for index in taken]) or 0
        tar += modal_share([paths[index] for index in taken]) or 0
    return dar / len(groups), tar / len(groups), (dar - tar) / len(groups)


def leave_one_case_out(values: Sequence[float]) -> LOOResult:
    """Range of the mean when any one case is left out."""
    _require(len(values) >= 2, "at least two cases")
    left = tuple((sum(values) - value) / (len(values) - 1) for value in values)
    return LOOResult(full=sum(values) / len(values), minimum=min(left), maximum=max(left), values=left)


def decision_concentration(decisions: Sequence[str], *, k_labels: int = 3) -> float:
    """1 − H / ln K of the labels over cases: 1 when every case got one label. For screening only."""
    _require(bool(decisions) and k_labels >= 2, "decisions and k_labels ≥ 2")
    total = len(decisions)
    entropy = -sum(count / total * log(count / total) for count in Counter(decisions).values())
    return 1.0 - entropy / log(k_labels)


def first_anchored_agreement(values: Sequence[Hashable]) -> float:
    """Share of replays equal to the first, itself included."""
    share = first_anchored(values)
    _require(share is not None, "at least one value")
    return float(share or 0)


def adversarial_fallback_bound(groups: Sequence[ReplayGroup], k_grid: Sequence[float]) -> BoundResult:
    """DAR and gap if a share of the retained decisions had been put in by a parser fallback.

    groups: (decisions, paths) of each case. k_grid: shares of all replays, in [0, 1].
    """
    _require(bool(groups) and all(len(d) == len(p) > 0 for d, p in groups), "groups with decisions and paths alike")
    _require(bool(k_grid) and all(0.0 <= share <= 1.0 for share in k_grid), "shares between 0 and 1")
    total = sum(len(decisions) for decisions, _ in groups)
    tar = sum((modal_share([_sequence(path) for path in paths]) or Fraction(0) for _, paths in groups), Fraction(0))
    steps = [
        ceil(Fraction(repr(share)) * total) if isinstance(share, float) else ceil(share * total) for share in k_grid
    ]
    return flip_path([decisions for decisions, _ in groups], tar / len(groups), k_grid, steps)


def _sequence(path: Any) -> Hashable:
    calls = getattr(path, "tool_calls", path)
    if isinstance(calls, str) or not isinstance(calls, Sequence):
        return calls
    return seq_key([call if isinstance(call, tuple) else (call.name, None, None, "", "") for call in calls])


def _require(holds: bool, expected: str) -> None:
    if not holds:
        raise ValidationError(f"bad arguments: expected {expected}")
