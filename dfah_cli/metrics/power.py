"""How many cases and replays a claim needs, before money is spent. Pure. Source: docs/metrics.md, "Planning"."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, comb, inf, log, sqrt
from statistics import NormalDist

from attrs import frozen

from dfah_cli.errors import ConfigurationError
from dfah_cli.metrics.beta import binomial_cdf

MOST_ALLOWED = 500
FARTHEST = 64  # times the cases at hand; farther ahead a forecast says nothing


@frozen(kw_only=True)
class RatePlan:
    """A suite of `cases` cases passes with at most `allowed` flags.

    certifies: the rate that a pass excludes at `level`. chance: probability that an agent of the expected
    rate passes; None without an expectation.
    """

    cases: int
    allowed: int
    certifies: float
    level: float
    chance: float | None = None


def plan_max_rate(rate: float, *, allowed: int = 0, level: float = 0.95) -> int:
    """Smallest number of cases with which at most `allowed` flags exclude a true rate of `rate` or more."""
    _check_share("rate", rate)
    _check_share("level", level)
    low, high = allowed, allowed + 1
    while binomial_cdf(allowed, high, rate) > 1.0 - level:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if binomial_cdf(allowed, middle, rate) > 1.0 - level else (low, middle)
    return high


def plan_power(rate: float, expected: float, *, power: float = 0.8, level: float = 0.95) -> RatePlan:
    """Smallest plan that excludes `rate` and that an agent with the `expected` rate passes with chance
    `power`.

    Raises: ConfigurationError when expected ≥ rate, or when no plan with up to 500 allowed flags exists.
    """
    _check_share("power", power)
    if not 0.0 <= expected < rate:
        raise ConfigurationError(
            f"expected rate {expected:.4g} is not below the limit {rate:.4g}; no number of cases helps"
        )
    for allowed in range(MOST_ALLOWED + 1):
        cases = plan_max_rate(rate, allowed=allowed, level=level)
        chance = binomial_cdf(allowed, cases, expected)
        if chance >= power:
            return RatePlan(cases=cases, allowed=allowed, certifies=rate, level=level, chance=chance)
    raise ConfigurationError(
        f"expected rate {expected:.4g} is too close to the limit {rate:.4g}: choose a wider distance"
    )


def pass_chance(cases: int, allowed: int, rate: float) -> float:
    """Probability that an agent with this true flag rate passes the plan."""
    return binomial_cdf(allowed, cases, rate)


def plan_mean_shift(
    shift: float,
    *,
    variance_between: float,
    variance_within: float,
    replays: int,
    power: float = 0.8,
    level: float = 0.95,
    one_sided: bool = False,
) -> int:
    """Cases needed to see a mean difference of `shift` between two runs on the same cases.

    variance_between: of the true difference over cases; variance_within: of one replay inside a case. A first
    estimate: it leaves out the pseudo-case of the interval, so confirm it by simulation from a pilot run.
    Source: Miller (2024), paired form.
    """
    _check_share("level", level)
    quantile = NormalDist().inv_cdf
    z = quantile(level if one_sided else (1.0 + level) / 2.0) + quantile(power)
    return ceil(z * z * (variance_between + 2.0 * variance_within / replays) / (shift * shift))


def non_inferiority_floor(margin: float, *, replays: int, level: float = 0.95) -> int:
    """Cases below which non-inferiority cannot pass, even when every case is identical in both runs."""
    _check_share("margin", margin)
    return ceil(log(1.0 - level) / log(1.0 - margin / (1.0 - 1.0 / replays)))


def detect_chance(probabilities: Sequence[float], replays: int) -> float:
    """Chance that `replays` replays of one case show a difference at all: 1 − Σp^R."""
    return 1.0 - sum(p**replays for p in probabilities)


def replays_to_detect(flip: float, *, chance: float = 0.95) -> int:
    """Replays of one two-valued case that show a flip of this probability with the given chance."""
    _check_share("flip probability", flip)
    replays = 2
    while detect_chance((flip, 1.0 - flip), replays) < chance:
        replays += 1
    return replays


def calls_per_detection(flip: float, replays: int) -> float:
    """Calls spent per unstable case found, with this many replays of each."""
    found = detect_chance((flip, 1.0 - flip), replays)
    return replays / found if found else inf


def pairwise_variance_per_call(flip: float, replays: int) -> float:
    """Variance of pairwise agreement of one two-valued case, times the calls it costs."""
    mean = square = 0.0
    for count in range(replays + 1):
        weight = comb(replays, count) * flip**count * (1.0 - flip) ** (replays - count)
        value = (comb(count, 2) + comb(replays - count, 2)) / comb(replays, 2)
        mean += weight * value
        square += weight * value * value
    return replays * (square - mean * mean)


def best_replays(case_cost: float, replay_cost: float, *, variance_within: float, variance_between: float) -> float:
    """Replays per case that give the most information for the money: √(c_case·σ²_within / (c_replay·σ²_between))."""
    return sqrt(case_cost * variance_within / (replay_cost * variance_between))


def _check_share(name: str, value: float) -> None:
    if not 0.0 < value < 1.0:
        raise ConfigurationError(f"{name} {value}: expected a number between 0 and 1, both excluded")


def cases_needed(cases: int, decided: Callable[[int], bool]) -> int | None:
    """Fewest cases, to one in fifty, with which a check is decided; None when even 64 times as many are too few."""
    low, high = cases, 2 * cases
    while not decided(high):
        low, high = high, 2 * high
        if high > FARTHEST * cases:
            return None
    while high - low > max(1, high // 50):
        middle = (low + high) // 2
        low, high = (low, middle) if decided(middle) else (middle, high)
    return high
