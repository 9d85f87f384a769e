"""What a report says about the unstable agent is what the agent's scripts say, worked out here by other means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import pytest

from dfah import Replay, Report
from dfah._demo.agents import UnstableAgent
from dfah._demo.instability import Script
from dfah.demo import make_unstable_agent
from dfah_cli.canonical import digest

REPLAYS = 5
EVERYTHING = {
    "flip_rate": 0.2,
    "order_swap_rate": 0.2,
    "argument_jitter_rate": 0.15,
    "result_drift_rate": 0.15,
    "drop_rate": 0.1,
    "repeat_rate": 0.1,
}
FAILURES = {"failure_rate": 0.05, "malformed_rate": 0.05, "refusal_rate": 0.04, "tool_failure_rate": 0.05}
REASONS = {"failure": "provider_error", "malformed": "parse_failure", "refusal": "refusal", "tool": "tool_error"}


def replayed(agent: UnstableAgent, out: Path, **options: Any) -> Report:
    return Replay(suite=agent.suite, replays=REPLAYS, seed=9, out=out, **options).run(agent)


def scripts(agent: UnstableAgent) -> dict[str, list[Script]]:
    ids = [case.effective_case_id for case in agent.suite.cases]
    return {one: [agent.script(one, replay) for replay in range(REPLAYS)] for one in ids}


def share(values: Sequence[Hashable]) -> float:
    return max(Counter(values).values()) / len(values)


def names(script: Script) -> tuple[str, ...]:
    return tuple(scripted.step.tool for scripted in script.steps)


def strong(script: Script) -> tuple[Hashable, ...]:
    # The tools answer by their arguments alone, so arguments and drift are all that can differ.
    return tuple((s.step.tool, digest(s.step.arguments), s.drift) for s in script.steps)


def trouble(script: Script) -> str | None:
    if script.ending == "failure":
        return "failure"
    if any(scripted.fails for scripted in script.steps):
        return "tool"
    return None if script.ending == "answer" else script.ending


@pytest.mark.parametrize("name", ["toy-risk", "compliance-triage", "dataops-exceptions"])
def test_every_share_flag_and_kind_is_the_scripted_one(name: str, tmp_path: Path) -> None:
    agent = make_unstable_agent(name, EVERYTHING, seed=11)
    report = replayed(agent, tmp_path / "run", concurrency=4)
    planned = scripts(agent)
    assert {case.case_id for case in report.case_reports} == set(planned)
    for case in report.case_reports:
        of = planned[case.case_id]
        paths = [names(script) for script in of]
        expected = {
            "seq": share(paths),
            "bag": share([tuple(sorted(path)) for path in paths]),
            "set": share([frozenset(path) for path in paths]),
            "strong": share([strong(script) for script in of]),
        }
        assert case.dar == pytest.approx(share([script.label for script in of]), abs=1e-12)
        assert {mode: getattr(case.tar, mode) for mode in expected} == pytest.approx(expected, abs=1e-12)
        kinds = (("tool_set", "set"), ("multiplicity", "bag"), ("order_only", "seq"), ("argument_or_result", "strong"))
        kind = next((kind for kind, mode in kinds if expected[mode] < 1), "none")
        assert case.path_variation_kind == kind
        assert case.unanimous_with_path_change is (case.dar == 1.0 and expected["strong"] < 1)


def test_failed_replays_take_their_group_out_for_the_scripted_reasons(tmp_path: Path) -> None:
    agent = make_unstable_agent("compliance-triage", FAILURES, seed=2)
    report = replayed(agent, tmp_path / "run", concurrency=4)
    problems = {one: {trouble(script) for script in of} - {None} for one, of in scripts(agent).items()}
    lost = {one: found for one, found in problems.items() if found}
    assert 0 < len(lost) < len(problems)
    assert report.ineligible_groups == len(lost)
    assert report.observed_groups == len(problems) - len(lost)
    expected = Counter(f"terminal_status_{REASONS[what]}" for found in lost.values() for what in found if what)
    counted = {reason.reason: reason.groups for reason in report.ineligibility_reasons}
    assert {reason: counted[reason] for reason in counted if reason.startswith("terminal_status")} == expected
    assert report.episodes_completed == report.episodes_planned


def test_order_and_concurrency_change_nothing(tmp_path: Path) -> None:
    agent = make_unstable_agent("dataops-exceptions", EVERYTHING, seed=4, latency_ms=1)
    one, other = (replayed(agent, tmp_path / f"c{number}", concurrency=number) for number in (1, 16))
    assert one.case_reports == other.case_reports
    assert one.run_plan_sha256 == other.run_plan_sha256


def test_a_cost_is_counted_for_every_episode(tmp_path: Path) -> None:
    report = replayed(make_unstable_agent("toy-risk", cost_usd=0.25), tmp_path / "run")
    assert report.total_cost_usd == 0.25 * 2 * REPLAYS
