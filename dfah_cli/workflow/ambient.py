"""`check_agent(deep=True)`: does what surrounds an agent change what it does?

Every checked case is called twice, first in a fresh process, under surroundings that are held still; then twice again
under each of `CHANGED`. The first request of an episode is made before any provider has answered, so when it differs,
the surroundings did it: a failed check. A path or a decision may also differ because the provider varies; that fails
only when both calls agree on another outcome, and is a warning otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from dfah_cli.adapter.contract import Agent
from dfah_cli.engines.isolation.agent import IsolatedAgent
from dfah_cli.engines.isolation.process import Load
from dfah_cli.errors import DFAHError
from dfah_cli.records.codec import plain
from dfah_cli.records.episode import Episode
from dfah_cli.records.money import usd
from dfah_cli.redaction import redact
from dfah_cli.workflow.analyze import episodes
from dfah_cli.workflow.conformance_checks import FAIL, PASS, SKIP, Verdict
from dfah_cli.workflow.replay import Replay

DEEP_REPLAYS = 2
SHIFT_S = 400 * 86_400 + 7 * 3_600 + 11 * 60 + 13
STILL = {"PYTHONHASHSEED": "0", "TZ": "UTC0"}


@frozen(kw_only=True)
class Surroundings:
    """What is around an agent. varies: what is another than in the reference. blind: what this cannot see."""

    name: str
    varies: str = ""
    blind: str = ""
    fix: str = ""
    fresh: bool = True
    environment: Mapping[str, str] = STILL
    clock_shift_s: float = 0.0


REFERENCE = Surroundings(name="reference")
CHANGED = (
    Surroundings(
        name="order_independence",
        varies="after other cases in one process, instead of first in a fresh one",
        blind="what earlier runs left on disk or at the provider",
        fix="keep no state between calls: no module globals, caches or conversation histories that a case adds to",
        fresh=False,
    ),
    Surroundings(
        name="clock_independence",
        varies=f"with the wall clock {SHIFT_S // 86_400} days, 7 hours and some minutes later",
        blind="clocks of extension modules, of child processes and of the provider",
        fix="keep the date out of prompts and tools, or fix it in the case's input",
        clock_shift_s=SHIFT_S,
    ),
    Surroundings(
        name="hash_seed_independence",
        varies="with another PYTHONHASHSEED",
        blind="an order that happens to be the same for both seeds",
        fix="sort sets before they reach a prompt, a payload or a result; never use hash() of text",
        environment={**STILL, "PYTHONHASHSEED": "4242"},
    ),
    Surroundings(
        name="environment_independence",
        varies="with another time zone and locale (TZ, LC_ALL, LANG)",
        blind="other variables, files and network",
        fix="name time zone and locale in the code instead of taking them from the environment",
        environment={**STILL, "TZ": "XST-11:30", "LC_ALL": "C", "LANG": "C"},
    ),
)


def deep_calls(cases: int) -> int:
    """The most agent calls the deep part makes."""
    return cases * DEEP_REPLAYS * (1 + len(CHANGED))


@frozen(kw_only=True)
class Outcome:
    """What one episode came to, in the three parts that are compared. request: None without an echo."""

    request: str | None
    path: tuple[object, ...]
    decision: str | None
    failed: str | None

    @classmethod
    def of(cls, episode: Episode) -> Outcome:
        """The outcome of an episode."""
        return cls(
            request=None if episode.wire_request is None else episode.wire_request.payload_hash,
            path=tuple(call.step for call in episode.trajectory.tool_calls),
            decision=None if episode.decision is None else episode.decision.label,
            failed=None if episode.error is None else f"{episode.status.value}/{episode.error.kind}",
        )


Outcomes = Mapping[str, Sequence[Outcome]]
PARTS = {"request": "first request", "path": "path", "decision": "decision"}


def judge(surroundings: Surroundings, reference: Outcomes, found: Outcomes) -> Verdict:
    """What the outcomes under changed surroundings say. Pure."""
    failed = sorted({one.failed for case_id in found for one in found[case_id] if one.failed})
    if failed:
        told = f"could not be told: {surroundings.varies}, episodes failed ({', '.join(failed)})"
        return SKIP, told, "mend what makes them fail there; a provider may refuse a wrong clock"
    steady = {
        part: [case_id for case_id, seen in reference.items() if len({getattr(one, part) for one in seen}) == 1]
        for part in PARTS
    }
    if not any(steady.values()):
        return SKIP, "could not be told: every case varies by itself, in equal surroundings", None
    other = {part: _other(part, steady[part], reference, found) for part in PARTS}
    certain = set(other["request"]) | (_agreed(other, found) if surroundings.fresh else set())
    parts = [PARTS[part] for part in PARTS if other[part]]
    cases = sorted({case for part in PARTS for case in other[part]})
    if not cases:
        return PASS, f"nothing changes {surroundings.varies}; not seen: {surroundings.blind}", None
    told = f"{', '.join(parts)} of {', '.join(cases)} changes {surroundings.varies}"
    if certain:
        return FAIL, told, surroundings.fix
    return PASS, f"WARNING: {told}; the provider's own variation can look like this too", surroundings.fix


def _other(part: str, cases: Iterable[str], reference: Outcomes, found: Outcomes) -> list[str]:
    return [
        case
        for case in cases
        if any(getattr(one, part) != getattr(reference[case][0], part) for one in found.get(case, ()))
    ]


def _agreed(other: Mapping[str, Sequence[str]], found: Outcomes) -> set[str]:
    """Cases of which every call came to the same other path or decision."""
    return {
        case
        for part in ("path", "decision")
        for case in other[part]
        if len(found[case]) > 1 and len({getattr(one, part) for one in found[case]}) == 1
    }


@frozen(kw_only=True)
class Deep:
    """A deep preflight of one agent. where: keeps the episodes. design: of each run.

    budget_usd: for all of it together; None for no limit.

    Takes the agent by its reference, because each process loads it anew.
    """

    agent: Agent
    reference: str
    where: Path
    design: Mapping[str, Any]
    budget_usd: float | None = None

    def verdicts(self) -> list[tuple[str, Verdict]]:
        """One verdict for each of `CHANGED`."""
        try:
            reference, spent = self._outcomes(REFERENCE, self.budget_usd)
        except DFAHError as problem:
            why = f"could not be told: no worker process ran the agent ({redact(str(problem))})"
            return [(one.name, (SKIP, why, "make the agent loadable by its name in a new process")) for one in CHANGED]
        failed = sorted({one.failed for seen in reference.values() for one in seen if one.failed})
        if failed:
            why = f"could not be told: in a fresh process episodes failed ({', '.join(failed)})"
            return [(one.name, (SKIP, why, "mend the checks that failed first")) for one in CHANGED]
        told: list[tuple[str, Verdict]] = []
        for changed in CHANGED:
            left = None if self.budget_usd is None else self.budget_usd - spent
            verdict, cost = self._verdict(changed, reference, left)
            spent += cost
            told.append((changed.name, verdict))
        return told

    def _verdict(self, changed: Surroundings, reference: Outcomes, left: float | None) -> tuple[Verdict, float]:
        if left is not None and left <= 0:
            return (SKIP, "could not be told: the budget is used up", "raise the budget"), 0.0
        try:
            found, cost = self._outcomes(changed, left)
        except DFAHError as problem:
            return (SKIP, f"could not be told: {redact(str(problem))}", None), 0.0
        if any(len(seen) < DEEP_REPLAYS for seen in found.values()) or len(found) < len(reference):
            return (SKIP, "could not be told: the run stopped early", "raise the budget"), cost
        return judge(changed, reference, found), cost

    def _outcomes(self, surroundings: Surroundings, budget_usd: float | None) -> tuple[Outcomes, float]:
        load = Load(
            adapter=self.reference,
            agent={},
            suite=None,
            content=plain(self.design["suite"]),
            environment=dict(surroundings.environment),
            clock_shift_s=surroundings.clock_shift_s,
        )
        isolated = IsolatedAgent(self.agent, self.design["suite"], load, fresh=surroundings.fresh)
        out = self.where / surroundings.name
        money = {} if budget_usd is None else {"budget_usd": budget_usd}
        replay = Replay(**{**self.design, "replays": DEEP_REPLAYS, "out": out, **money})
        report = replay.record(isolated).report
        found: dict[str, list[Outcome]] = {}
        for episode in episodes(out):
            found.setdefault(episode.case_id, []).append(Outcome.of(episode))
        return found, usd(report.total_cost_nusd)
