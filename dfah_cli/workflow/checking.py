"""Everything a run directory states, decided again: its evidence, its reports, its gate records. Reads only.

What `dfah verify`, `dfah analyze` and a resume all rest on; they differ in what they do about a broken claim.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve, frozen

from dfah_cli.errors import ArtifactError
from dfah_cli.evidence.claims import CheckResult, Claim, Findings, refuse_failures
from dfah_cli.evidence.verify import Body, Records, VerifiedRun, examine
from dfah_cli.gate.grounds import Grounds
from dfah_cli.gate.recheck import recheck_gate
from dfah_cli.gate.record import GateRecord
from dfah_cli.metrics.measure import RunMeasurement, measure
from dfah_cli.metrics.paired import Measured
from dfah_cli.report.recheck import check_order, recheck_report
from dfah_cli.report.record import Report
from dfah_cli.report.state import state_report
from dfah_cli.store.protocol import RunReader
from dfah_cli.workflow.plan_order import earlier_looks, plan_prefix


@frozen(kw_only=True)
class CheckedRun:
    """Every claim decided. run, measurement, fresh: None when one of them is broken.

    fresh: the report stated from all that is recorded. reports, gates: what is recorded and holds, by ordinal.
    """

    checks: tuple[CheckResult, ...]
    run: VerifiedRun | None
    measurement: RunMeasurement | None
    fresh: Report | None
    reports: Mapping[int, Report]
    gates: Mapping[int, GateRecord]


@frozen(kw_only=True)
class BelievedRun:
    """A run whose every claim holds."""

    run: VerifiedRun
    measurement: RunMeasurement
    fresh: Report
    reports: Mapping[int, Report]
    gates: Mapping[int, GateRecord]


def check_run(
    reader: RunReader,
    *,
    records: Records | None = None,
    faults: list[ArtifactError] | None = None,
    findings: Findings | None = None,
    keep_examples: bool = False,
) -> CheckedRun:
    """Every claim decided; never raises for evidence that fails.

    records, faults: the records to read, when their reading leaves what is wrong beside the log in `faults`.
    """
    findings = Findings() if findings is None else findings
    fresh: dict[int, Stated] = {}

    def stated(run: VerifiedRun, bodies: tuple[Body, ...]) -> None:
        measurement = measure(run.table, replays=run.plan.replays)
        found = Stated(state_report(run, measurement), run, measurement)
        fresh.update({body["ordinal"]: found for body in bodies})

    given = reader.records() if records is None else records
    examination = examine(
        reader.plan_bytes,
        reader.manifest_bytes,
        given,
        keep_examples=keep_examples,
        on_prefix=stated,
        findings=findings,
    )
    known = {fault.part for fault in faults or ()}
    for fault in faults or ():
        findings.refused(fault)
    run = examination.run
    if run is None:
        return CheckedRun(checks=findings.results(), run=None, measurement=None, fresh=None, reports={}, gates={})
    measurement = measure(run.table, replays=run.plan.replays)
    now = state_report(run, measurement)
    reports, gates = _statements(_Files(reader, findings, known), run, Stated(now, run, measurement), fresh)
    checks = findings.results()
    if findings.failed:
        return CheckedRun(checks=checks, run=None, measurement=None, fresh=None, reports=reports, gates=gates)
    run = evolve(run, checks=checks)
    return CheckedRun(checks=checks, run=run, measurement=measurement, fresh=now, reports=reports, gates=gates)


def believe(reader: RunReader, where: str, *, keep_examples: bool = False) -> BelievedRun:
    """The run, when every claim holds.

    Raises: ArtifactError naming every claim that does not.
    """
    checked = check_run(reader, keep_examples=keep_examples)
    refuse_failures(checked.checks, where)
    assert checked.run is not None
    assert checked.measurement is not None
    assert checked.fresh is not None
    return BelievedRun(
        run=checked.run,
        measurement=checked.measurement,
        fresh=checked.fresh,
        reports=checked.reports,
        gates=checked.gates,
    )


@frozen
class Stated:
    """A report with the evidence it was stated from, which may be an earlier part of the log."""

    report: Report
    run: VerifiedRun
    measurement: RunMeasurement


class _Files:
    """The files of reports and gate records; one that cannot be read is a finding, once."""

    def __init__(self, reader: RunReader, findings: Findings, known: set[str | None]) -> None:
        self._reader, self.findings, self._known = reader, findings, known

    def read(self, kind: str, body: Mapping[str, Any]) -> bytes | None:
        ordinal = body["ordinal"]
        try:
            return self._reader.report(ordinal) if kind == "report" else self._reader.gate(ordinal)
        except ArtifactError as problem:
            if problem.part not in self._known:
                self.findings.fail(Claim.REPORT if kind == "report" else Claim.GATE, str(problem))
            return None


def _statements(
    files: _Files, run: VerifiedRun, now: Stated, earlier: Mapping[int, Stated]
) -> tuple[dict[int, Report], dict[int, GateRecord]]:
    reports: dict[int, Report] = {}
    gates: dict[int, GateRecord] = {}
    for body in run.reports:
        payload = files.read("report", body)
        fresh = earlier.get(body["ordinal"], now).report
        restated = None if payload is None else recheck_report(body, payload, fresh, files.findings)
        if restated is not None:
            reports[body["ordinal"]] = restated
    check_order(reports, files.findings)
    broken = {body["ordinal"] for body in run.reports} - reports.keys()
    for number, body in enumerate(run.gates):
        payload = files.read("gate", body)
        if body["report"] in broken:
            continue  # nothing to judge by; the report's own claim is broken
        grounds = _grounds(earlier.get(body["report"], now), run, run.gates[:number])
        recorded = None if payload is None else recheck_gate(body, payload, reports, files.findings, grounds)
        if recorded is not None:
            gates[body["ordinal"]] = recorded
    return reports, gates


def _grounds(stated: Stated, run: VerifiedRun, before: tuple[Body, ...]) -> Grounds:
    return Grounds(
        measured=Measured(stated.run.table, stated.measurement),
        tries=earlier_looks(before, run.reports, stated.run.commitment) + 1,
        prefix=plan_prefix(stated.run, stated.measurement) if stated.run.stop_reason else None,
    )
