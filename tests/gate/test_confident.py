from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import attrs
import pytest

from dfah_cli.gate.evaluate import Gate, GateCheck, Verdict
from dfah_cli.gate.grounds import Grounds, alpha_spent
from dfah_cli.metrics.measure import measure
from dfah_cli.metrics.paired import Measured
from dfah_cli.records.policy import CaseGatePolicy, GatePolicy, NonInferiorityPolicy, TaskGatePolicy, Waiver
from dfah_cli.report.baseline import Baseline, baseline_of
from dfah_cli.report.record import Report
from dfah_cli.report.state import state_report
from tests.metrics.build import Replay
from tests.report.build import ARGS, FLIPPED, ORDER, STABLE, Groups, a_report, a_run


def suite(cases: int, bad: Sequence[Sequence[Replay]] = ()) -> Groups:
    """So many cases of one task; all of them stable but `bad`."""
    extra = {("t", f"X{number:03}"): replays for number, replays in enumerate(bad)}
    return {**{("t", f"C{number:03}"): STABLE for number in range(cases - len(extra))}, **extra}


def stated(groups: Groups, **differences: object) -> tuple[Report, Grounds]:
    run = a_run(groups, **differences)  # type: ignore[arg-type]
    measurement = measure(run.table, replays=run.plan.replays)
    return state_report(run, measurement), Grounds(measured=Measured(run.table, measurement))


def only(result_checks: tuple[GateCheck, ...], name: str) -> GateCheck:
    return next(check for check in result_checks if check.name == name)


def flags(limit: float, **more: object) -> GatePolicy:
    return GatePolicy(max_flags_per_100_cases=limit, evidence="confident", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(("cases", "verdict"), [(58, "inconclusive"), (59, "pass")])
def test_fifty_nine_clean_cases_prove_a_rate_below_five_per_cent(cases: int, verdict: str) -> None:
    check = only(Gate(flags(5)).evaluate(a_report(suite(cases))).checks, "flags_per_100_cases")
    assert check.verdict == verdict
    assert (check.level, check.method, check.n_cases) == (0.95, "clopper_pearson", cases)


def test_an_open_check_says_how_many_cases_it_needs() -> None:
    check = only(Gate(flags(5)).evaluate(a_report(suite(50))).checks, "flags_per_100_cases")
    assert check.bound == pytest.approx(5.8156, abs=1e-4)
    assert check.cases_needed is not None
    assert 59 <= check.cases_needed <= 61


def test_a_breach_is_a_failure_only_when_it_is_proven() -> None:
    few = a_report(suite(20, bad=[ORDER] * 2))
    many = a_report(suite(100, bad=[ORDER] * 20))
    assert Gate(flags(5)).evaluate(few).verdict is Verdict.INCONCLUSIVE
    assert Gate(flags(5)).evaluate(many).verdict is Verdict.FAIL


def test_agreement_is_weighed_by_the_bounded_interval() -> None:
    policy = GatePolicy(min_dar=0.95, evidence="confident")
    check = only(Gate(policy).evaluate(a_report(suite(50))).checks, "dar")
    # Two labels: an unseen case agrees in two of three replays at least.
    assert (check.verdict, check.observed) == ("pass", 1.0)
    assert check.bound == pytest.approx(1 - (1 - 0.05 ** (1 / 50)) / 3, abs=1e-4)
    few = only(Gate(policy).evaluate(a_report(suite(15))).checks, "dar")
    assert few.verdict == "inconclusive"
    assert few.cases_needed is not None
    assert few.cases_needed <= 20


def test_a_threshold_of_one_can_never_be_proven() -> None:
    check = only(Gate(GatePolicy(min_dar=1.0, evidence="confident")).evaluate(a_report(suite(50))).checks, "dar")
    assert (check.verdict, check.cases_needed) == ("inconclusive", None)


def test_a_point_gate_states_no_bound() -> None:
    check = only(Gate(GatePolicy(min_dar=0.9)).evaluate(a_report(suite(5))).checks, "dar")
    assert (check.verdict, check.bound, check.n_cases) == ("pass", None, None)


def test_a_task_is_weighed_over_its_own_cases() -> None:
    report = a_report({**suite(30), ("u", "Z"): STABLE})
    policy = GatePolicy(evidence="confident", by_task=(TaskGatePolicy(task="u", min_dar=0.9),))
    check = only(Gate(policy).evaluate(report).checks, "task[u].dar")
    assert (check.verdict, check.n_cases) == ("inconclusive", 1)


def test_attempts_share_the_error_and_run_out() -> None:
    assert alpha_spent(flags(5), 1) == pytest.approx(0.05)
    assert alpha_spent(flags(5), 2) == 0.0
    assert [alpha_spent(flags(5, max_attempts=3), n) for n in (1, 2, 3, 4)] == pytest.approx(
        [0.025, 0.0125, 0.00625, 0]
    )
    assert alpha_spent(GatePolicy(), 1) is None
    report = a_report(suite(200))
    assert Gate(flags(5)).evaluate(report, Grounds(tries=2)).verdict is Verdict.INCONCLUSIVE
    again = Gate(flags(5, max_attempts=2)).evaluate(report, Grounds(tries=2))
    assert (again.verdict, only(again.checks, "flags_per_100_cases").level) == (Verdict.PASS, 0.9875)


def test_unknown_cases_are_shown_agreeing_and_disagreeing() -> None:
    groups = suite(10)
    report, grounds = stated(groups, status={("C000", 0): "tool_error"})
    lenient = Gate(GatePolicy(min_dar=0.9, require_complete=False)).evaluate(report, grounds)
    assert (lenient.agreeing, lenient.disagreeing) == (Verdict.PASS, Verdict.PASS)
    strict = Gate(GatePolicy(min_dar=0.99)).evaluate(report, grounds)
    assert (strict.agreeing, strict.disagreeing) == (Verdict.PASS, Verdict.FAIL)
    complete, whole = stated(groups)
    assert Gate(GatePolicy(min_dar=0.99)).evaluate(complete, whole).agreeing is None


def test_lost_cases_keep_a_confident_gate_from_passing_unless_their_worst_passes() -> None:
    report, grounds = stated(suite(100), status={("C000", 0): "tool_error"})
    tight, loose = flags(3.5, require_complete=False), flags(6, require_complete=False)
    assert only(Gate(tight).evaluate(report, grounds).checks, "flags_per_100_cases").passed
    assert Gate(tight).evaluate(report, grounds).verdict is Verdict.INCONCLUSIVE
    assert Gate(loose).evaluate(report, grounds).verdict is Verdict.PASS


def test_numbers_are_judged_at_fewer_replays_when_asked() -> None:
    report, grounds = stated({("t", "A"): FLIPPED, ("t", "B"): STABLE})
    policy = GatePolicy(min_dar=0.83, at_replays=2)
    # Two of three replays: agree with chance 1/3, so the modal share is 1/3 + 2/3 · 1/2 = 2/3.
    assert only(Gate(policy).evaluate(report, grounds).checks, "dar").observed == pytest.approx((2 / 3 + 1) / 2)
    assert Gate(policy).evaluate(report).verdict is Verdict.INCONCLUSIVE


def test_every_case_has_its_rule_and_a_waiver_lifts_it_until_its_day() -> None:
    report = a_report({("t", "A"): FLIPPED, ("t", "B"): STABLE, ("t", "C"): ARGS})
    rules = (CaseGatePolicy(case="*", min_dar=1.0, allow_path_change=False), CaseGatePolicy(case="C", min_dar=1.0))
    policy = GatePolicy(by_case=rules)
    result = Gate(policy).evaluate(report)
    check = only(result.checks, "case[*].dar")
    assert (check.observed, check.note) == (1.0, "broken by A")
    assert only(result.checks, "case[*].path_change").passed
    waived = GatePolicy(by_case=rules, waivers=(Waiver(case="A", reason="vendor bug", expires="2026-06-30"),))
    held = Gate(waived).evaluate(report, Grounds(on=date(2026, 6, 30)))
    assert held.passed
    assert only(held.checks, "case[*].dar").note == "A is waived until 2026-06-30: vendor bug"
    expired = Gate(waived).evaluate(report, Grounds(on=date(2026, 7, 1)))
    assert only(expired.checks, "case[*].dar").note == "broken by A; the waiver of A expired on 2026-06-30"
    assert not expired.passed


def test_a_rule_for_a_case_that_was_not_judged_is_broken() -> None:
    policy = GatePolicy(by_case=(CaseGatePolicy(case="nowhere", min_dar=0.5),))
    assert not Gate(policy).evaluate(a_report()).passed


def pinned(groups: Groups, **differences: object) -> Baseline:
    report, grounds = stated(groups, **differences)
    assert grounds.measured is not None
    return baseline_of(report, grounds.measured)


@pytest.mark.parametrize(("cases", "worse", "verdict"), [(100, 0, "pass"), (20, 0, "inconclusive"), (100, 60, "fail")])
def test_a_run_must_be_proven_not_worse_than_its_baseline(cases: int, worse: int, verdict: str) -> None:
    policy = GatePolicy(non_inferiority=NonInferiorityPolicy(baseline="b.json", dar=0.05))
    report, grounds = stated(suite(cases, bad=[FLIPPED] * worse))
    base = pinned(dict.fromkeys(suite(cases, bad=[FLIPPED] * worse), STABLE))
    result = Gate(policy).evaluate(report, Grounds(measured=grounds.measured, baseline=base))
    check = only(result.checks, "non_inferiority.dar")
    assert (check.verdict, check.n_cases, check.expected) == (verdict, cases, -0.05)
    assert result.verdict == verdict


def test_without_its_baseline_or_with_one_of_another_suite_a_gate_fails() -> None:
    policy = GatePolicy(non_inferiority=NonInferiorityPolicy(baseline="b.json", flags_per_100=5))
    report, grounds = stated(suite(100))
    assert Gate(policy).evaluate(report, grounds).verdict is Verdict.FAIL
    other = pinned(suite(100), suite_id="another-suite")
    result = Gate(policy).evaluate(report, Grounds(measured=grounds.measured, baseline=other))
    assert only(result.checks, "non_inferiority.baseline").observed == "differs: suite"


def test_a_settled_run_passes_only_where_no_remaining_case_could_change_the_verdict() -> None:
    groups = suite(100)
    lost = {(f"C{n:03}", 0): "provider_error" for n in range(5)}
    policy = GatePolicy(max_flags_per_100_cases=5, stop="when-settled")
    report, grounds = stated(groups, status=lost, stop_reason="settled")
    assert Gate(policy).evaluate(report, grounds).passed
    assert not Gate(GatePolicy(max_flags_per_100_cases=4, stop="when-settled")).evaluate(report, grounds).passed
    assert not Gate(GatePolicy(max_flags_per_100_cases=5)).evaluate(report, grounds).passed


@pytest.mark.parametrize(("cases", "verdict"), [(87, "inconclusive"), (88, "pass")])
def test_an_anytime_gate_passes_by_its_e_value(cases: int, verdict: str) -> None:
    report, grounds = stated(suite(100))
    given = Grounds(measured=grounds.measured, prefix=(0, cases))
    check = only(Gate(flags(5, stop="anytime")).evaluate(report, given).checks, "flags_per_100_cases")
    assert (check.verdict, check.method, check.n_cases) == (verdict, "e-value", cases)


def test_paths_that_were_not_captured_in_full_prove_nothing_about_flags() -> None:
    report = a_report(suite(100))
    hidden = tuple(
        attrs.evolve(case, tar=attrs.evolve(case.tar, args=None, strong=None)) for case in report.case_reports
    )
    blind = attrs.evolve(report, case_reports=hidden)
    assert Gate(flags(5)).evaluate(report).verdict is Verdict.PASS
    assert Gate(flags(5)).evaluate(blind).verdict is Verdict.FAIL
