"""`dfah-run` as people use it: runs, sweeps, plans, what it shows, and what it leaves behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.dfah_run import forked, spawned


def facts(out: str) -> dict[str, str]:
    """The `plan=… value=…` lines."""
    return dict(line.removeprefix("plan=").split(" value=") for line in out.splitlines() if line.startswith("plan="))


def digest(project: Path, *arguments: str) -> str:
    code, out, err = forked(project, ("suite=toy-risk", "plan=only", *arguments))
    assert code == 0, err
    return facts(out)["run_plan"]


def test_the_main_job_runs_and_running_it_again_calls_nobody(tmp_path: Path) -> None:
    first = forked(tmp_path, ("suite=toy-risk", "replays=3"))
    again = forked(tmp_path, ("suite=toy-risk", "replays=3"))
    assert (first[0], again[0]) == (0, 0)
    assert " called=6 reused=0 exit=0" in first[1]
    assert " called=0 reused=6 exit=0" in again[1]


def test_a_plan_is_shown_and_nothing_is_written(tmp_path: Path) -> None:
    code, out, _ = forked(tmp_path, ("suite=toy-risk", "plan=only"))
    assert code == 0
    assert facts(out)["calls"] == '"at most 6"'
    assert list(tmp_path.iterdir()) == []


def test_the_plan_is_that_of_dfah_run_with_the_same_values(tmp_path: Path) -> None:
    (tmp_path / "case").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "dfah_cli.cli.main", "run", "--agent", "dfah.demo:toy_agent", "--replays", "4", "--seed",
         "7", "--episode-timeout-s", "5", "--dry-run", "--json"],
        cwd=tmp_path, capture_output=True, check=True, timeout=60,
    )  # fmt: skip
    code, out, _ = forked(
        tmp_path, ("suite=toy-risk", "replays=4", "seed=7", "episode_timeout_s=5", "plan=only", "--json")
    )
    assert code == 0
    assert json.loads(out)["run_plan_sha256"] == json.loads(done.stdout)["run_plan_sha256"]
    assert json.loads(out)["run_dir"] == json.loads(done.stdout)["run_dir"]


def test_the_plan_depends_on_no_folder_order_or_operational_key(tmp_path: Path) -> None:
    other = tmp_path / "elsewhere" / "deep"
    other.mkdir(parents=True)
    here = digest(tmp_path, "replays=4", "seed=9")
    assert here == digest(other, "seed=9", "replays=4", "store=/nowhere/at/all", "concurrency=7", "out=x")
    assert here != digest(tmp_path, "replays=5", "seed=9")


@pytest.mark.slow
def test_the_plan_is_the_same_in_a_fresh_process(tmp_path: Path) -> None:
    code, out, _ = spawned(tmp_path, ("plan=only", "suite=toy-risk"))
    assert code == 0
    assert facts(out)["run_plan"] == digest(tmp_path)


def test_a_sweep_freezes_every_plan_and_sums_up_in_one_table(tmp_path: Path) -> None:
    code, out, err = forked(tmp_path, ("-m", "suite=toy-risk", "replays=2,3,4", "seed=1,2"))
    assert code == 0, err
    rows = [line for line in out.splitlines() if line.startswith("replays=")]
    assert [row.split()[:2] for row in rows] == [[f"replays={r}", f"seed={s}"] for r in (2, 3, 4) for s in (1, 2)]
    assert "not comparable across replay counts" in out
    assert all(" pairwise_decision=" in row and " pairwise_path=" in row for row in rows)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".dfah"]
    assert len(list((tmp_path / ".dfah" / "runs").iterdir())) == 6


def test_the_code_of_a_sweep_is_that_of_its_most_serious_job(tmp_path: Path) -> None:
    agent = ("adapter=dfah.demo:unstable_toy_agent", "agent.affected_cases=1.0", "agent.order_swap_rate=0")
    gate = ("gate.min_dar=0.99", "mode=blocking")
    code, out, err = forked(
        tmp_path, ("-m", "suite=toy-risk", "replays=6", *agent, "agent.flip_rate=0,0.5", *gate, "--json")
    )
    jobs = json.loads(out)["jobs"]
    assert [job["exit_code"] for job in jobs] == [0, 1], err
    assert code == 1


def test_no_job_of_a_sweep_starts_when_one_cannot_be_planned(tmp_path: Path) -> None:
    code, _, err = forked(tmp_path, ("-m", "suite=toy-risk", "replays=2,3", "adapter=dfah.demo:toy_agent,dfah.demo:no"))
    assert code == 2
    assert err.count("dfah-run: job ") == 2
    assert not (tmp_path / ".dfah").exists()


def test_a_gate_makes_no_second_run_of_a_plan(tmp_path: Path) -> None:
    code, out, _ = forked(tmp_path, ("-m", "suite=toy-risk", "replays=2", "gate=default,strict", "--json"))
    assert code == 0
    assert [(job["calls_made"], job["reused"]) for job in json.loads(out)["jobs"]] == [(4, 0), (0, 4)]


def test_reports_are_written_beside_the_run_and_named(tmp_path: Path) -> None:
    code, out, err = forked(tmp_path, ("suite=toy-risk", "replays=2", "out=run", "report=[html,md,junit,json]"))
    assert code == 0, err
    names = {"report.html", "report.md", "report.junit.xml", "report.json"}
    assert {path.name for path in (tmp_path / "run").glob("report.*")} == names
    assert {line for line in out.splitlines() if line.startswith("written=")} == {f"written=run/{n}" for n in names}
    assert 'next="dfah report' not in out


def test_one_case_may_be_run_alone_under_a_plan_of_its_own(tmp_path: Path) -> None:
    code, out, _ = forked(tmp_path, ("suite=toy-risk", "case=CASE-001", "plan=only"))
    assert code == 0
    assert facts(out)["cases"] == '"1 of 2"'
    assert facts(out)["run_plan"] != digest(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--cfg", "job", "suite=toy-risk", "replays=9"), "replays: 9\n"),
        (("--cfg", "hydra", "suite=toy-risk"), "hydra:\n"),
        (("--cfg", "job", "--package", "gate", "suite=toy-risk", "gate=strict"), "min_dar: 1.0\n"),
        (("--info", "searchpath", "suite=toy-risk"), "dfah-suites://"),
        (("--info", "defaults", "suite=toy-risk"), "suite/toy-risk"),
        (("-sc", "install=bash"), "complete -o nospace"),
        (("--hydra-help",), "Hydra"),
        (("--help",), "dfah-run -m suite=toy-risk replays=3,5,10"),
        (("--help",), "suite     compliance-triage, dataops-exceptions, toy-risk"),
        (("--version",), "dfah-run 0."),
    ],
)
def test_what_only_shows_something_writes_nothing(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    code, out, err = forked(tmp_path, arguments)
    assert code == 0, err
    assert said in out
    assert list(tmp_path.iterdir()) == []


def test_completion_knows_the_suites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMP_LINE", "dfah-run suite=")
    monkeypatch.setenv("COMP_POINT", "15")
    _, out, _ = forked(tmp_path, ("-sc", "query=bash"))
    assert "suite=toy-risk" in out


def test_help_can_be_written_in_a_narrow_encoding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    code, out, err = spawned(tmp_path, ("--help",))
    assert (code, err) == (0, "")
    assert "exit codes" in out


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["joblib", "submitit_local"])
def test_a_launcher_runs_the_jobs_elsewhere(tmp_path: Path, launcher: str) -> None:
    pytest.importorskip(
        f"hydra_plugins.hydra_{launcher.partition('_')[0]}_launcher",
        reason="no such launcher; run: python -m pip install 'dfah-cli[joblib,submitit]'",
    )
    arguments = ("-m", "suite=toy-risk", "replays=2,3", f"hydra/launcher={launcher}", "--json")
    code, out, err = spawned(tmp_path, arguments)
    assert code == 0, err
    assert [job["calls_made"] for job in json.loads(out)["jobs"]] == [4, 6]
    assert sorted(path.name for path in tmp_path.iterdir()) == [".dfah"]


@pytest.mark.slow
def test_showing_a_plan_takes_at_most_three_times_as_long_as_importing_hydra(tmp_path: Path) -> None:
    def seconds(*command: str) -> float:
        """Processor time: another process of the machine slows down the clock on the wall, not this."""
        child = subprocess.Popen([sys.executable, *command], cwd=tmp_path, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        assert child.returncode == 0
        return used.ru_utime + used.ru_stime

    plan = ("-m", "dfah_cli.cli.hydra_app", "suite=toy-risk", "plan=only")
    seconds(*plan)
    hydra, shown = [], []
    # Taken in turns, best of each, and no oftener than it needs to be seen.
    for _ in range(7):
        hydra.append(seconds("-c", "import hydra"))
        shown.append(seconds(*plan))
        if min(shown) <= 3 * min(hydra):
            break
    assert min(shown) <= 3 * min(hydra)
