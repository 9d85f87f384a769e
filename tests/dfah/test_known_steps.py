"""`dfah inspect` names, for each kind of instability that is seeded, the step and the kind that were seeded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dfah import Replay
from dfah._demo.agents import UnstableAgent
from dfah._demo.instability import Script
from dfah.demo import make_unstable_agent
from dfah_cli.render.inspection import case_lines
from dfah_cli.report.details import CaseDetail, case_details
from dfah_cli.report.divergence import Cause, Parting, parting
from dfah_cli.workflow.analyze import analyze

REPLAYS, CASES = 4, 16


def names(script: Script) -> list[str]:
    return [scripted.step.tool for scripted in script.steps]


def inspected(agent: UnstableAgent, out: Path) -> list[CaseDetail]:
    Replay(suite=agent.suite, replays=REPLAYS, limit=CASES, out=out, concurrency=8).run(agent)
    return list(case_details(analyze(out, keep_examples=True).verified.table))


def partings(agent: UnstableAgent, out: Path) -> Iterator[tuple[Script, Script, Parting]]:
    """Script of the path that is the reference, script of one that parts from it, and how that is told."""
    for detail in inspected(agent, out):
        reference, *others = detail.variants
        told = list(case_lines(detail, None))
        for other in others:
            found = parting(reference.steps, other.steps)
            assert found is not None
            assert any(f"parts at step {found.step}: " in line for line in told)
            yield (
                agent.script(detail.case_id, reference.replays[0]),
                agent.script(detail.case_id, other.replays[0]),
                found,
            )


def is_order(base: Script, other: Script, found: Parting) -> bool:
    """Exchanging the named call and the next one of the named tool gives the other path."""
    at, mine, theirs = found.step - 1, names(base), names(other)
    return found.cause is Cause.ORDER and mine[:at] == theirs[:at] and mine[at] != theirs[at]


def is_argument(base: Script, other: Script, found: Parting) -> bool:
    pairs = zip(base.steps, other.steps, strict=True)
    changed = [place for place, (one, two) in enumerate(pairs, 1) if one.step.arguments != two.step.arguments]
    return found.cause is Cause.ARGUMENTS and found.step == changed[0]


def is_result(base: Script, other: Script, found: Parting) -> bool:
    pairs = zip(base.steps, other.steps, strict=True)
    changed = [place for place, (one, two) in enumerate(pairs, 1) if one.drift != two.drift]
    return found.cause is Cause.RESULT and found.step == changed[0]


def is_count(base: Script, other: Script, found: Parting) -> bool:
    """Taking the named call out of the longer path, at the named step, gives the shorter one."""
    longer, shorter = sorted((names(base), names(other)), key=len, reverse=True)
    at = found.step - 1
    if len(longer) != len(shorter) + 1:
        return found.cause in (Cause.COUNT, Cause.TOOL)
    causes = (Cause.COUNT,) if set(longer) == set(shorter) else (Cause.TOOL,)
    return found.cause in causes and longer[:at] + longer[at + 1 :] == shorter and longer[at] == found.here


SEEDED = {
    "order_swap_rate": is_order,
    "argument_jitter_rate": is_argument,
    "result_drift_rate": is_result,
    "drop_rate": is_count,
    "repeat_rate": is_count,
}


@pytest.mark.parametrize("rate", SEEDED)
def test_the_step_and_the_kind_are_those_that_were_seeded(rate: str, tmp_path: Path) -> None:
    found = list(partings(make_unstable_agent(seed=3, **{rate: 0.3}), tmp_path / "run"))
    assert len(found) >= 5
    for base, other, told in found:
        assert SEEDED[rate](base, other, told), (names(base), names(other), told)


def test_a_flip_alone_parts_no_path(tmp_path: Path) -> None:
    details = inspected(make_unstable_agent(seed=3, flip_rate=0.4), tmp_path / "run")
    assert all(len(detail.variants) == 1 for detail in details)
    assert any(len(detail.decisions) > 1 for detail in details)
