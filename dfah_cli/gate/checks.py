"""What a gate answers: its checks, their verdicts, and the one verdict of all of them. Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Self

from attrs import Factory, field, frozen

from dfah_cli.errors import GateViolationError, ValidationError
from dfah_cli.records import fields
from dfah_cli.report.conversion import member


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


def _late(validator: Any, converter: Any = None) -> Any:
    return field(default=None, converter=converter, validator=fields.optional(validator), metadata=fields.LATE)


@frozen(kw_only=True)
class GateCheck:
    """One row of a gate. observed, expected: numbers, or text where there is no number.

    bound: the limit of the confidence bound that decided, in the unit of `observed`; level, method: how it was made;
    n_cases: cases behind it; cases_needed: cases with which the check is decided if the rest looks like these, None
    when none would do or it is decided. note: what else a reader must know.
    """

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
    bound: float | None = _late(fields.real(), fields.to_float)
    level: float | None = _late(fields.real(0.0, 1.0))
    method: str | None = _late(fields.name)
    n_cases: int | None = _late(fields.count)
    cases_needed: int | None = _late(fields.count)
    note: str | None = _late(fields.prose)

    def __attrs_post_init__(self) -> None:
        if self.passed != (self.verdict is Verdict.PASS):
            raise ValidationError("GateCheck.passed: contradicts the verdict")


@frozen(kw_only=True)
class GateResult:
    """All checks in their fixed order, and the one verdict that the printed line and the exit code come from.

    agreeing, disagreeing: the verdict on the numbers if every case that could not be judged had agreed, or had
    disagreed as much as it can; None when all were judged or the cases are not at hand.
    """

    passed: bool = field(validator=fields.flag)
    checks: tuple[GateCheck, ...] = field(
        converter=fields.to_tuple, validator=fields.tuple_of(fields.instance_of(GateCheck))
    )
    schema_version: str = field(default=fields.SCHEMA_VERSION, validator=fields.schema_version)
    agreeing: Verdict | None = field(
        default=None,
        converter=_to_verdict,
        validator=fields.optional(fields.instance_of(Verdict)),
        metadata=fields.LATE,
    )
    disagreeing: Verdict | None = field(
        default=None,
        converter=_to_verdict,
        validator=fields.optional(fields.instance_of(Verdict)),
        metadata=fields.LATE,
    )

    def __attrs_post_init__(self) -> None:
        if self.passed != all(check.passed for check in self.checks):
            raise ValidationError("GateResult.passed: contradicts the checks")

    @classmethod
    def of(
        cls,
        checks: tuple[GateCheck, ...],
        *,
        agreeing: Verdict | None = None,
        disagreeing: Verdict | None = None,
    ) -> Self:
        """The result of these checks: all must pass."""
        passed = all(check.passed for check in checks)
        return cls(passed=passed, checks=checks, agreeing=agreeing, disagreeing=disagreeing)

    @property
    def verdict(self) -> Verdict:
        """fail when a check fails; inconclusive when none fails but one cannot be decided; else pass."""
        return verdict_of(self.checks)

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


def verdict_of(checks: tuple[GateCheck, ...]) -> Verdict:
    """The verdict of checks that must all pass."""
    found = {check.verdict for check in checks}
    return next((v for v in (Verdict.FAIL, Verdict.INCONCLUSIVE) if v in found), Verdict.PASS)
