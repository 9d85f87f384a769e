from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfah_cli.errors import ConfigurationError
from dfah_cli.metrics.stopping import (
    Settled,
    anytime_threshold,
    attempt_alpha,
    curtail,
    first_pass,
    log_e_value,
)


@pytest.mark.parametrize(
    ("flagged", "cases", "expected"),
    [
        (0, 59, 1.880437750),
        (0, 87, 2.969700505),
        (0, 88, 3.010243509),
        (1, 100, 1.813313642),
        (1, 130, 2.856431394),
        (2, 150, 2.222294222),
    ],
)
def test_log_e_vectors(flagged: int, cases: int, expected: float) -> None:
    assert log_e_value(flagged, cases, 0.05) == pytest.approx(expected, abs=1e-9)


def test_first_cases_that_pass_at_any_time() -> None:
    assert anytime_threshold() == pytest.approx(2.995732274, abs=1e-9)
    assert [first_pass(flagged, 0.05) for flagged in range(4)] == [88, 134, 174, 210]


@given(st.lists(st.booleans(), min_size=20, max_size=20), st.integers(0, 5))
def test_curtailment_gives_the_verdict_of_the_full_run(flags: list[bool], allowed: int) -> None:
    full = Settled.FAIL if sum(flags) > allowed else Settled.PASS
    verdicts = [curtail(sum(flags[:seen]), seen, cases=20, allowed=allowed) for seen in range(21)]
    assert verdicts[-1] is full
    assert set(verdicts) <= {full, Settled.OPEN}


def test_attempts_together_spend_no_more_than_alpha() -> None:
    assert sum(attempt_alpha(0.05, attempt) for attempt in range(1, 60)) <= 0.05
    assert attempt_alpha(0.05, 1) == 0.025


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(ConfigurationError):
        curtail(3, 2, cases=5, allowed=0)
    with pytest.raises(ConfigurationError):
        log_e_value(3, 2, 0.05)
    with pytest.raises(ConfigurationError):
        attempt_alpha(0.05, 0)
