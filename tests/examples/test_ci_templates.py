"""The shell steps of the CI templates, run as far as a machine without a CI server can."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.command import ROOT, environment

CI = ROOT / "examples" / "ci"


@pytest.fixture
def shell(tmp_path: Path) -> Any:
    """Runs a shell step with `dfah` on the path and nothing to install."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "dfah").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dfah_cli.cli.main "$@"\n')
    (tools / "python").write_text("#!/bin/sh\nexit 0\n")
    for tool in tools.iterdir():
        tool.chmod(0o755)
    here = tmp_path / "work"
    here.mkdir()

    def run(script: str, **env: str) -> subprocess.CompletedProcess[str]:
        path = f"{tools}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", script],
            cwd=here, env=environment(PATH=path, CI="true", **env), capture_output=True, text=True,
        )  # fmt: skip

    run.here = here  # type: ignore[attr-defined]
    return run


def filled(value: str, inputs: dict[str, str]) -> str:
    for name, given in inputs.items():
        value = value.replace(f"${{{{ inputs.{name} }}}}", given)
    return value


def steps_of_the_action(shell: Any, **given: str) -> list[int]:
    action = yaml.safe_load((CI / "github" / "action.yml").read_text())
    inputs = {name: str(told.get("default", "")) for name, told in action["inputs"].items()} | given
    summary = shell.here / "summary.md"
    codes = []
    for step in action["runs"]["steps"]:
        env = {name: filled(value, inputs) for name, value in step["env"].items()}
        codes.append(shell(step["run"], GITHUB_STEP_SUMMARY=str(summary), **env).returncode)
    return codes


def test_the_action_passes_a_stable_agent(shell: Any) -> None:
    assert steps_of_the_action(shell, agent="dfah.demo:toy_agent") == [0, 0, 0]
    assert (shell.here / "dfah-report.html").read_text().startswith("<!doctype html>")
    assert "<testsuites" in (shell.here / "dfah-results.xml").read_text()
    assert "| DAR | 1.000 |" in (shell.here / "summary.md").read_text()


def test_the_action_stops_an_unstable_agent_at_its_gate(shell: Any) -> None:
    codes = steps_of_the_action(shell, agent="dfah.demo:unstable_toy_agent", replays="8", policy="strict")
    assert codes == [0, 0, 1]


def test_the_gitlab_job_runs(shell: Any) -> None:
    job = yaml.safe_load((CI / "gitlab" / ".gitlab-ci.yml").read_text())["repeatability"]
    done = shell("\n".join([*job["before_script"], *job["script"]]), **job["variables"])
    assert done.returncode == 0, done.stderr
    assert (shell.here / job["artifacts"]["reports"]["junit"]).exists()


def test_the_workflow_uses_the_action_with_inputs_it_has() -> None:
    workflow = yaml.safe_load((CI / "github" / "workflow.yml").read_text())
    inputs = yaml.safe_load((CI / "github" / "action.yml").read_text())["inputs"]
    (step,) = [s for s in workflow["jobs"]["replay"]["steps"] if str(s.get("uses", "")).startswith("./")]
    assert step["with"].keys() <= inputs.keys()
