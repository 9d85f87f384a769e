"""Two recorded runs, or a run and its baseline -> what moved, by how much for certain, and a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import field, frozen

from dfah_cli.errors import EligibilityError, ExitCode, ManifestMismatchError, SuiteVersionMismatchError
from dfah_cli.gate.checks import GateCheck, Verdict, verdict_of
from dfah_cli.gate.not_worse import check_of
from dfah_cli.metrics.paired import Measured
from dfah_cli.metrics.versus import Comparison, compare_runs, non_inferiority
from dfah_cli.records.codec import plain
from dfah_cli.records.enums import ReportStatus
from dfah_cli.render.comparison import comparison_object
from dfah_cli.report.baseline import Baseline, baseline_of, contract_problems, named
from dfah_cli.report.compare import DIGEST_KEY, TOOL_RESULTS, Allowances, check_seen_alike
from dfah_cli.report.record import Report
from dfah_cli.store.places import place_of
from dfah_cli.workflow.analyze import Analysis, analyze
from dfah_cli.workflow.baselines import baseline_from

FORMAT = "dfah-comparison-2"
CODES = {Verdict.PASS: ExitCode.OK, Verdict.FAIL: ExitCode.NO, Verdict.INCONCLUSIVE: ExitCode.UNDECIDED}


@frozen(kw_only=True)
class Question:
    """What is asked. margins: metric (`dar`, `tar.seq`, `flags`) → largest tolerated loss as a share; none: nothing.

    rarefy: runs of unequal replays are compared at the smaller number. same_agent: both are runs of one agent, so
    whatever is alarmed about is a false alarm (A/A).
    """

    margins: Mapping[str, float] = field(factory=dict)
    confidence: float = 0.95
    rarefy: bool = False
    same_agent: bool = False
    allowed: Allowances = field(factory=Allowances)


@frozen(kw_only=True)
class Answer:
    """verdict: None when no margin was asked about and it is no A/A comparison. difference: empty if rarefied."""

    base: Baseline
    candidate: Report
    difference: Mapping[str, float]
    found: Comparison
    checks: tuple[GateCheck, ...]
    verdict: Verdict | None

    @property
    def code(self) -> ExitCode:
        """The exit code of the verdict."""
        return ExitCode.OK if self.verdict is None else CODES[self.verdict]


def compare(base: str | Path, candidate: str | Path, question: Question) -> Answer:
    """The comparison of a run with a base: a run directory or a file of `dfah baseline accept`.

    Raises: ConfigurationError, ArtifactError; SuiteVersionMismatchError, ManifestMismatchError or EligibilityError
    for runs that may not be compared.
    """
    one = analyze(base) if place_of(base).is_dir() else None
    pinned = baseline_from(Path(base)) if one is None else baseline_of(one.report, _measured(one))
    other = analyze(candidate)
    _check(pinned, other.report, question)
    replays = named(_measured(other))
    found = compare_runs(pinned.joints, replays, level=question.confidence)
    checks = (*_margins(pinned, replays, question), *(_alarms(found, question) if question.same_agent else ()))
    return Answer(
        base=pinned,
        candidate=other.report,
        difference=_difference(pinned, None if one is None else one.report, other.report, question),
        found=found,
        checks=checks,
        verdict=verdict_of(checks) if checks else None,
    )


def _measured(analysis: Analysis) -> Measured:
    return Measured(analysis.verified.table, analysis.measurement)


def _check(base: Baseline, report: Report, question: Question) -> None:
    allowed = question.allowed
    check_seen_alike(base, report, cross_tools=allowed.cross_tools and not question.same_agent)
    found = [name for name in contract_problems(base, report) if name not in (TOOL_RESULTS, DIGEST_KEY)]
    problems = [name for name in found if not allowed.cross_version or name == "suite"]
    if problems:
        raise SuiteVersionMismatchError(f"the runs are not about the same cases: {', '.join(problems)} differ")
    if base.manifest_hash != report.manifest.hash and (question.same_agent or not allowed.cross_manifest):
        raise ManifestMismatchError(
            "the runs have different manifests: they measure two different agents"
            + ("" if question.same_agent else "; compare them with --allow-cross-manifest")
        )
    if base.replays != report.replays_requested and not question.rarefy:
        raise ManifestMismatchError(
            f"the runs have {base.replays} and {report.replays_requested} replays; DAR, TAR, gap and flags are "
            "comparable only at equal replays; --rarefy compares both at the smaller number"
        )
    complete = base.status == report.status == ReportStatus.COMPLETE
    if not complete and not allowed.partial:
        raise EligibilityError("a run is not complete; a comparison needs complete runs, or --allow-partial")


def _difference(base: Baseline, one: Report | None, other: Report, question: Question) -> Mapping[str, float]:
    """candidate − base as both state them; empty where unequal replays make that meaningless."""
    if base.replays != other.replays_requested:
        return {}
    if one is not None:
        allowed = question.allowed
        return other.compare(
            one,
            allow_cross_manifest=allowed.cross_manifest,
            allow_cross_version=allowed.cross_version,
            allow_cross_tools=allowed.cross_tools,
            allow_partial=allowed.partial,
        )
    assert other.tar is not None
    now = {"dar": other.dar, "tar_seq": other.tar.seq, "gap": other.gap,
           "flags_per_100_cases": other.flags_per_100_cases}  # fmt: skip
    return {name: float(value) - float(base.metrics[name]) for name, value in now.items() if value is not None}


def _margins(base: Baseline, replays: Any, question: Question) -> tuple[GateCheck, ...]:
    if not question.margins:
        return ()
    lost = len(base.joints.keys() - replays.keys())
    found = non_inferiority(base.joints, replays, question.margins, level=question.confidence)
    return tuple(check_of(one, lost) for one in found)


def _alarms(found: Comparison, question: Question) -> tuple[GateCheck, ...]:
    """Exact tests between two runs of one agent; each that rejects says that replays are not independent."""
    p_values = {f"drift[{level}]": test.p for level, test in found.drift.items()}
    p_values |= {f"{alarm.metric}[{alarm.task}]": alarm.p_holm for alarm in found.alarms}
    if found.flags_p is not None:
        p_values["flags"] = found.flags_p
    alpha = round(1.0 - question.confidence, 12)
    return tuple(
        GateCheck(name=f"a_a.{name}", passed=p >= alpha, observed=float(p), expected=alpha, at_least=True)
        for name, p in p_values.items()
    )


def document(answer: Answer) -> dict[str, Any]:
    """The comparison as one JSON value; shares are not per 100, p values are exact tests."""
    found = answer.found
    return {
        "format": FORMAT,
        "base": answer.base.report_sha256[:32],
        "candidate": answer.candidate.report_id,
        "same_evidence": answer.base.commitment == answer.candidate.commitment,
        "difference": dict(answer.difference),
        **comparison_object(found),
        "checks": [plain(check) for check in answer.checks],
        "verdict": None if answer.verdict is None else str(answer.verdict),
        "exit_code": int(answer.code),
    }
