from __future__ import annotations

from fractions import Fraction

import pytest

from dfah_cli.metrics.fallback import gap_after_removals, removals_to_close_gap

GROUPS = [("a", "yyy"), ("a", "yyn"), ("b", "zzzz")]


def test_removals_take_the_most_agreement_first() -> None:
    weights = [Fraction(1, 8)] * 3 + [Fraction(1, 12)] * 3
    losses = [Fraction(1) - gap_after_removals(GROUPS, Fraction(1), done) for done in range(8)]
    assert losses == [sum(weights[:done], Fraction(0)) for done in range(7)] + [sum(weights, Fraction(0))]


@pytest.mark.parametrize(
    ("gap", "expected"), [("0", 0), ("1/8", 1), ("1/4", 2), ("3/10", 3), ("5/8", 6), ("7/10", None)]
)
def test_the_gap_closes_exactly_at_zero(gap: str, expected: int | None) -> None:
    assert removals_to_close_gap(GROUPS, Fraction(gap)) == expected
