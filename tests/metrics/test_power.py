from __future__ import annotations

import pytest

from dfah_cli.errors import ConfigurationError
from dfah_cli.metrics import power

TABLE = {
    0.10: (29, 46, 61, 76, 103, 44),
    0.05: (59, 93, 124, 153, 208, 90),
    0.03: (99, 157, 208, 257, 348, 152),
    0.02: (149, 236, 313, 386, 523, 228),
    0.01: (299, 473, 628, 773, 1049, 459),
    0.005: (598, 947, 1258, 1549, 2100, 919),
    0.001: (2995, 4742, 6294, 7752, 10511, 4603),
}


@pytest.mark.parametrize("rate", TABLE)
def test_cases_needed_to_exclude_a_rate(rate: float) -> None:
    got = [power.plan_max_rate(rate, allowed=allowed) for allowed in (0, 1, 2, 3, 5)]
    assert (*got, power.plan_max_rate(rate, level=0.99)) == TABLE[rate]


@pytest.mark.parametrize(
    ("rate", "expected", "plan"),
    [
        (0.05, 0.01, (124, 2)),
        (0.02, 0.005, (386, 3)),
        (0.10, 0.02, (61, 2)),
        (0.05, 0.02, (234, 6)),
        (0.01, 0.002, (628, 2)),
    ],
)
def test_plan_with_eighty_percent_power(rate: float, expected: float, plan: tuple[int, int]) -> None:
    found = power.plan_power(rate, expected)
    assert (found.cases, found.allowed) == plan
    assert found.chance is not None
    assert found.chance >= 0.8


def test_a_plan_without_allowed_flags_fails_many_good_agents() -> None:
    chances = [power.pass_chance(power.plan_max_rate(0.05, allowed=c), c, 0.01) for c in range(4)]
    assert chances == pytest.approx([0.55, 0.76, 0.87, 0.93], abs=0.01)
    assert power.pass_chance(124, 2, 0.05) == pytest.approx(0.043, abs=0.01)


def test_mean_shift_vectors() -> None:
    both = power.plan_mean_shift(0.05, variance_between=0.0, variance_within=0.03, replays=3)
    one = power.plan_mean_shift(0.05, variance_between=0.01, variance_within=0.03, replays=3, one_sided=True)
    assert (both, one) == (63, 75)


def test_non_inferiority_has_a_floor_of_cases() -> None:
    assert [power.non_inferiority_floor(m, replays=3) for m in (0.02, 0.05, 0.10)] == [99, 39, 19]


def test_replays_that_show_a_flip() -> None:
    flips = (0.5, 0.3, 0.2, 0.1, 0.05, 0.01)
    assert [power.replays_to_detect(flip) for flip in flips] == [6, 9, 14, 29, 59, 299]


def test_three_replays_find_as_many_unstable_cases_per_call_as_two() -> None:
    costs = [power.calls_per_detection(0.1, replays) for replays in (2, 3, 5, 10)]
    assert costs == pytest.approx([11.11, 11.11, 12.2, 15.4], abs=0.05)
    assert costs[0] == pytest.approx(costs[1], abs=1e-9)


def test_dear_cases_deserve_more_replays() -> None:
    got = [power.best_replays(cost, 1, variance_within=1, variance_between=1) for cost in (10, 100)]
    assert got == pytest.approx([3.162, 10], abs=1e-3)


@pytest.mark.parametrize("expected", [0.05, 0.06])
def test_an_agent_at_the_limit_cannot_be_planned_for(expected: float) -> None:
    with pytest.raises(ConfigurationError, match="not below"):
        power.plan_power(0.05, expected)


def test_plans_equal_scipy() -> None:
    stats = pytest.importorskip("scipy.stats", reason="no scipy; run: python -m pip install 'dfah-cli[dev]'")
    for allowed in (0, 2, 7):
        cases = power.plan_max_rate(0.07, allowed=allowed)
        assert stats.binom.cdf(allowed, cases, 0.07) <= 0.05 < stats.binom.cdf(allowed, cases - 1, 0.07)
