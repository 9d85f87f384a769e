"""The plugin in a real pytest."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.command import AGENTS, dfah, environment, forked

PLUGIN = "dfah_cli.integrations.pytest_plugin"
# Where the package is installed its entry point loads the plugin, and pytest refuses it a second time.
QUIET = ("-p", "no:cacheprovider", "-q")
LOADED = () if any(found.name == "dfah" for found in entry_points(group="pytest11")) else ("-p", PLUGIN)
TEST_FILE = """
import pytest
from dfah import GatePolicy

@pytest.mark.dfah
def test_gate(dfah_report, dfah_gate):
    assert dfah_report.status == "complete"
    assert dfah_gate().passed
    assert not dfah_gate(GatePolicy(required_replays=9)).passed

def test_other():
    pass
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("runs")
    assert dfah("run", "--agent", "dfah.demo:toy_agent", "--out", "stable", cwd=place).returncode == 0
    unstable = ("--agent", "dfah.demo:unstable_toy_agent", "--replays", "8", "--out", "unstable")
    assert dfah("run", *unstable, cwd=place).returncode == 0
    (place / "adapters.py").write_text(AGENTS)
    partial = ("--agent", "adapters:first_case_only", "--out", "partial")
    assert dfah("run", *partial, cwd=place).returncode == 4
    (place / "strict.yaml").write_text("max_flags_per_100_cases: 0\nmin_dar: 1.0\nmin_tar_seq: 1.0\n")
    (place / "broken.yaml").write_text("min_darr: 1\n")
    return place


def spawned(place: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """A pytest as a shell starts it."""
    (place / "test_mine.py").write_text(TEST_FILE)
    return subprocess.run(
        [sys.executable, "-m", "pytest", *LOADED, *QUIET, *map(str, arguments)],
        cwd=place, env=environment(), capture_output=True, text=True,
    )  # fmt: skip


def run(place: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """A pytest in a fork of this one, which saves starting Python."""
    (place / "test_mine.py").write_text(TEST_FILE)
    return forked([*LOADED, *QUIET, *map(str, arguments)], place, lambda words: int(pytest.main(words)))


def test_without_options_the_fixtures_skip_and_nothing_is_loaded(tmp_path: Path) -> None:
    done = spawned(tmp_path)
    assert (done.returncode, "1 passed, 1 skipped" in done.stdout) == (0, True)


def test_a_passing_run_gives_fixtures_that_work(runs: Path, tmp_path: Path) -> None:
    done = spawned(tmp_path, "--dfah-report", runs / "stable", "--dfah-policy", runs / "strict.yaml")
    assert (done.returncode, "2 passed" in done.stdout) == (0, True)


def test_a_failing_gate_ends_the_session_before_collection(runs: Path, tmp_path: Path) -> None:
    done = run(tmp_path, "--dfah-report", runs / "unstable", "--dfah-policy", runs / "strict.yaml")
    assert done.returncode == 1
    assert "the gate does not pass" in done.stdout + done.stderr
    assert "passed" not in done.stdout


@pytest.mark.parametrize("policy", ["broken.yaml", "missing.yaml"])
def test_a_broken_policy_is_a_usage_error(runs: Path, tmp_path: Path, policy: str) -> None:
    done = run(tmp_path, "--dfah-report", runs / "stable", "--dfah-policy", runs / policy)
    assert (done.returncode, policy in done.stderr) == (4, True)


NOT_WORSE = "non_inferiority: {{baseline: {}, dar: 0.9}}\n"


def test_the_gate_knows_the_baseline_as_the_command_does(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "not-worse.yaml").write_text(NOT_WORSE.format(runs / "unstable"))
    policy = ("--dfah-policy", tmp_path / "not-worse.yaml")
    told = run(tmp_path, "--dfah-report", runs / "unstable", *policy)
    verdict = dfah("gate", runs / "unstable", policy[1], cwd=tmp_path)
    assert "check=non_inferiority.dar verdict=pass" in verdict.stdout
    assert (told.returncode, verdict.returncode) == (0, 0)


def test_a_baseline_that_is_not_there_is_a_usage_error(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "not-worse.yaml").write_text(NOT_WORSE.format("nowhere.json"))
    done = run(tmp_path, "--dfah-report", runs / "stable", "--dfah-policy", tmp_path / "not-worse.yaml")
    assert (done.returncode, "no baseline" in done.stderr) == (4, True)


def test_a_policy_without_a_report_is_a_usage_error(runs: Path, tmp_path: Path) -> None:
    done = run(tmp_path, "--dfah-policy", runs / "strict.yaml")
    assert (done.returncode, "--dfah-report" in done.stderr) == (4, True)


def test_a_detached_report_fails_the_gate(runs: Path, tmp_path: Path) -> None:
    report = next((runs / "stable" / "reports").iterdir())
    done = run(tmp_path, "--dfah-report", report, "--dfah-policy", runs / "strict.yaml")
    assert (done.returncode, "artifact_verification" in done.stdout + done.stderr) == (1, True)


def test_each_case_is_one_item_not_each_replay(runs: Path, tmp_path: Path) -> None:
    done = run(tmp_path, "--dfah-report", runs / "unstable", "--dfah-cases", "--junit-xml=out.xml")
    assert done.returncode == 1
    found = [
        (case.get("classname"), case.get("name")) for case in ElementTree.parse(tmp_path / "out.xml").iter("testcase")
    ]
    assert [pair for pair in found if pair[0] and pair[0].startswith("dfah.")] == [
        ("dfah.default", "CASE-001"),
        ("dfah.default", "CASE-002"),
    ]
    assert "Traceback" not in done.stdout


def test_a_case_that_could_not_be_judged_is_an_error_under_its_own_name(runs: Path, tmp_path: Path) -> None:
    done = run(tmp_path, "--dfah-report", runs / "partial", "--dfah-cases", "--junit-xml=out.xml")
    assert done.returncode == 1
    cases = {case.get("name"): case for case in ElementTree.parse(tmp_path / "out.xml").iter("testcase")}
    assert [child.tag for child in cases["CASE-002"]] == ["error"]
    assert "terminal_status_provider_error" in ElementTree.tostring(cases["CASE-002"], encoding="unicode")
    assert list(cases["CASE-001"]) == []


def test_a_report_file_tells_how_many_cases_could_not_be_judged(runs: Path, tmp_path: Path) -> None:
    report = next((runs / "partial" / "reports").iterdir())
    done = run(tmp_path, "--dfah-report", report, "--dfah-cases", "-rA")
    assert done.returncode == 1
    assert "could not be judged: 1 cases" in done.stdout


def test_a_session_without_the_options_loads_nothing_of_the_harness(tmp_path: Path) -> None:
    loaded = (
        "import sys, pytest; pytest.main(['-q', '-p', 'no:cacheprovider', '-p', sys.argv[1], sys.argv[2]]); "
        "print(sorted(name for name in sys.modules if name.startswith('dfah_cli')))"
    )
    (tmp_path / "test_mine.py").write_text("def test_other():\n    pass\n")
    done = subprocess.run(
        [sys.executable, "-c", loaded, PLUGIN, str(tmp_path)],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines()[-1] == str(["dfah_cli", "dfah_cli.integrations", PLUGIN, "dfah_cli.version"])
