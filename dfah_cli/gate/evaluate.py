"""A policy applied to a report. Pure; never stops at the first failure, and what is unavailable fails."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from fractions import Fraction
from typing import Any, Self

from attrs import Factory, field, frozen

from dfah_cli.errors import GateViolationError, ValidationError
from dfah_cli.gate.thresholds import TASK_THRESHOLDS, THRESHOLDS, TaskThreshold, Threshold
from dfah_cli.records import fields
from dfah_cli.records.enums import ReportStatus
from dfah_cli.records.policy import GatePolicy, TaskGatePolicy
from dfah_cli.report.cases import TaskReport
from dfah_cli.report.conversion import member
from dfah_cli.report.record import ReportColumns

UNDEFINED = "undefined (zero observed groups)"


class Verdict(StrEnum):
    """Answer of a check or a gate; `inconclusive` is an answer too, and never a pass."""

    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"

    @classmethod
    def of(cls, passed: bool) -> Self:
        return cls.PASS if passed else cls.FAIL


def _to_verdict(value: Any) -> Any:
    return member(value, Verdict)


def _observable(instance: Any, attribute: Any, value: Any) -> None:
    if type(value) not in (float, str):
        raise ValidationError(f"GateCheck: found {fields.kind_of(value)}; expected a number or text")


@frozen(kw_only=True)
class GateCheck:
    """One row of a gate. observed, expected: numbers, or text where there is no number."""

    name: str = field(validator=fields.name)
    passed: bool = field(validator=fields.flag)
    observed: float | str = field(converter=fields.to_float, validator=_observable)
    expected: float | str = field(converter=fields.to_float, validator=_observable)
    verdict: Verdict = field(
        default=Factory(lambda check: Verdict.of(check.passed), takes_self=True),
        converter=_to_verdict,
        validator=fields.instance_of(Verdict),
    )
    at_least: bool | None = field(default=None, validator=fields.optional(fields.flag))
    schema_version: str = field(default=fields.SCHEMA_VERSION, validator=fields.schema_version)


@frozen(kw_only=True)
class GateResult:
    """All checks in their fixed order, and the one verdict that the printed line and the exit code come from."""

    passed: bool = field(validator=fields.flag)
    checks: tuple[GateCheck, ...] = field(
        converter=fields.to_tuple, validator=fields.tuple_of(fields.instance_of(GateCheck))
    )
    schema_version: str = field(default=fields.SCHEMA_VERSION, validator=fields.schema_version)

    def __attrs_post_init__(self) -> None:
        if self.passed != all(check.passed for check in self.checks):
            raise ValidationError("GateResult.passed: contradicts the checks")

    @classmethod
    def of(cls, checks: tuple[GateCheck, ...]) -> Self:
        """The result of these checks: all must pass."""
        return cls(passed=all(check.passed for check in checks), checks=checks)

    @property
    def verdict(self) -> Verdict:
        """fail when a check fails; inconclusive when none fails but one cannot be decided; else pass."""
        found = {check.verdict for check in self.checks}
        return next((v for v in (Verdict.FAIL, Verdict.INCONCLUSIVE) if v in found), Verdict.PASS)

    @property
    def failures(self) -> tuple[GateCheck, ...]:
        """The checks that did not pass."""
        return tuple(check for check in self.checks if not check.passed)

    def raise_for_failures(self) -> None:
        """Nothing, when the gate passes.

        Raises: GateViolationError naming every failed check with both sides.
        """
        if self.failures:
            told = "; ".join(f"{c.name}: {c.observed} against {c.expected}" for c in self.failures)
            raise GateViolationError(f"the gate does not pass: {told}")


@frozen
class Gate:
    """A policy, ready to be applied."""

    policy: GatePolicy = field(validator=fields.instance_of(GatePolicy))

    def evaluate(self, report: ReportColumns) -> GateResult:
        """The verdict on a report; shares are compared exactly, against the threshold as it is spelled."""
        return GateResult.of(
            (
                *_trust(self.policy, report),
                *_numbers(self.policy, report),
                *_shape(self.policy, report),
                *(check for rule in self.policy.by_task for check in _task(rule, report)),
            )
        )


def _trust(policy: GatePolicy, report: ReportColumns) -> Iterator[GateCheck]:
    if policy.require_artifact_verification:
        observed = "verified" if report.artifacts_verified else "unverified"
        yield GateCheck(
            name="artifact_verification", passed=report.artifacts_verified, observed=observed, expected="verified"
        )


def _numbers(policy: GatePolicy, report: ReportColumns) -> Iterator[GateCheck]:
    for threshold in THRESHOLDS:
        bound = getattr(policy, threshold.key)
        if bound is not None:
            yield _bounded(threshold.check, threshold, threshold.observed(report), bound)


def _bounded(name: str, threshold: Threshold | TaskThreshold, observed: Fraction | None, bound: float) -> GateCheck:
    if observed is None:
        return GateCheck(name=name, passed=False, observed=UNDEFINED, expected=bound, at_least=threshold.at_least)
    # repr is what the user wrote: 7 of 10 meets 0.7, though the float 0.7 is a little less than 7/10.
    limit = Fraction(repr(bound))
    passed = observed >= limit if threshold.at_least else observed <= limit
    return GateCheck(name=name, passed=passed, observed=float(observed), expected=bound, at_least=threshold.at_least)


def _shape(policy: GatePolicy, report: ReportColumns) -> Iterator[GateCheck]:
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
            passed=report.status is ReportStatus.COMPLETE,
            observed=str(report.status),
            expected=str(ReportStatus.COMPLETE),
        )


def _groups(name: str, observed: int, least: int) -> GateCheck:
    return GateCheck(name=name, passed=observed >= least, observed=observed, expected=f">={least}", at_least=True)


def _task(rule: TaskGatePolicy, report: ReportColumns) -> Iterator[GateCheck]:
    found = next((task for task in report.task_reports if task.task == rule.task), None)
    prefix = f"task[{rule.task}]"
    yield _groups(f"{prefix}.observed_groups", _cases(found), rule.min_observed_groups)
    for threshold in TASK_THRESHOLDS:
        bound = getattr(rule, threshold.key)
        if bound is not None:
            observed = None if found is None else threshold.observed(found)
            yield _bounded(f"{prefix}.{threshold.check}", threshold, observed, bound)


def _cases(task: TaskReport | None) -> int:
    return 0 if task is None else task.cases
