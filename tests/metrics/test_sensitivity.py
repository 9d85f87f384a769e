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


@pytest.mark.parametrize(
    ("cases", "shares"),
    [
        # Observed from the reference, which flips the case that agrees least afterwards, earlier cases first.
        (["aaaa", "aab", "ccc"], [8 / 9, 7 / 9, 8 / 9, 7 / 9, 2 / 3, 5 / 9, 2 / 3, 7 / 12, 1 / 2, 1 / 2]),
        (["aa", "aaaa"], [1.0, 0.75, 0.625, 0.5, 0.625, 0.875]),
        (["acbaa"], [0.6, 0.4, 0.4, 0.4, 0.4]),
    ],
)
def test_flips_take_the_order_of_the_reference(cases: list[str], shares: list[float]) -> None:
    total = sum(map(len, cases))
    grid = [max(0.0, flips - 0.5) / total for flips in range(total + 1)]
    found = adversarial_fallback_bound([(case, "-" * len(case)) for case in cases], grid)
    path = dict.fromkeys((point.episodes_flipped, round(point.dar, 9)) for point in found.points)
    assert [dar for _, dar in path] == pytest.approx(shares, abs=1e-8)


def test_a_gap_of_exactly_zero_is_a_change_of_sign() -> None:
    # Sums of floats can keep a rest of 1e-17 there and miss the change.
    assert adversarial_fallback_bound([("aaaa", "xxxy")], [0, 0.25]).first_sign_change_fraction == 0.25


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
