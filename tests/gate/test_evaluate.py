import pytest

from dfah_cli.errors import GateViolationError, ValidationError
from dfah_cli.gate.evaluate import UNDEFINED, Gate, GateCheck, GateResult, Verdict
from dfah_cli.records.policy import GatePolicy, TaskGatePolicy
from dfah_cli.report.record import DetachedReport
from tests.report.build import FLAGS, STABLE, a_report

EVERYTHING = GatePolicy(
    min_dar=0.5,
    min_tar_seq=0.5,
    max_gap=0.5,
    max_unanimous_path_change_rate=0.5,
    max_flags_per_100_cases=50,
    max_cost_per_case_usd=1,
    required_replays=3,
    min_eligible_fraction=0.5,
    min_observed_groups=4,
    by_task=(
        TaskGatePolicy(task="kyc", min_dar=0.5, min_tar_seq=0.5, max_gap=1, max_unanimous_path_change_rate=1),
        TaskGatePolicy(task="absent", min_dar=0.0),
    ),
)


def test_checks_stand_in_the_fixed_order_under_the_fixed_names() -> None:
    result = Gate(EVERYTHING).evaluate(a_report())
    assert [check.name for check in result.checks] == [
        "artifact_verification",
        "dar",
        "tar_seq",
        "gap",
        "unanimous_with_path_change_rate",
        "flags_per_100_cases",
        "cost_per_case_usd",
        "eligible_fraction",
        "replays",
        "observed_groups",
        "report_complete",
        "task[kyc].observed_groups",
        "task[kyc].dar",
        "task[kyc].tar_seq",
        "task[kyc].gap",
        "task[kyc].unanimous_with_path_change_rate",
        "task[absent].observed_groups",
        "task[absent].dar",
    ]
    assert [check.name for check in result.failures] == ["task[absent].observed_groups", "task[absent].dar"]


def test_a_policy_without_thresholds_still_asks_for_evidence_and_completeness() -> None:
    result = Gate(GatePolicy()).evaluate(a_report())
    assert [check.name for check in result.checks] == ["artifact_verification", "report_complete"]
    assert result.passed


def test_no_failure_hides_a_later_one() -> None:
    report = a_report(status={("A", 0): "tool_error"})
    result = Gate(GatePolicy(min_dar=1.0, max_flags_per_100_cases=0.0)).evaluate(report)
    assert [check.name for check in result.failures] == ["dar", "flags_per_100_cases", "report_complete"]


def test_seven_of_ten_meets_a_threshold_of_point_seven() -> None:
    replays = [("escalate", "T")] * 7 + [("dismiss", "T")] * 3
    report = a_report({("t", name): replays for name in "ABC"}, replays=10)
    assert Gate(GatePolicy(min_dar=0.7)).evaluate(report).passed
    assert not Gate(GatePolicy(min_dar=0.7000000000000001)).evaluate(report).passed


def test_an_unavailable_number_fails_in_words() -> None:
    report = a_report({("t", "A"): STABLE}, status={("A", 0): "refusal"})
    policy = GatePolicy(min_dar=0.0, max_gap=1.0, max_flags_per_100_cases=100, max_cost_per_case_usd=99)
    failed = {check.name: check.observed for check in Gate(policy).evaluate(report).failures}
    undefined = dict.fromkeys(["dar", "gap", "flags_per_100_cases", "cost_per_case_usd"], UNDEFINED)
    assert failed == undefined | {"report_complete": "partial"}


def test_a_detached_report_fails_unless_the_policy_waives_evidence() -> None:
    detached = DetachedReport.of(a_report())
    assert [c.name for c in Gate(GatePolicy()).evaluate(detached).failures] == ["artifact_verification"]
    assert Gate(GatePolicy(require_artifact_verification=False)).evaluate(detached).passed


def test_cost_is_shared_by_eligible_groups_only() -> None:
    report = a_report({("t", "A"): STABLE, ("t", "B"): STABLE}, status={("B", 0): "refusal"})
    (check,) = [
        c for c in Gate(GatePolicy(max_cost_per_case_usd=1)).evaluate(report).checks if c.name == "cost_per_case_usd"
    ]
    assert check.observed == report.total_cost_usd


def test_replays_must_be_equal_not_at_least() -> None:
    assert not Gate(GatePolicy(required_replays=2)).evaluate(a_report(FLAGS)).passed


def test_raise_names_every_failed_check() -> None:
    result = Gate(GatePolicy(min_dar=1.0, required_replays=5)).evaluate(a_report())
    with pytest.raises(GateViolationError, match=r"dar: 0\.91.* against 1\.0; replays: 3\.0 against 5\.0"):
        result.raise_for_failures()
    Gate(GatePolicy()).evaluate(a_report()).raise_for_failures()


def test_a_result_cannot_contradict_its_checks() -> None:
    check = GateCheck(name="dar", passed=False, observed=0.5, expected=0.9)
    with pytest.raises(ValidationError, match="contradicts"):
        GateResult(passed=True, checks=(check,))
    assert check.verdict is Verdict.FAIL


def test_inconclusive_is_not_a_pass_and_not_a_fail() -> None:
    undecided = GateCheck(name="dar", passed=False, observed=0.9, expected=0.9, verdict=Verdict.INCONCLUSIVE)
    failed = GateCheck(name="gap", passed=False, observed=0.9, expected=0.1)
    assert GateResult.of((undecided,)).verdict is Verdict.INCONCLUSIVE
    assert GateResult.of((undecided, failed)).verdict is Verdict.FAIL
