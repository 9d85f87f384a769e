from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from dfah import Replay
from dfah.demo import toy_agent, unstable_agent
from dfah_cli.gate.evaluate import Verdict
from dfah_cli.records.enums import ReportStatus
from dfah_cli.records.policy import GatePolicy
from dfah_cli.workflow.analyze import analyze
from dfah_cli.workflow.recording import Recorded


def recorded(out: Path, policy: GatePolicy, **differences: object) -> Recorded:
    suite = unstable_agent.suite
    assert suite is not None
    replay = Replay(suite=suite, out=out, gate=policy, schedule="blocks", **differences)  # type: ignore[arg-type]
    return replay.record(unstable_agent)


def test_a_run_ends_when_its_gate_cannot_pass_any_more(tmp_path: Path) -> None:
    policy = GatePolicy(max_flags_per_100_cases=5, stop="when-settled")
    found = recorded(tmp_path / "run", policy)
    assert found.gate_result is not None
    assert (found.tally.stop_reason, found.gate_result.verdict) == ("settled", Verdict.FAIL)
    assert found.tally.calls < found.report.episodes_planned
    whole = recorded(tmp_path / "whole", attrs.evolve(policy, stop="never"))
    assert whole.gate_result is not None
    assert whole.gate_result.verdict is Verdict.FAIL


def test_a_settled_run_is_believed_and_called_no_more(tmp_path: Path) -> None:
    policy = GatePolicy(max_flags_per_100_cases=5, stop="when-settled")
    first = recorded(tmp_path / "run", policy)
    again = recorded(tmp_path / "run", policy)
    assert (again.tally.calls, again.tally.reused) == (0, first.tally.calls)
    assert again.gate_ordinal == first.gate_ordinal
    assert analyze(tmp_path / "run").report.status is not ReportStatus.COMPLETE


def test_without_the_policy_a_run_goes_on_from_where_another_policy_ended_it(tmp_path: Path) -> None:
    recorded(tmp_path / "run", GatePolicy(max_flags_per_100_cases=5, stop="when-settled"))
    rest = recorded(tmp_path / "run", GatePolicy(max_flags_per_100_cases=5))
    assert rest.report.status is ReportStatus.COMPLETE


@pytest.mark.parametrize("workers", [1, 8])
def test_an_anytime_gate_that_cannot_pass_runs_the_whole_plan(tmp_path: Path, workers: int) -> None:
    policy = GatePolicy(max_flags_per_100_cases=5, evidence="confident", stop="anytime")
    found = recorded(tmp_path / "run", policy, concurrency=workers, limit=20)
    assert (found.tally.stop_reason, found.tally.calls) == (None, found.report.episodes_planned)
    assert found.gate_result is not None
    assert found.gate_result.verdict is Verdict.INCONCLUSIVE


def test_an_anytime_gate_ends_the_run_with_the_first_pass(tmp_path: Path) -> None:
    # A limit of 90 flags in 100 cases is excluded after a few clean cases.
    policy = GatePolicy(max_flags_per_100_cases=90, evidence="confident", stop="anytime")
    found = recorded(tmp_path / "run", policy)
    assert found.gate_result is not None
    assert (found.tally.stop_reason, found.gate_result.verdict) == ("settled", Verdict.PASS)
    assert found.tally.calls < found.report.episodes_planned
    assert len(analyze(tmp_path / "run").verified.gates) == 1


def test_a_stable_agent_is_not_stopped_by_a_gate_that_any_case_could_break(tmp_path: Path) -> None:
    suite = toy_agent.suite
    assert suite is not None
    policy = GatePolicy(max_flags_per_100_cases=0, stop="when-settled")
    found = Replay(suite=suite, out=tmp_path / "run", gate=policy).record(toy_agent)
    assert found.report.status is ReportStatus.COMPLETE
