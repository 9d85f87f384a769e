"""The CI templates load, their shell is well-formed, and their steps run as far as they can without a CI server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.command import ROOT, environment

CI = ROOT / "examples" / "ci"
ACTION = CI / "github" / "action.yml"
WORKFLOW = CI / "github" / "workflow.yml"
GITLAB = CI / "gitlab" / ".gitlab-ci.yml"
MAKEFILE = CI / "make" / "Makefile"

# The part of `gh api` that the action uses, over comments in a file; the filter itself is that of the template.
GH = """
import json, os, pathlib, sys
place = pathlib.Path(os.environ["GH_COMMENTS"])
comments = json.loads(place.read_text())
words = sys.argv[1:]
assert words.pop(0) == "api" and os.environ["GH_TOKEN"] == "the-token"
if "--paginate" in words:
    path, query = words[words.index("--paginate") + 1], words[words.index("--jq") + 1]
    assert query == ".[] | select(.body | startswith(env.MARKER)) | .id"
    assert path == "repos/acme/agents/issues/7/comments"
    for comment in comments:
        if comment["body"].startswith(os.environ["MARKER"]):
            print(comment["id"])
else:
    path, field = words[words.index("--method") + 2], words[words.index("--field") + 1]
    body = pathlib.Path(field.removeprefix("body=@")).read_text()
    if words[words.index("--method") + 1] == "PATCH":
        number = int(path.removeprefix("repos/acme/agents/issues/comments/"))
        next(comment for comment in comments if comment["id"] == number)["body"] = body
    else:
        assert path == "repos/acme/agents/issues/7/comments"
        comments.append({"id": len(comments) + 1, "body": body})
    place.write_text(json.dumps(comments))
"""
CONTEXT = {
    "github.token": "the-token",
    "github.repository": "acme/agents",
    "github.event.pull_request.number": "7",
}


class Server:
    """As much of a CI server as the steps notice: a working directory, a path and some files."""

    def __init__(self, tools: Path, here: Path) -> None:
        self.here, self._tools = here, tools
        self.summary, self.outputs = here / "summary.md", here / "outputs"
        self._comments = here / "comments.json"
        self._comments.write_text('[{"id": 1, "body": "looks good"}]')

    @property
    def comments(self) -> list[dict[str, Any]]:
        """The comments of the pull request."""
        found: list[dict[str, Any]] = json.loads(self._comments.read_text())
        return found

    def run(self, script: str, **env: str) -> subprocess.CompletedProcess[str]:
        """A shell step as GitHub runs it."""
        path = f"{self._tools}{os.pathsep}{os.environ['PATH']}"
        told = {"GITHUB_STEP_SUMMARY": str(self.summary), "GITHUB_OUTPUT": str(self.outputs)}
        named = told | {"GH_COMMENTS": str(self._comments), "PATH": path, "CI": "true"} | env
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=self.here, env=environment(**named), capture_output=True, text=True,
        )  # fmt: skip

    def action(self, *leave_out: str, **given: str) -> dict[str, int]:
        """Exit codes of the action's steps by name."""
        action = yaml.safe_load(ACTION.read_text())
        inputs = {name: str(told.get("default", "")) for name, told in action["inputs"].items()} | given
        values = {f"inputs.{name}": value for name, value in inputs.items()} | CONTEXT
        return {
            step["name"]: self.run(
                step["run"], **{name: filled(value, values) for name, value in step["env"].items()}
            ).returncode
            for step in action["runs"]["steps"]
            if step["name"] not in leave_out
        }


def filled(text: str, values: dict[str, str]) -> str:
    """A text with its expressions replaced; an expression may give another one."""
    for _ in range(2):
        for name, value in values.items():
            text = text.replace(f"${{{{ {name} }}}}", value)
    assert "${{" not in text
    return text


@pytest.fixture
def server(tmp_path: Path) -> Server:
    tools, here = tmp_path / "bin", tmp_path / "work"
    tools.mkdir()
    here.mkdir()
    (tools / "gh.py").write_text(GH)
    (tools / "dfah").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dfah_cli.cli.main "$@"\n')
    (tools / "gh").write_text(f'#!/bin/sh\nexec "{sys.executable}" "{tools}/gh.py" "$@"\n')
    (tools / "python").write_text("#!/bin/sh\nexit 0\n")
    for tool in tools.iterdir():
        tool.chmod(0o755)
    return Server(tools, here)


def scripts() -> Iterator[tuple[str, str]]:
    """Every shell script of the templates."""
    for step in yaml.safe_load(ACTION.read_text())["runs"]["steps"]:
        yield f"action: {step['name']}", step["run"]
    for job in yaml.safe_load(WORKFLOW.read_text())["jobs"].values():
        yield from ((f"workflow: {step['run']}", step["run"]) for step in job["steps"] if "run" in step)
    for name, job in yaml.safe_load(GITLAB.read_text()).items():
        yield f"gitlab: {name}", "\n".join([*job.get("before_script", ()), *job["script"]])


@pytest.mark.parametrize(("name", "script"), list(scripts()), ids=lambda value: value[:40])
def test_every_script_is_well_formed_and_takes_inputs_from_its_environment_only(name: str, script: str) -> None:
    done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    # An expression inside a script would be pasted into it before the shell reads it.
    assert "${{" not in script


def test_every_step_of_the_action_names_its_shell() -> None:
    action = yaml.safe_load(ACTION.read_text())
    assert {step["shell"] for step in action["runs"]["steps"]} == {"bash"}
    assert action["runs"]["using"] == "composite"
    for told in action["inputs"].values():
        assert told["description"]


def test_the_action_passes_a_stable_agent(server: Server) -> None:
    assert server.action("Comment", agent="dfah.demo:toy_agent") == {"Replay": 0, "Report": 0, "Gate": 0}
    assert (server.here / "dfah-report.html").read_text().startswith("<!doctype html>")
    assert "<testsuites" in (server.here / "dfah-results.xml").read_text()
    assert "| DAR | 1.000 |" in server.summary.read_text()
    assert server.outputs.read_text() == "exit-code=0\n"


def test_the_action_stops_an_unstable_agent_at_its_gate(server: Server) -> None:
    codes = server.action("Comment", agent="dfah.demo:unstable_toy_agent", replays="8", policy="strict")
    assert codes == {"Replay": 0, "Report": 0, "Gate": 1}
    assert server.outputs.read_text() == "exit-code=1\n"


def test_the_comment_is_written_once_and_replaced_by_the_next_run(server: Server) -> None:
    assert server.action(agent="dfah.demo:toy_agent")["Comment"] == 0
    first = server.comments
    assert [comment["id"] for comment in first] == [1, 2]
    assert first[1]["body"].startswith("<!-- dfah-report:toy-risk -->\n")
    unstable = {"agent": "dfah.demo:unstable_toy_agent", "replays": "8", "out": "runs/2", "policy": "strict"}
    assert server.action(**unstable)["Comment"] == 0
    second = server.comments
    assert [comment["id"] for comment in second] == [1, 2]
    assert second[0] == first[0]
    assert second[1]["body"] != first[1]["body"]
    assert "fail" in second[1]["body"]


def test_without_a_report_nothing_is_commented(server: Server) -> None:
    codes = server.action(agent="nowhere:agent")
    assert codes == {"Replay": 2, "Report": 1, "Comment": 0, "Gate": 2}
    assert len(server.comments) == 1


def test_the_gitlab_job_runs(server: Server) -> None:
    job = yaml.safe_load(GITLAB.read_text())["repeatability"]
    done = server.run("\n".join([*job["before_script"], *job["script"]]), **job["variables"])
    assert done.returncode == 0, done.stderr
    assert (server.here / job["artifacts"]["reports"]["junit"]).exists()
    assert set(job["artifacts"]["paths"]) == {".dfah/runs/ci", "dfah-report.html"}


def test_the_gitlab_job_reports_a_run_that_is_not_complete_and_then_fails(server: Server) -> None:
    job = yaml.safe_load(GITLAB.read_text())["repeatability"]
    (server.here / "broken.py").write_text(
        "from dfah import agent\nfrom dfah.demo import toy_agent, toy_suite\n"
        "@agent(manifest=toy_agent.manifest, tools=toy_agent.tools, suite=toy_suite)\n"
        "async def broken(case, context):\n    raise ValueError\n"
    )
    done = server.run("\n".join(job["script"]), **(job["variables"] | {"DFAH_AGENT": "broken:broken"}))
    assert done.returncode == 4, done.stderr
    assert "<error " in (server.here / "dfah-results.xml").read_text()


def test_the_workflow_uses_the_action_with_inputs_it_has() -> None:
    workflow = yaml.safe_load(WORKFLOW.read_text())
    inputs = yaml.safe_load(ACTION.read_text())["inputs"]
    (step,) = [s for s in workflow["jobs"]["replay"]["steps"] if str(s.get("uses", "")).startswith("./")]
    assert step["with"].keys() <= inputs.keys()
    assert workflow["permissions"] == {"contents": "read", "pull-requests": "write"}


@pytest.mark.skipif(shutil.which("make") is None, reason="no make; run: apt-get install make")
def test_the_make_targets_run(server: Server) -> None:
    def make(target: str, *more: str) -> int:
        return server.run(f"make -f '{MAKEFILE}' {target} {' '.join(more)}").returncode

    assert make("repeatability-plan") == 0
    assert not (server.here / ".dfah").exists()
    assert make("repeatability") == 0
    assert (server.here / "dfah-results.xml").exists()
    # Make turns every failure into 2.
    assert make("repeatability", "AGENT=dfah.demo:unstable_toy_agent", "REPLAYS=8", "POLICY=strict", "RUN=runs/u") == 2
