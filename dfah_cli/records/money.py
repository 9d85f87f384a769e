"""Dollars and nano-dollars. Costs round half to even, reservations up, budgets down."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal

NUSD = 1_000_000_000  # nano-dollars in a dollar


def cost_nusd(cost_usd: float) -> int:
    """A cost in nano-dollars, rounded half to even from its decimal spelling."""
    return 0 if cost_usd == 0.0 else _scaled(cost_usd, ROUND_HALF_EVEN)


def reservation_nusd(cost_usd: float) -> int:
    """An upper estimate in nano-dollars, rounded up."""
    return _scaled(cost_usd, ROUND_CEILING)


def budget_nusd(cost_usd: float) -> int:
    """A limit in nano-dollars, rounded down."""
    return _scaled(cost_usd, ROUND_FLOOR)


def usd(nusd: int) -> float:
    """Nano-dollars as dollars, correctly rounded."""
    return nusd / NUSD


def _scaled(value: float, rounding: str) -> int:
    return int((Decimal(repr(value)) * NUSD).to_integral_value(rounding))
