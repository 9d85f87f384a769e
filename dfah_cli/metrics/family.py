"""The agreement family: what k replays drawn without replacement would show. Pure and exact.

The modal share of few replays is biased upwards; these are not (they are U-statistics), and they compare
runs with different numbers of replays. Source: docs/metrics.md, "Agreement family".
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from math import comb, factorial

from dfah_cli.errors import ConfigurationError


def agree_k(counts: Iterable[int], k: int) -> Fraction:
    """Chance that k of the replays all agree: Σ C(n_v, k) / C(R, k), in [0, 1].

    counts: sizes of the classes of equal values, Σ = R ≥ k. k = 2 is pairwise agreement, k = R the
    indicator of unanimity. Raises: ConfigurationError when there are fewer than k replays.
    """
    sizes = tuple(counts)
    _check(sum(sizes), k)
    return Fraction(sum(comb(size, k) for size in sizes), comb(sum(sizes), k))


def pairwise(counts: Iterable[int]) -> Fraction:
    """Chance that two replays of one case agree; unbiased for the collision probability Σp²."""
    return agree_k(counts, 2)


def flag_at_k(joint: Mapping[tuple[Hashable, Hashable], int], k: int) -> Fraction:
    """Chance that k of the replays decide alike but not all on one path; equals the flag itself at k = R.

    joint: replays per (decision, path).
    """
    total = sum(joint.values())
    _check(total, k)
    decisions: dict[Hashable, int] = {}
    for (decision, _), count in joint.items():
        decisions[decision] = decisions.get(decision, 0) + count
    alike = sum(comb(count, k) for count in decisions.values()) - sum(comb(count, k) for count in joint.values())
    return Fraction(alike, comb(total, k))


def modal_at_k(counts: Iterable[int], k: int) -> Fraction:
    """Mean modal share over all subsets of k replays (rarefaction); equals the modal share at k = R."""
    sizes = tuple(sorted(counts))
    _check(sum(sizes), k)
    return _modal_at_k(sizes, k)


@lru_cache(maxsize=65_536)
def _modal_at_k(sizes: tuple[int, ...], k: int) -> Fraction:
    # E[max] = Σ_m P(max > m); the subsets whose classes all have at most m members are a coefficient of a
    # product.
    total = comb(sum(sizes), k)
    surpassing = Fraction(0)
    for ceiling in range(min(k, sizes[-1])):
        terms = [[Fraction(comb(size, taken)) for taken in range(min(ceiling, size) + 1)] for size in sizes]
        surpassing += total - _product(terms, k)
    return surpassing / (total * k)


def expected_modal(probabilities: Sequence[Fraction], replays: int) -> Fraction:
    """Mean modal share of `replays` independent replays of a case with these label probabilities.

    The difference to max(probabilities) is the bias that a small number of replays has.
    """
    below = Fraction(0)
    for ceiling in range(replays):
        terms = [[p**n / factorial(n) for n in range(ceiling + 1)] for p in probabilities]
        below += factorial(replays) * _product(terms, replays)
    return (replays - below) / replays


def _product(polynomials: Sequence[Sequence[Fraction]], degree: int) -> Fraction:
    """Coefficient of x^degree in the product."""
    product = [Fraction(1)]
    for factor in polynomials:
        grown = [Fraction(0)] * min(degree + 1, len(product) + len(factor) - 1)
        for i, left in enumerate(product):
            for j, right in enumerate(factor[: len(grown) - i]):
                grown[i + j] += left * right
        product = grown
    return product[degree] if degree < len(product) else Fraction(0)


def _check(replays: int, k: int) -> None:
    if not 1 <= k <= replays:
        raise ConfigurationError(
            f"k = {k} replays asked for, {replays} observed; choose k between 1 and the number of replays"
        )
