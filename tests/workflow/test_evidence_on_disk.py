"""What a run leaves on disk, and what a report without it is worth."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dfah import Gate, GatePolicy, Report
from dfah_cli.errors import ArtifactError, ConfigurationError, GateViolationError, StaleLeaseError
from dfah_cli.report.record import DetachedReport
from dfah_cli.workflow.analyze import analyze, open_run
from dfah_cli.workflow.verification import verify_run
from tests.builders import ROOT, STEADY, a_scripted_agent, replayed

KILLED = """
import os, signal, sys
from tests.builders import a_scripted_agent, replayed

def script(case, context):
    if len(agent.calls) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return agent.result(context)

agent = a_scripted_agent({"A": [script], "B": [script]})
replayed(agent, sys.argv[1])
"""


def test_the_intent_is_durable_before_the_adapter_is_called(out: Path) -> None:
    seen: list[bytes] = []

    def script(case: Any, context: Any) -> Any:
        seen.append(b"".join(place.read_bytes() for place in sorted((out / "segments").iterdir())))
        assert context.idempotency_key.encode() in seen[-1]
        return agent.result(context)

    agent = a_scripted_agent({"A": [script]})
    assert replayed(agent, out).status == "complete"
    assert [log.count(b'"t":"dispatching"') for log in seen] == [1, 2, 3]
    assert [log.count(b'"t":"episode"') for log in seen] == [0, 1, 2]


def test_a_finished_run_has_digests_a_seal_and_a_commit_marker_for_every_batch(out: Path) -> None:
    replayed(a_scripted_agent(), out)
    sums = dict(reversed(line.split("  ")) for line in (out / "SHA256SUMS").read_text().splitlines())
    assert {"plan.json", "manifest.json"} <= set(sums)
    for name, digest in sums.items():
        assert hashlib.sha256((out / name).read_bytes()).hexdigest() == digest, name
    assert json.loads((out / "seal.json").read_text())["episodes"] == 6
    lines = [line for place in sorted((out / "segments").iterdir()) for line in place.read_bytes().split(b"\n")]
    assert sum(b'"t":"commit"' in line for line in lines) >= 6
    records = [line for line in lines if line.startswith(b'{"h":"')]
    for line in records:
        assert hashlib.sha256(line[76:-1]).hexdigest().encode() == line[6:70]


def test_the_log_only_grows(out: Path) -> None:
    budget = {"estimated_max_episode_cost_usd": 0.1}
    agent = a_scripted_agent(cost_usd=0.1)
    replayed(agent, out, budget_usd=0.3, **budget)
    before = {place.name: place.read_bytes() for place in (out / "segments").iterdir()}
    replayed(agent, out, budget_usd=3, **budget)
    for name, content in before.items():
        assert (out / "segments" / name).read_bytes().startswith(content)


def test_a_process_that_dies_leaves_a_lease_that_only_the_explicit_word_displaces(out: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(out)], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    lease = (out / "lease.json").read_bytes()
    agent = a_scripted_agent()
    with pytest.raises(StaleLeaseError):
        replayed(agent, out)
    assert agent.calls == []
    assert (out / "lease.json").read_bytes() == lease
    report = replayed(agent, out, recover_stale_lease=True)
    assert len(agent.calls) == 3
    assert report.episodes_completed == 6
    assert [place.read_bytes() for place in (out / "leases").iterdir()] == [lease]
    assert not (out / "lease.json").exists()


@pytest.fixture
def detached(out: Path, tmp_path: Path) -> Path:
    """A report file away from its run directory."""
    place = tmp_path / "copy.json"
    replayed(a_scripted_agent(), out).to_json(place)
    return place


def test_what_has_nothing_of_a_run_is_no_damaged_run(out: Path, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir(mode=0o700)
    for ask in (analyze, open_run, verify_run):
        with pytest.raises(ConfigurationError, match="notes: not a run directory; list runs with: dfah ls"):
            ask(tmp_path / "notes")
    replayed(a_scripted_agent({"A": [STEADY]}), out)
    (out / "plan.json").unlink()
    with pytest.raises(ArtifactError, match=r"plan\.json is missing"):
        open_run(out)
    assert verify_run(out).exit_code == 3


def test_a_detached_report_needs_the_explicit_word_and_is_another_class(detached: Path) -> None:
    with pytest.raises(ArtifactError, match="allow_unverified"):
        Report.from_json(detached)
    report = Report.from_json(detached, allow_unverified=True)
    assert isinstance(report, DetachedReport)
    assert not isinstance(report, Report)
    assert not report.artifacts_verified


def test_a_detached_report_fails_a_gate_by_default(detached: Path) -> None:
    report = Report.from_json(detached, allow_unverified=True)
    result = Gate(GatePolicy(min_dar=0.5)).evaluate(report)
    assert [check.name for check in result.failures] == ["artifact_verification"]
    with pytest.raises(GateViolationError):
        result.raise_for_failures()
    assert Gate(GatePolicy(min_dar=0.5, require_artifact_verification=False)).evaluate(report).passed


def test_a_run_directory_gives_the_verified_report(out: Path, detached: Path) -> None:
    report = Report.from_json(out)
    assert isinstance(report, Report)
    assert Gate(GatePolicy(min_dar=1.0)).evaluate(report).passed
    loose = Report.from_json(detached, allow_unverified=True)
    assert loose.verify_artifacts(out) == report


@pytest.mark.parametrize("change", [{"dar": 0.5}, {"status": "partial"}, {"flagged_groups": 1}, {"created_at": None}])
def test_no_field_of_a_report_file_can_be_edited(detached: Path, change: dict[str, Any]) -> None:
    said = json.loads(detached.read_text())
    detached.write_text(json.dumps({**said, **change}))
    with pytest.raises(ArtifactError):
        Report.from_json(detached, allow_unverified=True)


def test_the_commitment_covers_the_episode_set_whatever_its_order(out: Path, tmp_path: Path) -> None:
    paths = {"A": [STEADY], "B": [("Y", "T"), ("N", "T")]}
    one = replayed(a_scripted_agent(paths), out)
    other = replayed(a_scripted_agent(paths), tmp_path / "other", concurrency=6)
    changed = replayed(a_scripted_agent({"A": [STEADY], "B": [("Y", "T")]}), tmp_path / "third")
    assert one.commitment == other.commitment != changed.commitment
    assert analyze(out).verified.commitment == one.commitment


@pytest.fixture
def unavailable(out: Path) -> Report:
    """A report without any eligible group."""
    return replayed(a_scripted_agent({"PRIVATE-1": [("maybe", "T")], "PRIVATE-2": [("maybe", "")]}), out)


def test_unavailable_metrics_are_none_null_and_a_dash(unavailable: Report, out: Path) -> None:
    from dfah.report import format_metric, render_html, render_markdown

    for name in ("dar", "tar", "gap", "flags_per_100_cases", "sequence_flags_per_100_cases",
                 "unanimous_with_path_change_rate"):  # fmt: skip
        assert getattr(unavailable, name) is None
    said = json.loads(unavailable.to_json())
    assert (said["dar"], said["tar"], said["gap"]) == (None, None, None)
    assert format_metric(None) == "—"
    assert "—" in render_markdown(unavailable)
    assert "—" in render_html(unavailable)
    done = subprocess.run([sys.executable, "-m", "dfah_cli.cli.main", "analyze", str(out)], cwd=ROOT, text=True,
                          capture_output=True, env={"PYTHONUTF8": "1", "PATH": ""}, check=False)  # fmt: skip
    assert done.returncode == 4
    assert "—" in done.stdout


def test_a_measured_zero_gap_is_a_zero(out: Path) -> None:
    report = replayed(a_scripted_agent(), out)
    assert (report.gap, report.flags_per_100_cases) == (0.0, 0.0)
    assert json.loads(report.to_json())["gap"] == 0.0


def test_reasons_count_affected_groups_and_name_no_case(unavailable: Report) -> None:
    assert unavailable.ineligible_groups == 2
    reasons = {one.reason: one.groups for one in unavailable.ineligibility_reasons}
    assert reasons == {"decision_missing_or_invalid": 2, "terminal_status_parse_failure": 2}
    assert not any("PRIVATE" in reason or "replay" in reason for reason in reasons)
