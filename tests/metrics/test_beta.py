from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dfah_cli.metrics.beta import betainc, betaincinv, binomial_cdf, binomial_cdf_half

special = pytest.importorskip("scipy.special", reason="no scipy; run: python -m pip install 'dfah-cli[dev]'")
stats = pytest.importorskip("scipy.stats", reason="no scipy; run: python -m pip install 'dfah-cli[dev]'")

SHAPES = st.integers(1, 5000)


@given(SHAPES, SHAPES, st.floats(0.0, 1.0))
def test_incomplete_beta_equals_scipy(a: int, b: int, x: float) -> None:
    assert betainc(a, b, x) == pytest.approx(special.betainc(a, b, x), rel=1e-9, abs=1e-12)


@settings(max_examples=40)
@given(SHAPES, SHAPES, st.floats(0.001, 0.999))
def test_inverse_equals_scipy(a: int, b: int, probability: float) -> None:
    assert betaincinv(a, b, probability) == pytest.approx(special.betaincinv(a, b, probability), abs=1e-10)


@given(st.integers(-1, 60), st.integers(1, 60), st.floats(0.0, 1.0))
def test_binomial_tail_equals_scipy(successes: int, trials: int, rate: float) -> None:
    assert binomial_cdf(successes, trials, rate) == pytest.approx(stats.binom.cdf(successes, trials, rate), abs=1e-12)


def test_a_fair_binomial_tail_stays_exact_for_many_trials() -> None:
    assert binomial_cdf_half(900, 2000) == pytest.approx(stats.binom.cdf(900, 2000, 0.5), rel=1e-9)


def test_a_million_cases_are_no_problem() -> None:
    assert betaincinv(1001, 999_000, 0.975) == pytest.approx(special.betaincinv(1001, 999_000, 0.975), rel=1e-7)
