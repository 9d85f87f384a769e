"""What is kept of one application of a gate. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from attrs import field, frozen

from dfah_cli.canonical import JSONValue
from dfah_cli.errors import ValidationError
from dfah_cli.gate.checks import GateResult
from dfah_cli.gate.grounds import NONE, Grounds, alpha_spent
from dfah_cli.records import fields
from dfah_cli.records.codec import record
from dfah_cli.records.enums import ReplayMode
from dfah_cli.records.policy import GatePolicy
from dfah_cli.records.versions import known_version
from dfah_cli.report.baseline import Baseline
from dfah_cli.report.conversion import to_mode
from dfah_cli.report.record import ReportColumns

if TYPE_CHECKING:
    from pathlib import Path


VERSIONS = (fields.SCHEMA_VERSION,)
"""Of the record, its policy and its result; a check that is made in another way needs a new one, as in a report."""


@frozen(kw_only=True)
class GateRecord:
    """A verdict bound to its report and its policy.

    attempt: 1 for the first gate applied to a run. alpha_spent: error this look could spend; None with point
    evidence, 0.0 when the attempts were used up. tries: looks at other evidence before it that could have passed, and
    this one. baseline: what `non_inferiority` was held against. prefix: (flagged, cases) in plan order.
    """

    report_id: str = field(validator=fields.name)
    report_sha256: str = field(validator=fields.digest64)
    manifest_hash: str = field(validator=fields.digest64)
    mode: ReplayMode = field(converter=to_mode, validator=fields.instance_of(ReplayMode))
    policy: GatePolicy = field(validator=fields.instance_of(GatePolicy))
    policy_sha256: str = field(validator=fields.digest64)
    result: GateResult = field(validator=fields.instance_of(GateResult))
    attempt: int = field(default=1, validator=fields.integer(1))
    evaluated_at: datetime = field(validator=fields.instance_of(datetime))
    schema_version: str = field(default=VERSIONS[-1], validator=fields.one_of(*VERSIONS))
    alpha_spent: float | None = field(
        default=None, validator=fields.optional(fields.real(0.0, 1.0)), metadata=fields.LATE
    )
    tries: int = field(default=1, validator=fields.integer(1), metadata=fields.LATE)
    baseline: Baseline | None = field(
        default=None, validator=fields.optional(fields.instance_of(Baseline)), metadata=fields.LATE
    )
    prefix: tuple[int, ...] = field(
        default=(), converter=fields.to_tuple, validator=fields.tuple_of(fields.count), metadata=fields.LATE
    )

    def __attrs_post_init__(self) -> None:
        if self.policy_sha256 != self.policy.sha256:
            raise ValidationError("GateRecord.policy_sha256: found another digest than the policy's own")
        if self.report_id != self.report_sha256[:32]:
            raise ValidationError("GateRecord.report_id: does not belong to report_sha256")
        if self.alpha_spent != alpha_spent(self.policy, self.tries):
            raise ValidationError("GateRecord.alpha_spent: is not what this attempt may spend")
        if len(self.prefix) not in (0, 2):
            raise ValidationError("GateRecord.prefix: expected flagged and cases")

    @classmethod
    def from_json(cls, path: str | Path) -> GateRecord:
        """A record from its file.

        Raises: ArtifactError when it is none.
        """
        from dfah_cli.workflow.analyze import load_gate_record

        return load_gate_record(path)


def read_gate_record(value: JSONValue, where: str) -> GateRecord:
    """The record in a parsed file.

    Raises: NewerVersionError, ArtifactError, ValidationError.
    """
    if isinstance(value, dict):
        known_version(value.get("schema_version"), VERSIONS, where)
    return record(GateRecord, value)


def gate_record(
    report: ReportColumns,
    policy: GatePolicy,
    result: GateResult,
    *,
    at: datetime,
    attempt: int = 1,
    grounds: Grounds = NONE,
) -> GateRecord:
    """The record of a verdict and of what it was reached on."""
    return GateRecord(
        report_id=report.report_id,
        report_sha256=report.report_sha256,
        manifest_hash=report.manifest.hash,
        mode=report.mode,
        policy=policy,
        policy_sha256=policy.sha256,
        result=result,
        attempt=attempt,
        evaluated_at=at,
        alpha_spent=alpha_spent(policy, grounds.tries),
        tries=grounds.tries,
        baseline=grounds.baseline,
        prefix=grounds.prefix or (),
    )
