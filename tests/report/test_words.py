import pytest

from dfah_cli.report import words
from tests.report.build import FLAGS, FLIPPED, ORDER, STABLE, Groups, a_report


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "—"), (0.0, "0.000"), (-0.0, "0.000"), (1.0, "1.000"), (11 / 12, "0.917"), (0.9996, "0.9996"),
        (0.99999, "0.99999"), (0.00004, "0.00004"), (-1 / 3, "-0.333"), (-0.0001, "-0.0001"),
    ],
)  # fmt: skip
def test_a_share_is_never_rounded_to_certainty(value: float | None, shown: str) -> None:
    assert words.share(value) == shown


@pytest.mark.parametrize(
    ("nusd", "shown"),
    [
        (None, "—"),
        (0, "$0.00"),
        (1_230_000_000, "$1.23"),
        (10_000_000, "$0.01"),
        (1, "$0.000000001"),
        (1_500_000, "$0.0015"),
    ],
)
def test_money_keeps_what_is_smaller_than_a_cent(nusd: int | None, shown: str) -> None:
    assert words.money(nusd) == shown


@pytest.mark.parametrize(
    ("us", "shown"),
    [
        (None, "—"),
        (1500, "1.5 ms"),
        (999_999, "1000.0 ms"),
        (61_000_000, "61.0 s"),
        (3_723_000_000, "1:02:03"),
    ],
)
def test_a_duration_has_the_unit_that_suits_it(us: float | None, shown: str) -> None:
    assert words.duration(us) == shown


@pytest.mark.parametrize(
    ("groups", "status", "told"),
    [
        ({("t", "A"): STABLE}, {}, "Every decision and every path repeated: 1 case, 3 replays each."),
        ({("t", "A"): ORDER, ("t", "B"): STABLE}, {}, "The decision is stable, the path is not: 1 of 2 cases"),
        ({("t", "A"): FLIPPED}, {}, "The decision is not stable: 1 of 1 case changed their decision."),
        (FLAGS, {}, "1 of 4 cases changed their decision, and 2 more reach one decision by different paths."),
        ({("t", "A"): STABLE}, {("A", 0): "refusal"}, "Nothing could be measured: no replay group of 1 case"),
    ],
)
def test_the_verdict_is_a_sentence(groups: Groups, status: dict[tuple[str, int], str], told: str) -> None:
    assert told in words.verdict_sentence(a_report(groups, status=status))


def test_an_observation_is_never_shown_as_equal_to_a_threshold_it_misses() -> None:
    assert words.observed(0.94999999, 0.95) == "0.94999999"
    assert words.observed(0.916666666, 0.95) == "0.916667"
    assert words.observed(0.95, 0.95) == "0.95"
    assert words.observed("undefined", 0.95) == "undefined"


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [("0.1", "0.2", "0.1 – 0.2"), ("-0.1", "0.2", "-0.1 to 0.2"), ("-0.2", "+0.1", "-0.2 to +0.1")],
)
def test_a_dash_between_limits_is_never_read_as_a_sign(low: str, high: str, shown: str) -> None:
    assert words.interval(low, high) == shown


@pytest.mark.parametrize(("text", "shown"), [("0.000", "0.000"), ("0.1", "+0.1"), ("-0.1", "-0.1"), ("—", "—")])
def test_a_change_has_a_sign_unless_it_is_zero(text: str, shown: str) -> None:
    assert words.signed(text) == shown


@pytest.mark.parametrize(
    ("p", "shown"), [(1e-9, "p < 0.0001"), (0.0042, "p = 0.0042"), (0.049, "p = 0.049"), (1.0, "p = 1.00")]
)
def test_a_small_chance_keeps_the_digits_that_decide(p: float, shown: str) -> None:
    assert words.chance(p) == shown


def test_most_values_are_told_by_nearest_rank() -> None:
    assert words.spread([5] * 4, str) == "5 for each of 4 episodes."
    assert words.spread(range(1, 101), str) == "Half of 100 episodes took up to 50, 95 % up to 95, the largest 100."
