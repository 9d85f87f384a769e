"""What is kept of one application of a gate. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from attrs import field, frozen

from dfah_cli.errors import ValidationError
from dfah_cli.gate.evaluate import GateResult
from dfah_cli.records import fields
from dfah_cli.records.enums import ReplayMode
from dfah_cli.records.policy import GatePolicy
from dfah_cli.report.conversion import to_mode
from dfah_cli.report.record import ReportColumns

if TYPE_CHECKING:
    from pathlib import Path


@frozen(kw_only=True)
class GateRecord:
    """A verdict bound to its report and its policy. attempt: 1 for the first gate applied to a run."""

    report_id: str = field(validator=fields.name)
    report_sha256: str = field(validator=fields.digest64)
    manifest_hash: str = field(validator=fields.digest64)
    mode: ReplayMode = field(converter=to_mode, validator=fields.instance_of(ReplayMode))
    policy: GatePolicy = field(validator=fields.instance_of(GatePolicy))
    policy_sha256: str = field(validator=fields.digest64)
    result: GateResult = field(validator=fields.instance_of(GateResult))
    attempt: int = field(default=1, validator=fields.integer(1))
    evaluated_at: datetime = field(validator=fields.instance_of(datetime))
    schema_version: str = field(default=fields.SCHEMA_VERSION, validator=fields.schema_version)

    def __attrs_post_init__(self) -> None:
        if self.policy_sha256 != self.policy.sha256:
            raise ValidationError("GateRecord.policy_sha256: found another digest than the policy's own")
        if self.report_id != self.report_sha256[:32]:
            raise ValidationError("GateRecord.report_id: does not belong to report_sha256")

    @classmethod
    def from_json(cls, path: str | Path) -> GateRecord:
        """A record from its file.

        Raises: ArtifactError when it is none.
        """
        from dfah_cli.workflow.analyze import load_gate_record

        return load_gate_record(path)


def gate_record(
    report: ReportColumns, policy: GatePolicy, result: GateResult, *, at: datetime, attempt: int = 1
) -> GateRecord:
    """The record of a verdict."""
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
    )
