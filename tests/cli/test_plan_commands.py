"""`dfah plan` and `dfah lint` on a project under git."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from dfah_cli.cli.main import main
from dfah_cli.config import compose
from tests.cli.command import dfah

PRELOADED = (compose,)

RUN = """\
defaults:
  - dfah_run
  - override suite: acme-kyc
  - override gate: acme
  - _self_
adapter: acme_agents:triage
replays: 3
max_episode_cost_usd: 0.5
"""
SUITE = """\
suite_id: toy-risk
suite_version: 1.0.0
decisions: [escalate, dismiss]
cases:
  - {case_id: RISK-001, artifact_case_id: CASE-001, input: {risk_tier: high}}
  - {case_id: RISK-002, artifact_case_id: CASE-002, input: {risk_tier: low}}
"""
AGENTS = """\
from pathlib import Path
import hashlib
from dfah import Suite, agent, build_manifest

suite = Suite.load(Path(__file__).parent / "suites" / "acme-kyc.yaml")
manifest = build_manifest(suite, provider="p", model="m", adapter="a", request_parameters={"temperature": 0.0},
                          implementation_hash=hashlib.sha256(Path(__file__).read_bytes()).hexdigest())

@agent(manifest=manifest, suite=suite)
async def triage(case, context):
    raise NotImplementedError
"""


def git(folder: Path, *arguments: str) -> None:
    settings = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *settings, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "suites").mkdir()
    (tmp_path / "configs" / "gate").mkdir(parents=True)
    (tmp_path / "suites" / "acme-kyc.yaml").write_text(SUITE)
    (tmp_path / "configs" / "acme.yaml").write_text(RUN)
    (tmp_path / "configs" / "gate" / "acme.yaml").write_text("min_tar_seq: 0.90\n")
    (tmp_path / "acme_agents.py").write_text(AGENTS)
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> tuple[int, str, str]:
    """In a process of its own: the adapter is imported, and each test has another one."""
    done = dfah(*arguments, cwd=Path.cwd(), timeout=120, importable=False)
    return done.returncode, done.stdout, done.stderr


def diff(*arguments: str) -> dict[str, object]:
    code, out, err = run("plan", "diff", *arguments, "--json")
    assert code == 0, err
    document = json.loads(out)
    assert isinstance(document, dict)
    return document


@pytest.mark.slow
def test_a_lock_goes_stale_when_a_plan_changes(project: Path) -> None:
    assert run("plan", "check")[2].startswith("dfah plan: plans.lock: no such file; write it with: dfah plan lock")
    assert run("plan", "lock")[0] == 0
    assert run("plan", "check")[0] == 0
    (project / "configs" / "acme.yaml").write_text(RUN.replace("replays: 3", "replays: 4"))
    code, _, err = run("plan", "check")
    assert code == 2
    assert "acme: run plan" in err
    assert "at most 8 new calls" in err


@pytest.mark.slow
def test_a_policy_change_between_revisions_is_free(project: Path) -> None:
    (project / "configs" / "gate" / "acme.yaml").write_text("min_tar_seq: 0.95\n")
    git(project, "commit", "-q", "-am", "tighter")
    (change,) = diff("main~1..main")["changes"]  # type: ignore[misc]
    assert change["effect"] == "policy only"
    assert [(one["field"], one["direction"]) for one in change["policy"]] == [("min_tar_seq", "tighter")]
    _, text, _ = run("plan", "diff", "main~1")
    assert "min_tar_seq 0.9 → 0.95 (tighter)" in text or "min_tar_seq 0.9 -> 0.95 (tighter)" in text


@pytest.mark.slow
def test_a_changed_adapter_is_a_new_experiment_with_its_cost(project: Path) -> None:
    (project / "acme_agents.py").write_text(AGENTS + "# another prompt\n")
    (change,) = diff("HEAD")["changes"]  # type: ignore[misc]
    assert change["effect"] == "new experiment"
    assert [one["field"] for one in change["identity"]] == ["manifest.implementation_hash"]
    assert (change["new_calls"], change["cost_ceiling_usd"]) == (6, 3.0)


@pytest.mark.slow
def test_a_changed_case_is_named(project: Path) -> None:
    (project / "suites" / "acme-kyc.yaml").write_text(SUITE.replace("low}", "medium}").replace("1.0.0", "1.1.0"))
    (change,) = diff("HEAD")["changes"]  # type: ignore[misc]
    assert [(one["field"], one["after"]) for one in change["identity"]] == [
        ("suite_version", "1.1.0"),
        ("suite.cases changed", "2: CASE-002"),
    ]


@pytest.mark.slow
def test_plans_of_files_are_compared_too(project: Path) -> None:
    Path("before.json").write_text(run("plan", "show", "--all", "--json")[1])
    run("plan", "lock")
    assert diff("before.json", "plans.lock")["changed"] == 0
    code, _, err = run("plan", "diff", "nowhere")
    assert (code, err.count("\n")) == (2, 1)
    assert "'nowhere' is no file and no git revision" in err


@pytest.mark.slow
def test_a_config_that_cannot_be_planned_is_told_in_the_diff(project: Path) -> None:
    (project / "configs" / "acme.yaml").write_text(RUN.replace("replays: 3", "replays: x"))
    (change,) = diff("HEAD")["changes"]  # type: ignore[misc]
    assert change["effect"] == "cannot be planned"
    assert "configs/acme.yaml:7:10: replays: 'x' is not an integer" in change["why"]
    assert run("plan", "lock")[0] == 2


def lint(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["lint", *arguments])
    told = capsys.readouterr()
    return code, told.out, told.err


def test_lint_finds_nothing_wrong_with_a_right_project(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = lint(capsys)
    assert (code, out.strip(), err) == (0, "valid=3", "")


def test_lint_tells_people_what_it_counted(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert lint(capsys)[1].strip() == "3 files read, nothing to object to"


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("configs/gate/acme.yaml", "min_darr: 1\n", "configs/gate/acme.yaml:1:1: unknown key 'min_darr'"),
        (
            "configs/gate/acme.yaml",
            "by_task: [{task: a}, {task: a}]\n",
            "configs/gate/acme.yaml:1:10: GatePolicy.by_task",
        ),
        ("configs/gate/bad_name.yaml", "{}\n", "'bad_name' cannot be asked for by name"),
        ("configs/acme.yaml", "defaults: x\n", "configs/acme.yaml:1:11: defaults: not a list"),
        ("configs/adapters.yaml", "Bad Name: x\n", "'Bad Name' is no name of a suite"),
        ("suites/acme-kyc.yaml", SUITE.replace("CASE-002", "CASE-001"), "suites/acme-kyc.yaml:5:3: Suite.cases"),
        ("plans.lock", "nonsense\n", "plans.lock:1:1: not a line of plans.lock"),
        (
            "elsewhere.yaml",
            "# yaml-language-server: $schema=x/gate.json\nmin_dar: 2\n",
            "elsewhere.yaml:2:10: min_dar: 2",
        ),
        ("elsewhere.yaml", "a: no\n", "elsewhere.yaml:1:4: `no` is read as false"),
        ("elsewhere.json", "{'a': 1}\n", "elsewhere.json:1:2: not JSON"),
    ],
)
def test_lint_tells_the_place(
    project: Path, capsys: pytest.CaptureFixture[str], file: str, text: str, said: str
) -> None:
    (project / file).write_text(text)
    code, _, err = lint(capsys, ".")
    assert code == 2
    assert said in err


def test_lint_refuses_what_does_not_exist(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no such file or folder" in lint(capsys, "nowhere")[2]


def test_the_projects_own_configs_and_suites_are_valid(capsys: pytest.CaptureFixture[str]) -> None:
    from dfah_cli.loading.resources import data_root

    code, _, err = lint(capsys, str(data_root() / "configs"), str(data_root() / "suites"))
    assert (code, err) == (0, "")


def test_a_suite_shows_no_empty_field(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "suite_id: bare\nsuite_version: 1.0.0\ndecisions: [a, b]\ncases: [{case_id: C, input: {}}]\n"
    Path("bare.yaml").write_text(text)
    assert main(["suites", "show", "bare.yaml"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert "field=parallel value=none" in told
    assert all(line.split("value=")[1] not in ("", '""', "None") for line in told)
