from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfah_cli.metrics.histogram import bin_of, histogram


@pytest.mark.parametrize(
    ("value", "place"),
    [(0, (0, 1)), (1, (1, 2)), (2, (2, 5)), (4, (2, 5)), (5, (5, 10)), (9, (5, 10)), (10, (10, 20)), (199, (100, 200)),
     (200, (200, 500)), (999_999, (500_000, 1_000_000)), (1_000_000, (1_000_000, 2_000_000))],
)  # fmt: skip
def test_edges_are_one_two_five(value: int, place: tuple[int, int]) -> None:
    assert bin_of(value) == place


@given(st.integers(0, 10**15))
def test_every_value_has_one_bin_and_bins_join(value: int) -> None:
    low, high = bin_of(value)
    assert low <= value < high
    assert bin_of(high)[0] == high


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=60))
def test_nothing_is_lost_and_the_bounds_hold(values: list[int]) -> None:
    found = histogram(values)
    assert found is not None
    assert sum(one.count for one in found.bins) == found.count == len(values)
    assert (found.least, found.largest, found.total) == (min(values), max(values), sum(values))
    assert 2 * sum(value < found.half_below for value in values) >= len(values)
    assert 100 * sum(value < found.most_below for value in values) >= 95 * len(values)
    assert all(one.high == other.low for one, other in zip(found.bins, found.bins[1:], strict=False))


def test_no_value_is_no_histogram() -> None:
    assert histogram([]) is None
