"""plans.lock: one line for each named run config, committed, so that a review sees what a change re-runs. Pure."""

from __future__ import annotations

import re

from dfah_cli.errors import ValidationError
from dfah_cli.workflow.plan_facts import PlanFacts

HEADER = "# What the run configs of this project plan. Written by `dfah plan lock`, checked by `dfah plan check`.\n"
LINE = re.compile(
    r"(?P<name>[a-z0-9_-]+) +run=(?P<run>[0-9a-f]{64}) +policy=(?P<policy>[0-9a-f]{64}|none) +"
    r"calls=(?P<calls>[0-9]+) +cost_usd=(?P<cost>[0-9.]+|unknown)"
)


def lock_text(plans: list[PlanFacts]) -> str:
    """The text of plans.lock, sorted by name."""
    width = max((len(facts.name) for facts in plans), default=0)
    lines = [_line(facts, width) for facts in sorted(plans, key=lambda facts: facts.name)]
    return HEADER + "".join(f"{line}\n" for line in lines)


def _line(facts: PlanFacts, width: int) -> str:
    cost = "unknown" if facts.cost_ceiling_usd is None else f"{facts.cost_ceiling_usd:.2f}"
    policy = facts.policy_sha256 or "none"
    return f"{facts.name:<{width}} run={facts.run_plan_sha256} policy={policy} calls={facts.calls} cost_usd={cost}"


def parse_lock(text: str, where: str) -> list[PlanFacts]:
    """The plans of a plans.lock; of each only its digests, calls and cost are known.

    Raises: ValidationError with the line.
    """
    plans: list[PlanFacts] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        match = LINE.fullmatch(line.rstrip())
        if match is None:
            raise ValidationError(f"{where}:{number}:1: not a line of plans.lock; write it again: dfah plan lock")
        if any(facts.name == match["name"] for facts in plans):
            raise ValidationError(
                f"{where}:{number}:1: {match['name']} stands there twice; write it again: dfah plan lock"
            )
        plans.append(
            PlanFacts(
                name=match["name"],
                run_plan_sha256=match["run"],
                policy_sha256=None if match["policy"] == "none" else match["policy"],
                calls=int(match["calls"]),
                cost_ceiling_usd=None if match["cost"] == "unknown" else float(match["cost"]),
            )
        )
    return plans


def stale_lines(locked: list[PlanFacts], now: list[PlanFacts], where: str) -> list[str]:
    """How a plans.lock differs from the plans as they are; empty when it is up to date."""
    there = {facts.name: facts for facts in locked}
    here = {facts.name: facts for facts in now}
    told = [f"{where}: {name}: not in the lock" for name in here if name not in there]
    told += [f"{where}: {name}: there is no such run config any more" for name in there if name not in here]
    for name in sorted({*here} & {*there}):
        told += _stale(there[name], here[name], where)
    return told


def _stale(locked: PlanFacts, now: PlanFacts, where: str) -> list[str]:
    told = []
    if locked.run_plan_sha256 != now.run_plan_sha256:
        told.append(
            f"{where}: {now.name}: run plan {locked.run_plan_sha256[:12]} in the lock, {now.run_plan_sha256[:12]} now: "
            f"at most {now.calls} new calls"
        )
    if locked.policy_sha256 != now.policy_sha256:
        before, after = (side.policy_sha256[:12] if side.policy_sha256 else "none" for side in (locked, now))
        told.append(f"{where}: {now.name}: policy {before} in the lock, {after} now: no new calls")
    if not told and _line(locked, 0) != _line(now, 0):
        told.append(f"{where}: {now.name}: calls or cost differ from the lock")
    return told
