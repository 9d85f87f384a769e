"""Plans for `dfah power`: what a claim about the flag rate costs, from wishes or from a pilot run."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from dfah_cli.errors import ConfigurationError, EligibilityError
from dfah_cli.metrics.intervals import Sides, clopper_pearson
from dfah_cli.metrics.power import RatePlan, pass_chance, plan_max_rate, plan_power

NUSD = 1_000_000_000
ALLOWED = (0, 1, 2, 3)


@frozen(kw_only=True)
class PilotFacts:
    """What a pilot run suggests. flag_rate: shrunk a little, because no flag in few cases is not a rate of 0."""

    flag_rate: float
    cost_nusd_per_call: float


def pilot_facts(run: str) -> PilotFacts:
    """Flag rate and cost of a recorded run.

    Raises: EligibilityError when no case of it can be counted.
    """
    from dfah_cli.workflow.analyze import analyze

    found = analyze(run).measurement
    if not found.groups_eligible or found.flagged is None:
        raise EligibilityError("the pilot run has no eligible case, so it suggests no flag rate; give --expect")
    return PilotFacts(
        flag_rate=(found.flagged + 0.5) / (found.groups_eligible + 1),
        cost_nusd_per_call=found.cost_nusd / max(1, found.episodes),
    )


@frozen(kw_only=True)
class Wish:
    """What is asked for. Rates, chance and confidence are shares; at least one of rate and budget is needed."""

    max_flag_rate: float | None = None
    expect: float | None = None
    chance: float = 0.8
    confidence: float = 0.95
    replays: int = 3
    budget_calls: int | None = None


def plans(wish: Wish, facts: PilotFacts | None = None) -> list[dict[str, Any]]:
    """Plans as JSON rows: for the wanted rate, and for what the budget can show.

    Raises: ConfigurationError when no plan can reach the wish.
    """
    expected = wish.expect if wish.expect is not None else (facts.flag_rate if facts else None)
    found: list[RatePlan] = []
    if wish.max_flag_rate is not None:
        found += _for_rate(wish.max_flag_rate, expected, wish.chance, wish.confidence)
    if wish.budget_calls is not None:
        found += _for_budget(wish.budget_calls // wish.replays, expected, wish.confidence)
    return [_row(plan, expected, wish.replays, facts) for plan in found]


def _for_rate(rate: float, expected: float | None, chance: float, level: float) -> list[RatePlan]:
    if expected is not None:
        return [plan_power(rate, expected, power=chance, level=level)]
    return [
        RatePlan(cases=plan_max_rate(rate, allowed=allowed, level=level), allowed=allowed, certifies=rate, level=level)
        for allowed in ALLOWED
    ]


def _for_budget(cases: int, expected: float | None, level: float) -> list[RatePlan]:
    if not 0.0 < level < 1.0:
        raise ConfigurationError(f"confidence {level}: expected a number between 0 and 1, both excluded")
    if cases < 1:
        raise ConfigurationError("the budget does not pay for the replays of one case; raise --budget-calls")
    return [
        RatePlan(
            cases=cases,
            allowed=allowed,
            certifies=clopper_pearson(allowed, cases, level=level, sides=Sides.UPPER).high,
            level=level,
            chance=None if expected is None else pass_chance(cases, allowed, expected),
        )
        for allowed in ALLOWED
        if allowed < cases
    ]


def _row(plan: RatePlan, expected: float | None, replays: int, facts: PilotFacts | None) -> dict[str, Any]:
    calls = plan.cases * replays
    return {
        "cases": plan.cases,
        "replays": replays,
        "calls": calls,
        "allowed": plan.allowed,
        "certifies": plan.certifies,
        "level": plan.level,
        "expected": expected if plan.chance is not None else None,
        "chance": plan.chance,
        "chance_at_limit": pass_chance(plan.cases, plan.allowed, plan.certifies),
        "cost_usd": facts.cost_nusd_per_call * calls / NUSD if facts and facts.cost_nusd_per_call else None,
    }
