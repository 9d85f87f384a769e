"""What is claimed of a run directory, one name per claim."""

from __future__ import annotations

from enum import StrEnum

from attrs import frozen

from dfah_cli.errors import ArtifactError, NewerVersionError


class Claim(StrEnum):
    """A claim that verification decides; the order is the order of the table people read."""

    RUN_PLAN = "run plan"
    MANIFEST = "manifest"
    SCHEDULE = "schedule"
    LOG = "log"
    HEAD = "durable length"
    OBJECTS = "objects"
    BOUNDARIES = "start and dispatch boundaries"
    IDENTITY = "episode identity"
    METADATA = "episode metadata"
    ONTOLOGY = "decision ontology"
    TRAJECTORY = "trajectory"
    WIRE = "wire echo"
    COST = "cost"
    LATENCY = "latency"
    COMMITMENT = "commitment"
    METRICS = "case metrics"
    REPORT = "report"
    GATE = "gate record"
    SEAL = "seal"
    SUMS = "checksums"
    SIGNATURE = "signature"


class CheckStatus(StrEnum):
    """A claim that has nothing to apply to is neither passed nor failed."""

    PASS = "pass"
    FAIL = "fail"
    NOT_APPLICABLE = "not applicable"


PARTS = {
    "plan.json": Claim.RUN_PLAN,
    "manifest.json": Claim.MANIFEST,
    "head": Claim.HEAD,
    "objects": Claim.OBJECTS,
    "reports": Claim.REPORT,
    "gates": Claim.GATE,
    "seal.json": Claim.SEAL,
    "SHA256SUMS": Claim.SUMS,
    "attestation.dsse.json": Claim.SIGNATURE,
}


def claim_on(part: str | None) -> Claim:
    """The claim that is broken when this file of a run directory is."""
    return PARTS.get((part or "").partition("/")[0], Claim.LOG)


@frozen
class CheckResult:
    """One decided claim; `detail` says how much was checked, or the first things that broke it.

    newer: nothing broke it but that a later version of this program is needed to decide it.
    """

    claim: Claim
    status: CheckStatus
    detail: str
    newer: bool = False


MAX_DETAILS = 5


class Findings:
    """Collects what was checked and what failed, per claim; never stops at the first failure."""

    def __init__(self) -> None:
        self._checked: dict[Claim, int] = dict.fromkeys(Claim, 0)
        self._failed: dict[Claim, int] = dict.fromkeys(Claim, 0)
        self._details: dict[Claim, list[str]] = {claim: [] for claim in Claim}
        self._newer: dict[Claim, int] = dict.fromkeys(Claim, 0)

    def checked(self, claim: Claim, times: int = 1) -> None:
        """So many things were looked at for the claim."""
        self._checked[claim] += times

    def fail(self, claim: Claim, detail: str) -> None:
        """Something breaks the claim."""
        self._failed[claim] += 1
        if len(self._details[claim]) < MAX_DETAILS:
            self._details[claim].append(detail)

    def refused(self, problem: ArtifactError) -> None:
        """A refusal breaks the claim about the file it names."""
        claim = claim_on(problem.part)
        self.fail(claim, str(problem))
        self._newer[claim] += isinstance(problem, NewerVersionError)

    @property
    def failed(self) -> bool:
        """Whether any claim is broken."""
        return any(self._failed.values())

    def results(self) -> tuple[CheckResult, ...]:
        """One row per claim."""
        return tuple(self._result(claim) for claim in Claim)

    def _result(self, claim: Claim) -> CheckResult:
        failed, checked = self._failed[claim], self._checked[claim]
        if failed:
            more = failed - len(self._details[claim])
            suffix = f"; and {more} more" if more else ""
            told = "; ".join(self._details[claim]) + suffix
            return CheckResult(claim, CheckStatus.FAIL, told, newer=self._newer[claim] == failed)
        if not checked:
            detail = "not decided, because another claim is broken" if self.failed else "nothing recorded to check"
            return CheckResult(claim, CheckStatus.NOT_APPLICABLE, detail)
        return CheckResult(claim, CheckStatus.PASS, f"{checked} checked")


def refuse_failures(results: tuple[CheckResult, ...], where: str) -> None:
    """Nothing, when no claim failed.

    Raises: ArtifactError naming every broken claim.
    """
    broken = [f"{result.claim.value}: {result.detail}" for result in results if result.status is CheckStatus.FAIL]
    if broken:
        raise ArtifactError(f"{where} cannot be believed. " + " | ".join(broken))
