"""Stopping early without lying: curtailment of a fixed plan, and an e-value that holds under any peeking.
Pure.

Count whole cases in plan order, never in order of completion: unstable cases are slower, so the first to
finish look better than the suite. Source: docs/metrics.md, "Stopping".
"""

from __future__ import annotations

from enum import StrEnum
from math import exp, log, log1p

from dfah_cli.errors import ConfigurationError

GRID = 64


class Settled(StrEnum):
    """What is already certain about a fixed plan."""

    PASS = "pass"
    FAIL = "fail"
    OPEN = "open"


def curtail(flagged: int, seen: int, *, cases: int, allowed: int) -> Settled:
    """Whether the verdict of a plan of `cases` cases with at most `allowed` flags can still change.

    The verdict is that of the full run, so stopping costs nothing statistically.
    """
    if not 0 <= flagged <= seen <= cases:
        raise ConfigurationError(f"{flagged} flagged of {seen} seen of {cases} planned cases: impossible counts")
    if flagged > allowed:
        return Settled.FAIL
    return Settled.PASS if flagged + (cases - seen) <= allowed else Settled.OPEN


def log_e_value(flagged: int, cases: int, rate: float) -> float:
    """Natural logarithm of the evidence that the true flag rate is below `rate`.

    A mixture over 64 rates below the limit. Valid under any peeking; log e-values of successive batches of
    new cases add up.
    """
    if not (0 <= flagged <= cases and 0.0 < rate < 1.0):
        raise ConfigurationError(f"{flagged} flagged of {cases} cases against rate {rate}: impossible")
    terms = [_log_ratio(flagged, cases, rate, (j - 0.5) * rate / GRID) for j in range(1, GRID + 1)]
    top = max(terms)
    return top + log(sum(exp(term - top) for term in terms) / GRID)


def anytime_threshold(alpha: float = 0.05) -> float:
    """The log e-value from which a pass may be declared."""
    return -log(alpha)


def first_pass(flagged: int, rate: float, *, alpha: float = 0.05) -> int:
    """Fewest cases with which `flagged` flags pass at any time."""
    cases = max(flagged, 1)
    while log_e_value(flagged, cases, rate) < anytime_threshold(alpha):
        cases += 1
    return cases


def attempt_alpha(alpha: float, attempt: int) -> float:
    """Error rate that attempt 1, 2, 3, … at one gate may spend; all attempts together spend at most `alpha`."""
    if attempt < 1:
        raise ConfigurationError(f"attempt {attempt}: attempts count from 1")
    return float(alpha / 2**attempt)


def _log_ratio(flagged: int, cases: int, rate: float, alternative: float) -> float:
    return flagged * log(alternative / rate) + (cases - flagged) * (log1p(-alternative) - log1p(-rate))
