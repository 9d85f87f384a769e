from __future__ import annotations

import pytest

from dfah_cli.errors import ValidationError
from dfah_cli.metrics.sensitivity import (
    SubsampleResult,
    adversarial_fallback_bound,
    case_resampling_interval,
    decision_concentration,
    first_anchored_agreement,
    leave_one_case_out,
    sign_flip_permutation,
    subsample_replays,
)

GROUPS = [("yyn", "aab"), ("nnnn", "--a-")]


def test_case_resampling_vector() -> None:
    found = case_resampling_interval([1, 0.5, 0.75, 1], n=200)
    assert (found.point, found.low, found.high) == (0.8125, 0.625, 1.0)


def test_sign_flip_vector() -> None:
    found = sign_flip_permutation([0.25, 0.5, 0, -0.1], n=1000)
    assert found.statistic == pytest.approx(0.1625)
    assert found.p_value == pytest.approx(0.4885114885114885, abs=1e-15)


def test_leave_one_out_vector() -> None:
    found = leave_one_case_out([1, 0.5, 0.75])
    assert (found.full, found.minimum, found.maximum) == (0.75, 0.625, 0.875)
    assert found.values == (0.625, 0.875, 0.75)


@pytest.mark.parametrize(
    ("decisions", "expected"),
    [("a", 1.0), ("ab", 0.3690702464285426), ("abc", 0.0), ("aab", 0.42061983571430506)],
)
def test_concentration_vectors(decisions: str, expected: float) -> None:
    assert decision_concentration(list(decisions)) == pytest.approx(expected, abs=1e-12)


def subsample_numbers(found: SubsampleResult) -> list[tuple[float, float, float]]:
    return [
        (found.dar_median, found.dar_low, found.dar_high),
        (found.tar_median, found.tar_low, found.tar_high),
        (found.gap_median, found.gap_low, found.gap_high),
    ]


def test_subsample_vector() -> None:
    found = subsample_replays(GROUPS, k=2, draws=50)
    assert subsample_numbers(found) == [(0.75, 0.75, 1.0), (0.75, 0.5, 1.0), (0.25, 0.0, 0.25)]


def test_fallback_bound_vector() -> None:
    found = adversarial_fallback_bound(GROUPS, [0, 0.2, 0.5, 1])
    assert [point.episodes_flipped for point in found.points] == [0, 2, 4, 6]
    assert [point.dar for point in found.points] == pytest.approx([0.8333, 0.8333, 0.7083, 0.7083], abs=1e-4)
    assert found.first_sign_change_fraction == 0.5


def test_flips_of_one_case_lower_agreement_until_the_other_label_leads() -> None:
    found = adversarial_fallback_bound([("nnnn", "----")], [0, 0.25, 0.5, 0.75, 1])
    assert [point.dar for point in found.points] == [1.0, 0.75, 0.5, 0.75, 0.75]


def test_first_anchored_vector() -> None:
    assert first_anchored_agreement(["a", "b", "b"]) == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    "call",
    [
        lambda: case_resampling_interval([]),
        lambda: case_resampling_interval([1.0], level=1.0),
        lambda: sign_flip_permutation([]),
        lambda: subsample_replays(GROUPS, k=4),
        lambda: subsample_replays([]),
        lambda: leave_one_case_out([1.0]),
        lambda: decision_concentration([]),
        lambda: first_anchored_agreement([]),
        lambda: adversarial_fallback_bound(GROUPS, [1.5]),
        lambda: adversarial_fallback_bound([], [0.5]),
    ],
)
def test_bad_arguments_are_value_errors(call: object) -> None:
    with pytest.raises(ValidationError):
        call()  # type: ignore[operator]
