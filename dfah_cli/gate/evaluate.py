"""A policy applied to a report. Pure; never stops at the first failure, and what is unavailable fails."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from attrs import field, frozen

from dfah_cli.gate.bounds import proven
from dfah_cli.gate.case_rules import case_checks
from dfah_cli.gate.checks import GateCheck, GateResult, Verdict, verdict_of
from dfah_cli.gate.grounds import NONE, Grounds, level_at, values_of, values_with
from dfah_cli.gate.not_worse import baseline_checks
from dfah_cli.gate.thresholds import TASK_THRESHOLDS, THRESHOLDS, TaskThreshold, Threshold
from dfah_cli.metrics.case_values import CaseValues, Unknown, rarefied
from dfah_cli.metrics.stopping import anytime_threshold, first_pass, log_e_value
from dfah_cli.records import fields
from dfah_cli.records.enums import ReportStatus
from dfah_cli.records.policy import GatePolicy, TaskGatePolicy
from dfah_cli.report.cases import TaskReport
from dfah_cli.report.record import ReportColumns

__all__ = ["Gate", "GateCheck", "GateResult", "Verdict"]

UNDEFINED = "undefined (zero observed groups)"
NO_CASES = "unavailable without the run directory"
SETTLED = "settled"


@frozen
class Gate:
    """A policy, ready to be applied."""

    policy: GatePolicy = field(validator=fields.instance_of(GatePolicy))

    def evaluate(self, report: ReportColumns, grounds: Grounds = NONE) -> GateResult:
        """The verdict on a report; shares are compared exactly, against the threshold as it is spelled.

        grounds: what a policy may need beyond the report; a check that needs what is not there does not pass.
        """
        policy = self.policy
        agreeing, disagreeing = _unknowns(policy, report, grounds)
        settled = _settled(policy, report, agreeing, disagreeing)
        weigh = _Weigh(policy, report, grounds, settled)
        checks = (
            *_trust(policy, report),
            *_attempts(policy, grounds),
            *weigh.numbers(),
            *_shape(policy, report, settled),
            *(check for rule in policy.by_task for check in weigh.task(rule)),
            *case_checks(policy, values_of(report), grounds.on),
            *baseline_checks(policy, report, grounds, level_at(policy, grounds.tries)),
            *_unknown_check(policy, report, disagreeing, settled),
        )
        return GateResult.of(checks, agreeing=agreeing, disagreeing=disagreeing)


def _trust(policy: GatePolicy, report: ReportColumns) -> Iterator[GateCheck]:
    if policy.require_artifact_verification:
        observed = "verified" if report.artifacts_verified else "unverified"
        yield GateCheck(
            name="artifact_verification", passed=report.artifacts_verified, observed=observed, expected="verified"
        )


def _attempts(policy: GatePolicy, grounds: Grounds) -> Iterator[GateCheck]:
    allowed = policy.max_attempts or (1 if policy.evidence == "confident" else None)
    if allowed is not None and (grounds.tries > allowed or policy.max_attempts is not None):
        verdict = Verdict.PASS if grounds.tries <= allowed else Verdict.INCONCLUSIVE
        yield GateCheck(
            name="attempts",
            passed=verdict is Verdict.PASS,
            verdict=verdict,
            observed=grounds.tries,
            expected=allowed,
            at_least=False,
        )


class _Weigh:
    """The thresholds of one policy, held against the numbers of one report."""

    def __init__(self, policy: GatePolicy, report: ReportColumns, grounds: Grounds, settled: Verdict | None) -> None:
        self.policy, self.report, self.grounds = policy, report, grounds
        self.level = level_at(policy, grounds.tries)
        self.confident = policy.evidence == "confident"
        self.values = self._values(settled)

    def _values(self, settled: Verdict | None) -> CaseValues | None:
        """The cases to weigh; None when the numbers of the report itself are judged, or there is none."""
        measured, report = self.grounds.measured, self.report
        if settled is not None and measured is not None and self.policy.stop != "anytime":
            # Every case not run counts against the verdict, so the whole plan could not have said anything else.
            unknown = Unknown.WORST if settled is Verdict.PASS else Unknown.AGREEING
            return values_with(report, measured, unknown)
        if not report.metrics_available:
            return None
        if self.policy.at_replays is not None:
            return self._rarefied(self.policy.at_replays)
        return values_of(report) if self.confident else None

    def _rarefied(self, replays: int) -> CaseValues | None:
        if self.grounds.measured is None or replays > self.report.replays_requested:
            return None
        return rarefied(self.grounds.measured, replays, len(self.report.manifest.decision_ontology))

    def numbers(self) -> Iterator[GateCheck]:
        for threshold in THRESHOLDS:
            bound = getattr(self.policy, threshold.key)
            if bound is not None:
                yield self.check(threshold.check, threshold, threshold.observed(self.report), self.values, bound)

    def task(self, rule: TaskGatePolicy) -> Iterator[GateCheck]:
        found = next((task for task in self.report.task_reports if task.task == rule.task), None)
        prefix = f"task[{rule.task}]"
        yield _groups(f"{prefix}.observed_groups", _cases(found), rule.min_observed_groups)
        values = None if self.values is None or found is None else self.values.of_task(rule.task)
        for threshold in TASK_THRESHOLDS:
            bound = getattr(rule, threshold.key)
            if bound is not None:
                observed = None if found is None else threshold.observed(found)
                yield self.check(f"{prefix}.{threshold.check}", threshold, observed, values, bound)

    def check(
        self,
        name: str,
        threshold: Threshold | TaskThreshold,
        observed: Fraction | None,
        values: CaseValues | None,
        bound: float,
    ) -> GateCheck:
        if threshold.per_case is None or (values is None and (observed is None or not self._beyond)):
            return _bounded(name, threshold, observed, bound)
        if values is None:
            return _open(name, threshold, NO_CASES, bound)
        if not self.confident:
            return _bounded(name, threshold, threshold.scale * values.mean(threshold.per_case), bound)
        if self.level is None:
            return _open(name, threshold, float(threshold.scale * values.mean(threshold.per_case)), bound)
        if self.policy.stop == "anytime" and 0.0 < bound < threshold.scale:
            return self._anytime(name, threshold, values, bound)
        return proven(name, threshold, values, bound, self.level)

    @property
    def _beyond(self) -> bool:
        """Whether the policy asks for more than the numbers that a report states."""
        return self.confident or self.policy.at_replays is not None

    def _anytime(self, name: str, threshold: Threshold | TaskThreshold, values: CaseValues, bound: float) -> GateCheck:
        """A limit on flags by its e-value, which holds however often one looks."""
        assert self.level is not None
        flagged, cases = self.grounds.prefix or (int(values.numbers["flag"].sum()), len(values))
        alpha, rate = 1.0 - self.level, bound / threshold.scale
        log_e = log_e_value(flagged, cases, rate)
        passed = log_e >= anytime_threshold(alpha)
        return GateCheck(
            name=name,
            passed=passed,
            verdict=Verdict.PASS if passed else Verdict.INCONCLUSIVE,
            observed=threshold.scale * flagged / cases if cases else UNDEFINED,
            expected=bound,
            at_least=threshold.at_least,
            level=self.level,
            method="e-value",
            n_cases=cases,
            cases_needed=None if passed or flagged > rate * max(cases, 1) else first_pass(flagged, rate, alpha=alpha),
            note=f"log e {log_e:.4f}, passes at {anytime_threshold(alpha):.4f}",
        )


def _bounded(name: str, threshold: Threshold | TaskThreshold, observed: Fraction | None, bound: float) -> GateCheck:
    if observed is None:
        return GateCheck(name=name, passed=False, observed=UNDEFINED, expected=bound, at_least=threshold.at_least)
    # repr is what the user wrote: 7 of 10 meets 0.7, though the float 0.7 is a little less than 7/10.
    limit = Fraction(repr(bound))
    passed = observed >= limit if threshold.at_least else observed <= limit
    return GateCheck(name=name, passed=passed, observed=float(observed), expected=bound, at_least=threshold.at_least)


def _open(name: str, threshold: Threshold | TaskThreshold, observed: float | str, bound: float) -> GateCheck:
    return GateCheck(
        name=name,
        passed=False,
        verdict=Verdict.INCONCLUSIVE,
        observed=observed,
        expected=bound,
        at_least=threshold.at_least,
    )


def _unknowns(policy: GatePolicy, report: ReportColumns, grounds: Grounds) -> tuple[Verdict | None, Verdict | None]:
    """The verdict on the numbers if all that could not be judged had agreed, and if it had disagreed."""
    if not report.ineligible_groups or grounds.measured is None or policy.at_replays is not None:
        return None, None
    found = [_supposed(policy, report, grounds, unknown) for unknown in (Unknown.AGREEING, Unknown.WORST)]
    return found[0], found[1]


def _supposed(policy: GatePolicy, report: ReportColumns, grounds: Grounds, unknown: Unknown) -> Verdict:
    assert grounds.measured is not None
    values = values_with(report, grounds.measured, unknown)
    weigh = _Weigh(policy, report, grounds, None)
    checks = [
        weigh.check(one.check, one, Fraction(0), values, getattr(policy, one.key))
        if weigh.confident
        else _bounded(one.check, one, one.scale * values.mean(one.per_case), getattr(policy, one.key))
        for one in THRESHOLDS
        if one.per_case is not None and getattr(policy, one.key) is not None
    ]
    checks += [check for rule in policy.by_task for check in _supposed_task(weigh, rule, values.of_task(rule.task))]
    return verdict_of((*checks, *case_checks(policy, values, grounds.on)))


def _supposed_task(weigh: _Weigh, rule: TaskGatePolicy, values: CaseValues) -> Iterator[GateCheck]:
    yield _groups(f"task[{rule.task}].observed_groups", len(values), rule.min_observed_groups)
    for one in TASK_THRESHOLDS:
        bound = getattr(rule, one.key)
        if bound is None or one.per_case is None or not len(values):
            continue
        if weigh.confident:
            yield weigh.check(one.check, one, Fraction(0), values, bound)
        else:
            yield _bounded(one.check, one, one.scale * values.mean(one.per_case), bound)


def foreseen(policy: GatePolicy, report: ReportColumns, grounds: Grounds) -> Verdict | None:
    """The verdict of a run that is not complete, when the rest of its plan cannot change it; else None.

    What is not a number of the cases (cost, the share of eligible episodes) cannot be foreseen.
    """
    other = (policy.min_eligible_fraction, policy.min_observed_groups, policy.max_cost_per_case_usd)
    if policy.stop == "never" or any(limit is not None for limit in other):
        return None
    if policy.stop == "anytime":
        passed = all(check.passed for check in _Weigh(policy, report, grounds, None).numbers())
        return Verdict.PASS if passed and report.metrics_available else None
    agreeing, disagreeing = _unknowns(policy, report, grounds)
    return agreeing if agreeing is disagreeing and agreeing is not Verdict.INCONCLUSIVE else None


def _settled(
    policy: GatePolicy, report: ReportColumns, agreeing: Verdict | None, disagreeing: Verdict | None
) -> Verdict | None:
    """The verdict of a run that was ended early because nothing could change it any more; None for every other."""
    if policy.stop == "never" or report.partial_reason != SETTLED:
        return None
    if policy.stop == "anytime":
        return Verdict.PASS
    return agreeing if agreeing is disagreeing and agreeing is not Verdict.INCONCLUSIVE else None


def _unknown_check(
    policy: GatePolicy, report: ReportColumns, disagreeing: Verdict | None, settled: Verdict | None
) -> Iterator[GateCheck]:
    """Cases are not lost at random: a bound over the rest proves nothing unless it holds with them at their worst."""
    if policy.evidence == "confident" and report.ineligible_groups and settled is None:
        held = disagreeing is Verdict.PASS
        yield GateCheck(
            name="cases_not_judged",
            passed=held,
            verdict=Verdict.PASS if held else Verdict.INCONCLUSIVE,
            observed=report.ineligible_groups,
            expected=0,
            at_least=False,
            note="passes with all of them at their worst" if held else None,
        )


def _shape(policy: GatePolicy, report: ReportColumns, settled: Verdict | None) -> Iterator[GateCheck]:
    if policy.required_replays is not None:
        yield GateCheck(
            name="replays",
            passed=report.replays_requested == policy.required_replays,
            observed=report.replays_requested,
            expected=policy.required_replays,
        )
    if policy.min_observed_groups is not None:
        yield _groups("observed_groups", report.observed_groups, policy.min_observed_groups)
    if policy.require_complete:
        yield GateCheck(
            name="report_complete",
            passed=report.status is ReportStatus.COMPLETE or settled is not None,
            observed=str(report.status) if settled is None else SETTLED,
            expected=str(ReportStatus.COMPLETE),
        )


def _groups(name: str, observed: int, least: int) -> GateCheck:
    return GateCheck(name=name, passed=observed >= least, observed=observed, expected=f">={least}", at_least=True)


def _cases(task: TaskReport | None) -> int:
    return 0 if task is None else task.cases
