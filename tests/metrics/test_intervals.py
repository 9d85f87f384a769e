from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dfah_cli.errors import ConfigurationError
from dfah_cli.metrics.intervals import (
    Interval,
    Method,
    Sides,
    bounded_interval,
    clopper_pearson,
    modal_floor,
    outward,
    wilson,
)

THIRD, TWO = 1 / 3, 2 / 3
MIXED = [1.0] * 46 + [TWO] * 3 + [THIRD]


def limits(interval: Interval) -> list[float]:
    return [interval.low, interval.high]


@pytest.mark.parametrize(
    ("events", "cases", "low", "high"),
    [
        (0, 20, 0, 0.168433471),
        (0, 50, 0, 0.071121736),
        (1, 50, 0.000506228, 0.106469546),
        (3, 50, 0.012548588, 0.165481947),
        (5, 100, 0.016431879, 0.112834911),
        (50, 50, 0.928878264, 1),
    ],
)
def test_clopper_pearson_vectors(events: int, cases: int, low: float, high: float) -> None:
    assert limits(clopper_pearson(events, cases)) == pytest.approx([low, high], abs=1e-9)


@pytest.mark.parametrize(
    ("events", "cases", "upper"),
    [
        (0, 20, 0.139108341),
        (0, 50, 0.058155079),
        (1, 50, 0.091398131),
        (3, 50, 0.147837176),
        (5, 100, 0.102253378),
    ],
)
def test_one_sided_upper_vectors(events: int, cases: int, upper: float) -> None:
    assert limits(clopper_pearson(events, cases, sides=Sides.UPPER)) == pytest.approx([0, upper], abs=1e-9)


def test_clopper_pearson_equals_scipy() -> None:
    stats = pytest.importorskip("scipy.stats", reason="no scipy; run: python -m pip install 'dfah-cli[dev]'")
    for events in range(0, 31, 3):
        expected = stats.binomtest(events, 30).proportion_ci(0.9, method="exact")
        assert limits(clopper_pearson(events, 30, level=0.9)) == pytest.approx(list(expected), abs=1e-10)


def test_wilson_vector() -> None:
    assert limits(wilson(3, 50)) == pytest.approx([0.020614970, 0.162170917], abs=1e-9)


def test_a_suite_without_any_change_still_has_a_lower_limit() -> None:
    found = bounded_interval([1.0] * 50, None, THIRD, 1)
    assert limits(found) == pytest.approx([0.952585509, 1], abs=1e-9)
    assert (found.method, found.seed, found.value) == (Method.CLOSED_FORM, None, 1.0)
    one_sided = bounded_interval([1.0] * 50, None, THIRD, 1, sides=Sides.LOWER)
    assert one_sided.low == pytest.approx(0.961229947, abs=1e-9)
    tasks = ["a"] * 30 + ["b"] * 15 + ["c"] * 5
    unbalanced = bounded_interval([1.0] * 50, tasks, THIRD, 1, sides=Sides.LOWER)
    assert unbalanced.low == pytest.approx(0.879309152, abs=1e-9)


def test_one_seed_has_one_answer_on_every_machine() -> None:
    found = bounded_interval(MIXED, None, THIRD, 1)
    assert limits(found) == pytest.approx([0.905469661, 0.991061293], abs=1e-9)
    assert (found.method, found.seed) == (Method.BOUNDED, 42)


def test_two_tasks() -> None:
    found = bounded_interval(MIXED, ["a"] * 30 + ["b"] * 20, THIRD, 1)
    assert found.value == pytest.approx(0.958333333, abs=1e-9)
    assert limits(found) == pytest.approx([0.888112952, 0.988284303], abs=1e-9)


def test_a_task_of_few_cases_gets_a_pseudo_case_of_its_own() -> None:
    values = [1.0] * 11 + [TWO] + [1.0] * 5 + [THIRD] + [1.0, TWO]
    found = bounded_interval(values, ["a"] * 12 + ["b"] * 6 + ["c"] * 2, THIRD, 1)
    assert found.value == pytest.approx(0.898148148, abs=1e-9)
    assert limits(found) == pytest.approx([0.677944673, 0.982975693], abs=1e-9)
    assert found.low_support


def test_a_signed_gap_has_a_two_sided_range() -> None:
    found = bounded_interval([0.0] * 40 + [THIRD] * 6 + [TWO] * 2 + [-THIRD] * 2, None, -TWO, TWO)
    assert found.value == pytest.approx(0.053333333, abs=1e-9)
    assert limits(found) == pytest.approx([-0.015067886, 0.124380720], abs=1e-9)


@pytest.mark.parametrize(("replays", "labels", "expected"), [(3, 2, TWO), (3, 3, THIRD), (5, 2, 0.6), (3, None, THIRD)])
def test_modal_floor(replays: int, labels: int | None, expected: float) -> None:
    assert modal_floor(replays, labels) == expected


def test_printed_limits_claim_no_more_than_computed_ones() -> None:
    found = clopper_pearson(3, 50)
    assert outward(found) == (0.0125, 0.1655)
    assert outward(clopper_pearson(0, 50)) == (0.0, 0.0712)


@pytest.mark.parametrize("arguments", [([], 0, 1), ([0.5], 1, 0), ([2.0], 0, 1)])
def test_impossible_arguments_are_refused(arguments: tuple[list[float], float, float]) -> None:
    values, lo, hi = arguments
    with pytest.raises(ConfigurationError):
        bounded_interval(values, None, lo, hi)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([THIRD, TWO, 1.0]), st.sampled_from("ab")), min_size=1, max_size=12))
def test_the_interval_holds_the_value_and_never_collapses(cases: list[tuple[float, str]]) -> None:
    found = bounded_interval([value for value, _ in cases], [task for _, task in cases], THIRD, 1)
    assert THIRD <= found.low <= found.value + 1e-12
    assert found.value <= found.high + 1e-12
    assert found.low < found.high
