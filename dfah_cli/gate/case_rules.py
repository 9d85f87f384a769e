"""Rules for single cases, and the waivers that lift them. Pure.

Always by the measured number: a handful of replays of one case proves nothing about it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from fractions import Fraction

from attrs import frozen

from dfah_cli.gate.checks import GateCheck
from dfah_cli.metrics.case_values import CaseValues
from dfah_cli.records.policy import CaseGatePolicy, GatePolicy, Waiver

EVERY = "*"
NAMED = 20


@frozen
class CaseThreshold:
    """One number of one case. bound: of a rule; None when it does not ask."""

    check: str
    per_case: str
    at_least: bool
    bound: Callable[[CaseGatePolicy], float | None]


CASE_THRESHOLDS = (
    CaseThreshold("dar", "dar", True, lambda rule: rule.min_dar),
    CaseThreshold("tar_seq", "tar_seq", True, lambda rule: rule.min_tar_seq),
    CaseThreshold("gap", "gap", False, lambda rule: rule.max_gap),
    CaseThreshold("path_change", "flag", False, lambda rule: None if rule.allow_path_change else 0.0),
)


def case_checks(policy: GatePolicy, values: CaseValues, on: date | None) -> Iterator[GateCheck]:
    """One check for each number a rule asks for; observed: cases that break it.

    on: the day that waivers are held against; None = all hold.
    """
    rows = {case: row for row, case in enumerate(values.cases)}
    waivers = {waiver.case: waiver for waiver in policy.waivers}
    own = {rule.case for rule in policy.by_case}
    for rule in policy.by_case:
        cases = [case for case in rows if case not in own] if rule.case == EVERY else [rule.case]
        missing = [case for case in cases if case not in rows]
        for threshold in CASE_THRESHOLDS:
            bound = threshold.bound(rule)
            if bound is None:
                continue
            broken = [case for case in cases if case in rows and _breaks(threshold, values, rows[case], bound)]
            yield _check(f"case[{rule.case}].{threshold.check}", [*missing, *broken], waivers, on)


def _breaks(threshold: CaseThreshold, values: CaseValues, row: int, bound: float) -> bool:
    value = Fraction(float(values.numbers[threshold.per_case][row])).limit_denominator(10**7)
    limit = Fraction(repr(bound))
    return value < limit if threshold.at_least else value > limit


def _check(name: str, broken: list[str], waivers: dict[str, Waiver], on: date | None) -> GateCheck:
    waived = [case for case in broken if case in waivers and (on is None or waivers[case].holds(on))]
    expired = [case for case in broken if case in waivers and case not in waived]
    counted = [case for case in broken if case not in waived]
    notes = [
        _listed("broken by", counted),
        *(f"{case} is waived until {waivers[case].expires}: {waivers[case].reason}" for case in waived[:NAMED]),
        *(f"the waiver of {case} expired on {waivers[case].expires}" for case in expired[:NAMED]),
    ]
    told = "; ".join(note for note in notes if note)
    return GateCheck(
        name=name, passed=not counted, observed=len(counted), expected=0, at_least=False, note=told or None
    )


def _listed(what: str, cases: list[str]) -> str:
    more = f" and {len(cases) - NAMED} more" if len(cases) > NAMED else ""
    return f"{what} {', '.join(cases[:NAMED])}{more}" if cases else ""
