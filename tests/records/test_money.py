"""Dollars become whole nano-dollars: costs to the nearest even, reservations up, budgets down."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfah_cli.records.money import budget_nusd, cost_nusd, reservation_nusd, usd

DOLLARS = st.floats(0, 9_000_000, allow_subnormal=True)


@pytest.mark.parametrize(
    ("dollars", "cost", "reservation", "budget"),
    [
        (0.0, 0, 0, 0),
        (0.1, 100_000_000, 100_000_000, 100_000_000),
        (0.1 + 0.2, 300_000_000, 300_000_001, 300_000_000),
        (1e-9, 1, 1, 1),
        (0.5e-9, 0, 1, 0),
        (1.5e-9, 2, 2, 1),
        (2.5e-9, 2, 3, 2),
        (1e-12, 0, 1, 0),
        (5e-324, 0, 1, 0),
        (9_000_000.0, 9_000_000 * 10**9, 9_000_000 * 10**9, 9_000_000 * 10**9),
    ],
)
def test_rounding(dollars: float, cost: int, reservation: int, budget: int) -> None:
    assert (cost_nusd(dollars), reservation_nusd(dollars), budget_nusd(dollars)) == (cost, reservation, budget)


@given(DOLLARS)
def test_a_budget_is_never_more_and_a_reservation_never_less_than_was_written(dollars: float) -> None:
    written = Fraction(repr(dollars)) * 10**9
    assert budget_nusd(dollars) == math.floor(written)
    assert reservation_nusd(dollars) == math.ceil(written)
    assert abs(cost_nusd(dollars) - written) <= Fraction(1, 2)


@given(st.integers(0, 9_000_000 * 10**9))
def test_nano_dollars_come_back_as_the_nearest_dollars(nano: int) -> None:
    assert usd(nano) == float(Fraction(nano, 10**9))
