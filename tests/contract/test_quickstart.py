"""The first page a user reads, taken literally: its commands and its program run as they stand there."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from dfah.demo import toy_agent, toy_suite
from dfah_cli.workflow.analyze import analyze, episodes
from tests.builders import ROOT, shared
from tests.contract.statements import commands, program

TYPED = (
    "dfah check-agent --agent dfah.demo:toy_agent --episode-timeout-s 5",
    "dfah run --agent dfah.demo:toy_agent --replays 3 --episode-timeout-s 5 --out .dfah/runs/quickstart",
    "dfah analyze .dfah/runs/quickstart --report .dfah/runs/quickstart/report.html",
)
PREFLIGHT = """
from dfah.testing import check_agent

conformance = check_agent(
    my_agent,
    max_cases=2,  # at most four agent calls: two cases x two replays
    budget_usd=0.20,
    estimated_max_episode_cost_usd=0.05,
    episode_timeout_s=30.0,
    raise_on_error=True,
)
"""
TOLD = """
import json
print(json.dumps({
    "dar": report.dar, "seq": report.tar.seq, "strong": report.tar.strong, "gap": report.gap,
    "flags": report.flags_per_100_cases, "status": report.status, "passed": conformance.passed,
    "planned": conformance.episodes_planned, "cases": conformance.cases_selected,
    "ceiling": conformance.estimated_cost_ceiling_usd, "fixture": suite.fixture_hash,
}))
"""


def page() -> str:
    return shared("spec", "quickstart.txt").read_text()


def run(command: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("DFAH_", "CI", "GITHUB_"))}
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, env=clean, check=False)


def dfah(arguments: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    return run([sys.executable, "-m", "dfah_cli.cli.main", *arguments], cwd)


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[subprocess.CompletedProcess[str]]]:
    """A directory in which the commands of the page were typed one after the other."""
    place = tmp_path_factory.mktemp("quickstart")
    return place, [dfah(line.split()[1:], place) for line in TYPED]


def test_the_commands_of_the_page_are_the_ones_tested_here() -> None:
    assert commands(page()) == [line.split() for line in TYPED]


def test_the_commands_of_the_page_work_without_network_or_key(walked: Any) -> None:
    place, done = walked
    assert [one.returncode for one in done] == [0, 0, 0], [one.stderr for one in done]
    report = (place / ".dfah" / "runs" / "quickstart" / "report.html").read_text()
    assert "<html" in report
    assert "toy-risk" in report
    assert "http://" not in report.replace("http://www.w3.org", "")


def test_the_run_of_the_page_is_complete_and_steady(walked: Any) -> None:
    place, _ = walked
    report = analyze(place / ".dfah" / "runs" / "quickstart").report
    assert (report.status, report.dar, report.gap, report.episodes_completed) == ("complete", 1.0, 0.0, 6)
    assert report.tar is not None
    assert (report.tar.seq, report.tar.strong, report.flags_per_100_cases) == (1.0, 1.0, 0.0)


def test_the_report_file_beside_the_evidence_breaks_nothing(walked: Any) -> None:
    place, _ = walked
    again = dfah(["run", "--agent", "dfah.demo:toy_agent", "--replays", "3", "--episode-timeout-s", "5", "--out",
                  ".dfah/runs/quickstart"], place)  # fmt: skip
    assert again.returncode == 0, again.stderr


def test_the_program_of_the_page_runs_as_it_stands_there(tmp_path: Path) -> None:
    (tmp_path / "my_project.py").write_text(program(page()) + PREFLIGHT + TOLD)
    done = run([sys.executable, "my_project.py"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "dar": 1.0, "seq": 1.0, "strong": 1.0, "gap": 0.0, "flags": 0.0, "status": "complete", "passed": True,
        "planned": 4, "cases": 2, "ceiling": 0.2, "fixture": toy_suite.fixture_hash,
    }  # fmt: skip
    place = tmp_path / ".dfah" / "runs" / "toy-risk"
    assert {e.decision.label for e in episodes(place) if e.decision} == {"escalate", "dismiss"}
    assert {e.case_id for e in episodes(place)} == {"CASE-001", "CASE-002"}


def test_the_preflight_of_the_page_is_the_one_tested_here() -> None:
    lines = [line.strip() for line in page().splitlines()]
    for line in PREFLIGHT.strip().splitlines():
        assert not line or line.strip().removeprefix("conformance = ") in lines


def test_the_example_of_the_project_is_the_demo_and_runs(tmp_path: Path) -> None:
    example = ROOT / "examples" / "dfah_quickstart.py"
    done = run([sys.executable, str(example)], tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_demo_builds_the_public_contract() -> None:
    import dfah

    assert isinstance(toy_suite, dfah.Suite)
    assert isinstance(toy_agent, dfah.CallableAgent)
    assert isinstance(toy_agent.manifest, dfah.Manifest)
    assert isinstance(toy_agent.tools, dfah.ToolRegistry)
    assert (toy_suite.suite_id, toy_suite.suite_version) == ("toy-risk", "1.0.0")
    for name in ("AgentResult", "WireRequest", "Replay"):
        assert hasattr(dfah, name)


def test_the_distribution_installs_the_command_of_the_page() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    module, _, name = project["scripts"]["dfah"].partition(":")
    assert callable(getattr(importlib.import_module(module), name))
    assert project["name"] == "dfah-cli"
