"""Forged runs: every digest, root and seal is right, and still each claim that does not hold is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dfah_cli.canonical import canonical_bytes, parse
from dfah_cli.errors import ArtifactError, ExitCode
from dfah_cli.evidence.claims import Claim
from dfah_cli.records.policy import GatePolicy
from dfah_cli.report.file import read_report, report_text
from dfah_cli.workflow.analyze import analyze
from dfah_cli.workflow.verification import verify_run
from tests.builders import STEADY, a_scripted_agent, replayed
from tests.tamper.verify_runs import POLICY, a_finished_run, broken, forged

Body = dict[str, Any]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return a_finished_run(tmp_path_factory.mktemp("claims") / "run", {"A": [STEADY], "B": [STEADY]})


def episode(**changes: Any) -> Callable[[Body], Body]:
    return lambda body: {**body, **changes} if body["t"] == "episode" and body["i"] == 0 else body


def inside(part: str, **changes: Any) -> Callable[[Body], Body]:
    def change(body: Body) -> Body:
        return {**body, part: {**body[part], **changes}} if body["t"] == "episode" and body["i"] == 0 else body

    return change


def intent(**changes: Any) -> Callable[[Body], Body]:
    return lambda body: {**body, **changes} if body["t"] == "dispatching" and body["i"] == 1 else body


def announced(kind: str, **changes: Any) -> Callable[[Body], Body]:
    return lambda body: {**body, **changes} if body["t"] == kind else body


ALTERED_RECORDS = {
    "another task": (episode(task="other"), Claim.IDENTITY),
    "another key": (episode(k="0" * 64), Claim.IDENTITY),
    "a status nobody knows": (episode(status="fine"), Claim.METADATA),
    "no time": (episode(ended_at="yesterday"), Claim.METADATA),
    "a label outside the ontology": (episode(decision="maybe"), Claim.ONTOLOGY),
    "another decision": (episode(decision="n"), Claim.ONTOLOGY),
    "an unobserved path of a valid episode": (inside("trajectory", state="unavailable", calls=[]), Claim.TRAJECTORY),
    "another model": (inside("wire_request", model="other"), Claim.WIRE),
    "no wire echo": (episode(wire_request=None), Claim.WIRE),
    "a negative cost": (episode(cost_nusd=-1), Claim.COST),
    "another cost": (episode(cost_nusd=7), Claim.COMMITMENT),
    "a latency that is text": (episode(latency_us="fast"), Claim.LATENCY),
    "another latency": (episode(latency_us=123_456), Claim.COMMITMENT),
    "an intent of another episode": (intent(k="0" * 64), Claim.BOUNDARIES),
    "an intent with another idempotency key": (intent(idem="0" * 64), Claim.BOUNDARIES),
    "an intent that holds money back without a budget": (intent(reserved_nusd=7), Claim.BOUNDARIES),
    "an intent of another time": (intent(at="2026-01-31T09:00:00.000001Z"), Claim.BOUNDARIES),
    "another start": (episode(started_at="2026-01-31T09:00:00.000001Z"), Claim.BOUNDARIES),
    "a replay index that is true": (episode(replay_index=True), Claim.IDENTITY),
    "a path with a part nobody knows": (inside("trajectory", colour="red"), Claim.TRAJECTORY),
    "a report of other episodes": (announced("report", commitment="0" * 64), Claim.COMMITMENT),
    "a verdict turned over": (announced("gate", verdict="fail"), Claim.GATE),
    "another policy": (announced("gate", policy_sha256="0" * 64), Claim.GATE),
    "a gate on a report that is not there": (announced("gate", report=9), Claim.GATE),
}


@pytest.mark.parametrize("name", ALTERED_RECORDS)
def test_an_altered_record_with_right_digests_breaks_its_claim(finished: Path, out: Path, name: str) -> None:
    change, claim = ALTERED_RECORDS[name]
    assert claim in broken(forged(finished, out, body=change))
    assert verify_run(out).exit_code is ExitCode.BAD_EVIDENCE


def test_a_run_that_is_only_written_again_is_believed(finished: Path, out: Path) -> None:
    assert not broken(forged(finished, out))


DOLLAR = 1_000_000_000


@pytest.mark.parametrize("held", [0, DOLLAR - 1, 9 * DOLLAR + 1, True, "1", None])
def test_a_reservation_that_the_budget_does_not_give_breaks_its_claim(tmp_path: Path, held: Any) -> None:
    run = a_finished_run(tmp_path / "run", budget_usd=9.0, estimated_max_episode_cost_usd=1.0)
    assert not broken(run)
    assert Claim.BOUNDARIES in broken(forged(run, tmp_path / "forged", body=intent(reserved_nusd=held)))


def test_a_successor_has_idempotency_keys_of_its_lineage(tmp_path: Path) -> None:
    lineage = {"run_plan_sha256": "1" * 64, "commitment": "2" * 64}
    run = a_finished_run(tmp_path / "run", provenance={"parent": lineage})
    assert not broken(run)
    orphaned = announced("session", provenance='{"budget_nusd":null,"estimate_nusd":0}')
    assert broken(forged(run, tmp_path / "forged", body=orphaned)) == {Claim.BOUNDARIES}


def restated(**changes: Any) -> Callable[[str, bytes], bytes]:
    """A report with other columns whose own digest is right."""

    def change(kind: str, payload: bytes) -> bytes:
        if kind != "report":
            return payload
        columns = read_report(parse(payload), "report")
        from attrs import evolve

        return report_text(evolve(columns, **changes)).encode()

    return change


@pytest.mark.parametrize(
    ("changes", "claim"),
    [
        ({"flagged_groups": 1}, Claim.METRICS),
        ({"observed_groups": 3}, Claim.METRICS),
        ({"total_cost_nusd": 1}, Claim.COST),
        ({"total_latency_us": 1}, Claim.LATENCY),
        ({"commitment": "0" * 64}, Claim.COMMITMENT),
        ({"run_plan_sha256": "0" * 64}, Claim.RUN_PLAN),
        ({"suite_cases_total": 9}, Claim.REPORT),
    ],
)
def test_a_report_that_says_something_else_breaks_the_claim_it_is_about(
    finished: Path, out: Path, changes: dict[str, Any], claim: Claim
) -> None:
    found = broken(forged(finished, out, payload=restated(**changes)))
    assert {claim, Claim.REPORT} <= found


def test_a_gate_record_is_evaluated_again(finished: Path, out: Path) -> None:
    def easier(kind: str, payload: bytes) -> bytes:
        if kind != "gate":
            return payload
        record = parse(payload)
        record["result"]["checks"][1]["observed"] = 0.99
        return canonical_bytes(record)

    assert broken(forged(finished, out, payload=easier)) == {Claim.GATE}


@pytest.mark.parametrize(
    ("name", "claim"),
    [("plan.json", Claim.RUN_PLAN), ("manifest.json", Claim.MANIFEST), ("reports/1.json", Claim.REPORT),
     ("gates/1.json", Claim.GATE), ("segments/00000000.jsonl", Claim.LOG), ("segments/00000001.jsonl", Claim.SUMS),
     ("seal.json", Claim.SUMS), ("head", Claim.HEAD)],
)  # fmt: skip
def test_a_missing_file_of_a_finished_run_is_named(tmp_path: Path, name: str, claim: Claim) -> None:
    run = a_finished_run(tmp_path / "run")
    (run / name).unlink()
    assert claim in broken(run)


def test_a_foreign_segment_behind_the_sealed_ones_is_refused(tmp_path: Path) -> None:
    run = a_finished_run(tmp_path / "run")
    (run / "segments" / "00000002.jsonl").write_bytes((run / "segments" / "00000001.jsonl").read_bytes())
    assert Claim.LOG in broken(run)


def test_an_altered_earlier_report_stops_a_resume_before_any_call(tmp_path: Path) -> None:
    agent = a_scripted_agent({"A": [STEADY], "B": [STEADY]}, cost_usd=1.0)
    few = {"budget_usd": 2.0, "estimated_max_episode_cost_usd": 1.0, "replays": 3, "gate": POLICY}
    replayed(agent, tmp_path / "run", **few)
    calls = len(agent.calls)
    assert 0 < calls < 6
    for part in ("reports", "gates"):
        file = tmp_path / "run" / part / "1.json"
        before = file.read_bytes()
        file.write_bytes(before.replace(b"shadow", b"Shadow"))
        with pytest.raises(ArtifactError, match=f"{part}/1.json"):
            replayed(agent, tmp_path / "run", **{**few, "budget_usd": 9.0})
        file.write_bytes(before)
    assert len(agent.calls) == calls
    assert replayed(agent, tmp_path / "run", **{**few, "budget_usd": 9.0}).episodes_completed == 6


def test_a_forged_earlier_report_stops_a_resume_before_any_call(tmp_path: Path) -> None:
    agent = a_scripted_agent({"A": [STEADY], "B": [STEADY]}, cost_usd=1.0)
    few = {"budget_usd": 2.0, "estimated_max_episode_cost_usd": 1.0, "replays": 3}
    replayed(agent, tmp_path / "run", **few)
    calls = len(agent.calls)
    forged(tmp_path / "run", tmp_path / "forged", payload=restated(total_latency_us=1))
    with pytest.raises(ArtifactError, match="latency"):
        replayed(agent, tmp_path / "forged", **{**few, "budget_usd": 9.0})
    assert len(agent.calls) == calls


def test_a_report_of_a_finished_run_is_never_replaced_by_a_better_one(finished: Path, out: Path) -> None:
    forged(finished, out, payload=restated(flagged_groups=1))
    agent = a_scripted_agent({"A": [STEADY], "B": [STEADY]})
    with pytest.raises(ArtifactError, match="case metrics"):
        replayed(agent, out, replays=2, gate=POLICY)
    with pytest.raises(ArtifactError, match="case metrics"):
        analyze(out)
    assert not (out / "reports" / "2.json").exists()


def test_every_earlier_report_is_stated_again_from_what_was_recorded_then(tmp_path: Path) -> None:
    agent = a_scripted_agent({"A": [STEADY], "B": [STEADY]}, cost_usd=1.0)
    few = {"estimated_max_episode_cost_usd": 1.0, "replays": 3, "gate": POLICY}
    for budget in (2.0, 4.0, 9.0):
        replayed(agent, tmp_path / "run", budget_usd=budget, **few)
    assert sorted(file.name for file in (tmp_path / "run" / "reports").iterdir()) == ["1.json", "2.json", "3.json"]
    assert not broken(tmp_path / "run")
    forged(tmp_path / "run", tmp_path / "forged", payload=_second_report_cheaper())
    assert Claim.COST in broken(tmp_path / "forged")


def _second_report_cheaper() -> Callable[[str, bytes], bytes]:
    seen = []

    def change(kind: str, payload: bytes) -> bytes:
        seen.append(kind)
        return restated(total_cost_nusd=1)(kind, payload) if kind == "report" and seen.count(kind) == 2 else payload

    return change


def test_a_later_gate_record_can_be_taken_away_unseen_as_the_limits_say(tmp_path: Path) -> None:
    run, agent = a_finished_run(tmp_path / "run"), a_scripted_agent({"A": [STEADY]})
    replayed(agent, run, replays=2, gate=GatePolicy(min_dar=0.5))
    last, sums = max((run / "segments").iterdir()), run / "SHA256SUMS"
    assert not agent.calls
    assert b'"t":"gate"' in last.read_bytes()
    last.unlink()
    (run / "gates" / "2.json").unlink()
    kept = [line for line in sums.read_text().splitlines(True) if last.name not in line and "gates/2" not in line]
    sums.write_text("".join(kept))
    assert not broken(run)
