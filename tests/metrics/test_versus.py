from __future__ import annotations

import pytest

from dfah_cli.errors import ConfigurationError, EligibilityError
from dfah_cli.metrics.measure import measure
from dfah_cli.metrics.paired import Measured
from dfah_cli.metrics.versus import Verdict, compare_runs, non_inferiority
from tests.metrics.build import Replay, a_table

STABLE: list[Replay] = [("Y", "T U")] * 3
OTHER: list[Replay] = [("N", "T U")] * 3
ORDER: list[Replay] = [("Y", "T U"), ("Y", "U T"), ("Y", "T U")]


def a_run(groups: dict[tuple[str, str], list[Replay]]) -> Measured:
    table = a_table(groups)
    return Measured(table, measure(table, replays=None))


def suite(replays: list[Replay], cases: int = 20) -> dict[tuple[str, str], list[Replay]]:
    return {("t", f"C{i:03}"): replays for i in range(cases)}


def test_a_silent_change_of_every_label_is_seen_only_by_drift() -> None:
    found = compare_runs(a_run(suite(STABLE)), a_run(suite(OTHER)))
    dar = next(item for item in found.differences if item.metric == "dar")
    assert (dar.interval.value, dar.same) == (0.0, 20)
    assert found.drift["decision"].mean == 1
    assert found.drift["decision"].p < 1e-12
    assert found.drift["path.strong"].mean == 0
    first = found.flips[0]
    assert (first.case_id, first.old, first.new, first.drift) == ("C000", ("Y",), ("N",), 1)
    assert len(found.flips) == 20


def test_a_run_against_itself_raises_no_alarm() -> None:
    run = a_run({**suite(STABLE), ("t", "X"): ORDER})
    found = compare_runs(run, run)
    assert found.flips == ()
    assert all(item.interval.value == 0 for item in found.differences)
    assert (found.flags_p, min(alarm.p_holm for alarm in found.alarms)) == (1.0, 1.0)
    assert min(test.p for test in found.drift.values()) > 0.5


def test_newly_flagged_cases_are_named() -> None:
    found = compare_runs(a_run(suite(STABLE)), a_run({**suite(STABLE), ("t", "C003"): ORDER}))
    assert [key.case_id for key in found.newly_flagged] == ["C003"]
    assert found.no_longer_flagged == ()


def test_unequal_replays_are_rarefied_and_said_so() -> None:
    short: list[Replay] = [("Y", "T U"), ("Y", "U T")]
    found = compare_runs(a_run({("t", "A"): ORDER}), a_run({("t", "A"): short}))
    assert (found.pairing.replays, found.pairing.rarefied, found.flags_p) == (2, True, None)
    seq = next(item for item in found.differences if item.metric == "tar.seq")
    assert seq.interval.value == pytest.approx(1 / 2 - (1 / 3 * 1 + 2 / 3 * 1 / 2))


def test_cases_of_one_run_only_are_listed() -> None:
    found = compare_runs(
        a_run({("t", "A"): STABLE, ("t", "B"): STABLE}), a_run({("t", "A"): STABLE, ("t", "Z"): STABLE})
    )
    assert ([k.case_id for k in found.pairing.only_base], [k.case_id for k in found.pairing.only_candidate]) == (
        ["B"],
        ["Z"],
    )
    with pytest.raises(EligibilityError):
        compare_runs(a_run({("t", "A"): STABLE}), a_run({("u", "A"): STABLE}))


@pytest.mark.parametrize(
    ("cases", "candidate", "verdict"),
    [(100, STABLE, Verdict.PASS), (10, STABLE, Verdict.INCONCLUSIVE), (100, ORDER, Verdict.FAIL)],
)
def test_not_worse_needs_enough_cases(cases: int, candidate: list[Replay], verdict: Verdict) -> None:
    found = non_inferiority(a_run(suite(STABLE, cases)), a_run(suite(candidate, cases)), {"tar.seq": 0.05})
    assert found[0].verdict is verdict
    assert found[0].cases == cases


def test_the_bound_is_the_limit_the_data_can_prove() -> None:
    (found,) = non_inferiority(a_run(suite(STABLE, 39)), a_run(suite(STABLE, 39)), {"dar": 0.05})
    assert found.verdict is Verdict.PASS
    assert found.bound == pytest.approx(-(1 - 0.05 ** (1 / 39)) * 2 / 3)
    (short,) = non_inferiority(a_run(suite(STABLE, 38)), a_run(suite(STABLE, 38)), {"dar": 0.05})
    assert short.verdict is Verdict.INCONCLUSIVE


def test_flags_may_rise_by_less_than_the_margin() -> None:
    base, worse = a_run(suite(STABLE, 100)), a_run({**suite(STABLE, 100), **suite(ORDER, 30)})
    (found,) = non_inferiority(base, worse, {"flags": 0.05})
    assert (found.verdict, found.difference) == (Verdict.FAIL, pytest.approx(0.3))


def test_an_unknown_metric_is_refused_with_those_available() -> None:
    with pytest.raises(ConfigurationError, match=r"available: dar, tar\.seq"):
        non_inferiority(a_run(suite(STABLE)), a_run(suite(STABLE)), {"kappa": 0.1})
