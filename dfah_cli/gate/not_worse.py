"""Whether a run is proven not worse than its baseline. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, floor

from dfah_cli.errors import DFAHError
from dfah_cli.gate.checks import GateCheck, Verdict
from dfah_cli.gate.grounds import Grounds
from dfah_cli.metrics.intervals import LEVEL
from dfah_cli.metrics.versus import NonInferiority, non_inferiority
from dfah_cli.records.policy import GatePolicy
from dfah_cli.report.baseline import Baseline, contract_problems, named
from dfah_cli.report.record import ReportColumns

PREFIX = "non_inferiority"
SCALES = {"dar": ("dar", 1.0), "tar.seq": ("tar_seq", 1.0), "flags": ("flags_per_100", 100.0)}


def baseline_checks(
    policy: GatePolicy, report: ReportColumns, grounds: Grounds, level: float | None
) -> Iterator[GateCheck]:
    """The checks of `non_inferiority`; a baseline that is missing or of other cases fails.

    level: of the bounds; None takes the policy's confidence, unless its attempts are used up.
    """
    asked = policy.non_inferiority
    if asked is None:
        return
    problems = ("no baseline at hand",) if grounds.baseline is None else contract_problems(grounds.baseline, report)
    if grounds.measured is None:
        problems = (*problems, "no run directory at hand")
    if problems:
        yield GateCheck(
            name=f"{PREFIX}.baseline", passed=False, observed=f"differs: {', '.join(problems)}", expected="same cases"
        )
        return
    if level is None and policy.evidence == "confident":
        yield GateCheck(
            name=f"{PREFIX}.baseline",
            passed=False,
            verdict=Verdict.INCONCLUSIVE,
            observed="no attempt left",
            expected="an attempt",
        )
        return
    assert grounds.baseline is not None
    yield from _held(policy, grounds, grounds.baseline, level or policy.confidence or LEVEL)


def _held(policy: GatePolicy, grounds: Grounds, baseline: Baseline, level: float) -> Iterator[GateCheck]:
    assert policy.non_inferiority is not None
    assert grounds.measured is not None
    try:
        found = non_inferiority(
            baseline.joints,
            named(grounds.measured),
            policy.non_inferiority.margins,
            level=level,
            replays=policy.at_replays,
        )
    except DFAHError as problem:
        yield GateCheck(name=f"{PREFIX}.baseline", passed=False, observed=str(problem), expected="comparable cases")
        return
    lost = len(baseline.joints.keys() - named(grounds.measured).keys())
    yield from (check_of(one, lost) for one in found)


def check_of(one: NonInferiority, lost: int = 0) -> GateCheck:
    """A non-inferiority test as a check, flags per 100 cases. lost: cases of the baseline that are not compared."""
    name, scale = SCALES.get(one.metric, (one.metric, 1.0))
    rises = one.metric in ("flags", "gap", "sequence_flags")
    margin = scale * one.margin
    verdict = Verdict(one.verdict.value)
    notes = [
        *([f"{lost} cases of the baseline are not eligible here"] if lost else []),
        *([f"at {one.replays} replays"] if one.rarefied else []),
    ]
    return GateCheck(
        name=f"{PREFIX}.{name}",
        passed=verdict is Verdict.PASS,
        verdict=verdict,
        # Rounded, and limits outward, so that every machine states the same digits; + 0.0 turns −0 into 0.
        observed=round(scale * one.difference, 12) + 0.0,
        expected=margin if rises else -margin,
        at_least=not rises,
        bound=_outward(scale * one.bound, scale * one.difference),
        level=one.level,
        method=one.method,
        n_cases=one.cases,
        cases_needed=one.cases_needed,
        note="; ".join(notes) or None,
    )


def _outward(limit: float, value: float) -> float:
    digits = 10_000
    return (ceil(limit * digits) if limit > value else floor(limit * digits)) / digits
