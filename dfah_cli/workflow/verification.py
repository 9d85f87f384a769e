"""A run directory verified offline, claim by claim, as its bytes are: nothing is repaired and nothing is written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from attrs import frozen

from dfah_cli.errors import ArtifactError, ConfigurationError, ExitCode
from dfah_cli.evidence.claims import CheckResult, CheckStatus, Findings, claim_on
from dfah_cli.evidence.verify import VerifiedRun
from dfah_cli.records.enums import ReportStatus
from dfah_cli.report.record import Report
from dfah_cli.store import layout
from dfah_cli.store.places import RunUrl, names_in, place_of
from dfah_cli.store.protocol import LogTail
from dfah_cli.workflow.analyze import check_is_run
from dfah_cli.workflow.checking import CheckedRun, check_run

if TYPE_CHECKING:
    from dfah_cli.store.reader import LogReader
    from dfah_cli.store.sharded import PartsReader


@frozen(kw_only=True)
class Verification:
    """Every claim about a run directory, decided.

    checked, tail: None when the directory could not be read as far as its log. ignored: files that nothing announces.
    """

    path: Path | RunUrl
    checks: tuple[CheckResult, ...]
    checked: CheckedRun | None
    tail: LogTail | None
    ignored: tuple[str, ...] = ()

    @property
    def run(self) -> VerifiedRun | None:
        """The run, when no claim is broken."""
        return None if self.checked is None or self.broken else self.checked.run

    @property
    def report(self) -> Report | None:
        """The report stated afresh, when no claim is broken."""
        return None if self.checked is None or self.broken else self.checked.fresh

    @property
    def broken(self) -> tuple[CheckResult, ...]:
        """The claims that do not hold."""
        return tuple(check for check in self.checks if check.status is CheckStatus.FAIL)

    @property
    def exit_code(self) -> ExitCode:
        """3 when a claim is broken, 4 when the run is not complete."""
        if self.broken or self.report is None:
            return ExitCode.BAD_EVIDENCE
        return ExitCode.OK if self.report.status is ReportStatus.COMPLETE else ExitCode.UNDECIDED


def verify_run(
    path: str | Path | RunUrl, *, key: str | Path | None = None, attestation: str | Path | None = None
) -> Verification:
    """Every claim decided; never raises for evidence that fails.

    key: a public key that must have signed. attestation: the envelope, when it is not in the run directory.
    Raises: ConfigurationError when there is no run directory at all, or a key cannot be read; StorageError when the
    disk fails.
    """
    from dfah_cli.workflow.signing import check_signature, public_key

    place = place_of(path)
    public = None if key is None else public_key(Path(key))
    findings = Findings()
    try:
        reader = _reader(place)
    except ArtifactError as problem:
        check_is_run(place)
        findings.refused(problem)
        return Verification(path=place, checks=findings.results(), checked=None, tail=None)
    faults: list[ArtifactError] = []
    checked = check_run(reader, records=reader.records(faults), faults=faults, findings=findings)
    for part, times in reader.compared.items():
        if part not in (layout.REPORTS, layout.GATES):
            findings.checked(claim_on(part), times)
    if checked.run is not None:
        check_signature(place, checked, public, findings, file=None if attestation is None else Path(attestation))
    return Verification(
        path=place,
        checks=findings.results(),
        checked=checked,
        tail=reader.tail() if checked.run is not None else None,
        ignored=tuple(_ignored(place, checked)),
    )


def _reader(place: Path | RunUrl) -> LogReader | PartsReader:
    from dfah_cli.store.opening import open_store

    if not place.is_dir():
        raise ConfigurationError(f"{place}: no such run directory; list runs with: dfah ls")
    return cast("LogReader | PartsReader", open_store(place).open_reader())


def _ignored(place: Path | RunUrl, checked: CheckedRun) -> list[str]:
    """Files in the places of evidence that no record announces: left by a crash, or put there by somebody."""
    if checked.run is None:
        return []
    announced = {f"{layout.REPORTS}/{body['ordinal']}.json" for body in checked.run.reports}
    announced |= {f"{layout.GATES}/{body['ordinal']}.json" for body in checked.run.gates}
    found = [f"{part}/{name}" for part in (layout.REPORTS, layout.GATES) for name in names_in(place / part)]
    temporary = [
        f"{layout.SEGMENTS}/{name}" for name in names_in(place / layout.SEGMENTS) if name.endswith(layout.TEMPORARY)
    ]
    return [name for name in found if name not in announced] + temporary
