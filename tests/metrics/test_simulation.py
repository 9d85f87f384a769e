"""Known truth is recovered, and intervals cover what they promise. The long runs are marked soak."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.coverage import (
    MARGIN,
    PROFILES,
    PROMISED,
    RUNS,
    Cases,
    cells,
    coverage,
    draw_cases,
    exact_coverage,
    false_pass,
    sample,
    suites,
    truth,
)
from benchmarks.many_intervals import AGREES, limits, outcomes
from dfah_cli.metrics.intervals import bounded_interval, modal_floor
from dfah_cli.metrics.stopping import anytime_threshold, log_e_value


@pytest.mark.parametrize("replays", [2, 3, 10])
def test_pairwise_agreement_recovers_a_known_flip_rate_at_any_number_of_replays(replays: int) -> None:
    flip, cases = 0.2, 20_000
    every = Cases(decision=np.full(cases, flip), path=np.zeros(cases))
    found = sample(every, replays, np.random.RandomState(3))
    assert found.pairwise.mean() == pytest.approx(1 - 2 * flip * (1 - flip), abs=0.012)
    assert found.tar.mean() == 1.0


def test_the_modal_share_flatters_and_the_less_the_more_replays() -> None:
    shown = [truth(PROFILES["loose"], replays)["DAR"] for replays in (3, 5, 10)]
    assert shown == sorted(shown, reverse=True)
    assert shown[0] - shown[-1] > 0.02


@pytest.mark.parametrize(("cases", "tasks"), [(10, 1), (10, 3), (30, 2)])
def test_the_intervals_of_many_suites_are_those_of_each(cases: int, tasks: int) -> None:
    runs, replays = 6, 5
    values = suites(PROFILES["typical"], cases, replays, runs=runs, seed=1).tar.reshape(runs, cases)
    labels = np.arange(cases) % tasks
    found = limits(outcomes(values, labels), modal_floor(replays), 1.0, miss=0.025)
    for suite, (low, high) in zip(values, found, strict=True):
        one = bounded_interval(suite, labels, modal_floor(replays), 1.0)
        assert (low, high) == pytest.approx((one.low, one.high), abs=AGREES)


def test_a_quick_look_at_coverage() -> None:
    found = coverage(PROFILES["typical"], 20, 3, runs=200)
    assert min(found.values()) >= 0.94
    assert max(found.values()) <= 1.0


def test_the_interval_of_a_rate_covers_whatever_the_rate() -> None:
    rates = np.linspace(0.02, 0.6, 30)
    assert min(exact_coverage(rate, cases) for rate in rates for cases in (10, 20, 50)) >= 0.95


def test_a_quick_look_at_a_worse_agent() -> None:
    assert false_pass(PROFILES["typical"], 50, runs=400) <= 0.05


@pytest.mark.soak
@pytest.mark.parametrize(("agent", "replays", "cases", "tasks"), list(cells()))
def test_intervals_cover_what_they_promise(agent: str, replays: int, cases: int, tasks: int) -> None:
    found = coverage(PROFILES[agent], cases, replays, runs=RUNS, tasks=tasks)
    assert min(found.values()) >= PROMISED


@pytest.mark.soak
@pytest.mark.parametrize("agent", PROFILES)
@pytest.mark.parametrize("cases", [20, 50, 100, 200])
def test_a_worse_agent_seldom_passes(agent: str, cases: int) -> None:
    assert MARGIN == 0.05
    assert false_pass(PROFILES[agent], cases, runs=RUNS) <= 0.05


def test_cases_are_drawn_as_the_profile_says() -> None:
    found = draw_cases(PROFILES["typical"], 20_000, np.random.RandomState(5))
    assert (found.decision == 0).mean() == pytest.approx(0.75, abs=0.02)
    assert found.path.max() <= 0.51


@pytest.mark.parametrize(("rate", "least", "most"), [(0.05, 0.0, 0.05), (0.005, 0.9, 1.0)])
def test_the_anytime_rule_may_be_looked_at_after_every_case(rate: float, least: float, most: float) -> None:
    cap, agents = 300, 2000
    passes = np.array(
        [[log_e_value(min(x, n), n, 0.05) >= anytime_threshold() for x in range(30)] for n in range(1, cap)]
    )
    flagged = (np.random.RandomState(4).random_sample((agents, cap - 1)) < rate).cumsum(axis=1)
    passed = passes[np.arange(cap - 1), np.minimum(flagged, 29)].any(axis=1).mean()
    assert least <= passed <= most
