"""A project folder to compose in."""

from __future__ import annotations

from pathlib import Path

import pytest

SUITE = """\
suite_id: acme-kyc
suite_version: 1.0.0
decisions: [escalate, dismiss]
cases:
  - {case_id: RISK-001, artifact_case_id: CASE-001, input: {risk_tier: high}}
  - {case_id: RISK-002, artifact_case_id: CASE-002, input: {risk_tier: low}}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project with one suite and one gate of its own, as the current directory."""
    (tmp_path / "suites").mkdir()
    (tmp_path / "suites" / "acme-kyc.yaml").write_text(SUITE)
    for group in ("gate", "manifest", "replay"):
        (tmp_path / "configs" / group).mkdir(parents=True)
    (tmp_path / "configs" / "gate" / "acme.yaml").write_text("min_dar: 0.95\n")
    (tmp_path / "configs" / "adapters.yaml").write_text("acme-kyc: acme.agents:triage\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path
