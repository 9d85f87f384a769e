"""The table of exit codes, each row on the real command."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.command import DFAH, dfah, documents, environment

TOY = ("--agent", "dfah.demo:toy_agent")


def test_0_a_complete_run_is_done(here: Path) -> None:
    done = dfah("run", *TOY, "--out", "run", cwd=here)
    assert (done.returncode, "status=complete" in done.stdout) == (0, True)


def test_0_a_failing_gate_in_shadow_mode_only_reports(here: Path) -> None:
    (here / "never.yaml").write_text("min_observed_groups: 1000\n")
    done = dfah("run", *TOY, "--out", "run", "--policy", "never.yaml", cwd=here)
    assert (done.returncode, "gate=fail" in done.stdout) == (0, True)


def test_1_a_failing_gate_in_blocking_mode(here: Path) -> None:
    (here / "never.yaml").write_text("min_observed_groups: 1000\n")
    done = dfah("run", *TOY, "--out", "run", "--policy", "never.yaml", "--mode", "blocking", cwd=here)
    assert (done.returncode, "gate=fail" in done.stdout) == (1, True)
    blocking = ("--out", "run", "--policy", "never.yaml", "--mode", "blocking")
    assert dfah("run", *TOY, *blocking, cwd=here, env={"DFAH_GATE_EXIT_CODE": "9"}).returncode == 9


def test_1_dfah_gate_always_blocks(unstable_run: Path, here: Path) -> None:
    assert dfah("gate", unstable_run, "strict", cwd=here).returncode == 1


def test_1_a_violated_contract(here: Path) -> None:
    done = dfah("check-agent", "--agent", "adapters:garbled", cwd=here)
    assert (done.returncode, "check=parse_provenance status=fail" in done.stdout) == (1, True)


def test_1_a_failed_check_says_why_its_episodes_failed_and_keeps_it_in_the_file_asked_for(here: Path) -> None:
    done = dfah("check-agent", "--agent", "adapters:first_case_only", "--debug-log", "log", "--json", cwd=here)
    told = [line for line in done.stderr.splitlines() if "provider_error (" in line]
    assert (done.returncode, len(told)) == (1, 2)
    assert all(line.partition("): ")[2] for line in told)
    assert len((here / "log").read_text().splitlines()) == 4


@pytest.mark.parametrize(("value", "code"), [("10", 10), ("125", 125), ("0", 1), ("126", 1), ("x", 1), ("", 1)])
def test_1_is_replaced_by_the_environment_but_never_by_0(unstable_run: Path, here: Path, value: str, code: int) -> None:
    assert dfah("gate", unstable_run, "strict", cwd=here, env={"DFAH_GATE_EXIT_CODE": value}).returncode == code


def test_0_is_not_replaced_by_the_environment(stable_run: Path, here: Path) -> None:
    assert dfah("gate", stable_run, "strict", cwd=here, env={"DFAH_GATE_EXIT_CODE": "10"}).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["rnu"], "did you mean run?"),
        (["run"], "--agent"),
        (["run", *TOY, "--replays", "1"], "--replays"),
        (["run", *TOY, "--replays", "2.5"], "2.5"),
        (["run", *TOY, "--sample-rate", "0"], "--sample-rate"),
        (["run", *TOY, "--mode", "loud"], "loud"),
        (["run", *TOY, "--mode", "blocking"], "gate"),
        (["run", *TOY, "--budget-usd", "1"], "max_episode_cost_usd"),
        (["run", *TOY, "--suite", "toy-riks"], "toy-risk"),
        (["run", *TOY, "--policy", "missing.yaml"], "missing.yaml"),
        (["run", *TOY, "-o", "report.docx"], ".docx"),
        (["run", *TOY, "-o", "adapters.py/report.html"], "Not a directory"),
        (["run", *TOY, "--otel-file", "adapters.py/spans.jsonl"], "otel_file: adapters.py/spans.jsonl"),
        (["run", *TOY, "--case", "NO-SUCH"], "NO-SUCH"),
        (["run", *TOY, "--otel"], "--otel"),
        (["run", "--agent", "dfah.demo:toy_agnet"], "toy_agent"),
        (["run", "--agent", "adapters:not_an_agent"], "not_an_agent"),
        (["run", "--agent", "no_such_module:agent"], "no_such_module"),
        (["analyze", "nowhere"], "nowhere"),
        (["inspect", "nowhere"], "nowhere"),
        (["inspect", "."], ".: not a run directory; list runs with: dfah ls"),
        (["check-agent", *TOY, "--budget-usd", "1"], "--max-episode-cost-usd"),
        (["suites", "validate", "nowhere.yaml"], "nowhere.yaml"),
        (["completion", "tcsh"], "tcsh"),
        (["report", "nowhere"], "-o"),
        (["check-agent", *TOY, "--expect-tools", "x"], "CASE=tool"),
    ],
)
def test_2_a_wrong_request_is_one_line_and_writes_nothing(here: Path, arguments: list[str], told: str) -> None:
    before = sorted(path.name for path in here.rglob("*"))
    done = dfah(*arguments, cwd=here)
    assert done.returncode == 2
    assert done.stdout == ""
    assert told in done.stderr
    assert done.stderr.startswith("dfah")
    assert len(done.stderr.splitlines()) == 1
    after = sorted(path.name for path in here.rglob("*"))
    assert [name for name in after if name != "__pycache__" and not name.endswith(".pyc")] == before


def test_what_lies_in_the_way_of_a_preflight_is_no_broken_contract(stable_run: Path, here: Path) -> None:
    copy = shutil.copytree(stable_run, here / "run")
    (copy / "plan.json").write_text("{}")
    done = dfah("check-agent", *TOY, "--out", copy, cwd=here)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("dfah check-agent: ")


def test_2_a_directory_that_is_bound_to_another_design(stable_run: Path, here: Path) -> None:
    copy = shutil.copytree(stable_run, here / "run")
    done = dfah("run", *TOY, "--out", copy, "--replays", "5", cwd=here)
    assert (done.returncode, "replays is 3 there and 5 here" in done.stderr) == (2, True)


def test_3_evidence_that_was_altered(stable_run: Path, here: Path) -> None:
    copy = shutil.copytree(stable_run, here / "run")
    segment = min((copy / "segments").glob("*.jsonl"))
    altered = segment.read_bytes().replace(b'"escalate"', b'"dismiss_"', 1)
    assert altered != segment.read_bytes()
    segment.write_bytes(altered)
    for command in (["analyze", copy], ["gate", copy, "strict"], ["run", *TOY, "--out", copy]):
        done = dfah(*command, cwd=here)
        assert done.returncode == 3, command
        assert len([line for line in done.stderr.splitlines() if line.startswith("dfah ")]) == 1
        assert "Traceback" not in done.stderr


def test_3_an_edited_report(stable_run: Path, here: Path) -> None:
    copy = shutil.copytree(stable_run, here / "run")
    report = next((copy / "reports").iterdir())
    report.chmod(0o600)
    report.write_bytes(report.read_bytes().replace(b'"flagged_groups": 0', b'"flagged_groups": 1'))
    assert dfah("analyze", copy, cwd=here).returncode == 3


@pytest.mark.parametrize("name", ["raising", "leaving", "garbled", "first_case_only"])
def test_4_a_run_in_which_episodes_failed_is_never_0(here: Path, name: str) -> None:
    done = dfah("run", "--agent", f"adapters:{name}", "--out", "run", cwd=here)
    assert done.returncode == 4
    assert "exit=4" in done.stdout
    assert dfah("analyze", "run", cwd=here).returncode == 4


def test_4_a_budget_stop(here: Path) -> None:
    cost = ("--budget-usd", "0.05", "--max-episode-cost-usd", "0.1")
    done = dfah("run", *TOY, "--out", "run", *cost, cwd=here)
    assert done.returncode == 4
    assert "status=complete" not in done.stdout
    assert 'next="to go on, with a larger budget: dfah run' in done.stdout


def test_what_to_do_next_depends_on_how_the_run_ended(here: Path) -> None:
    (here / "policy.yaml").write_text("require_complete: true\nmax_flags_per_100_cases: 0\nstop: when-settled\n")
    settled = dfah("run", "--agent", "dfah.demo:unstable_agent", "--policy", "policy.yaml", "--out", "run", cwd=here)
    assert 'next="the verdict is settled: the calls that were not made could not change it"' in settled.stdout
    assert "to resume" not in settled.stdout
    lost = dfah("run", "--agent", "adapters:first_case_only", "--out", "lost", cwd=here)
    assert 'next="dfah rerun lost --ineligible --out lost-again"' in lost.stdout


def test_4_an_incomplete_run_in_blocking_mode(here: Path) -> None:
    done = dfah("run", "--agent", "adapters:raising", "--policy", "strict", "--mode", "blocking", cwd=here)
    assert done.returncode == 4


def test_4_standard_output_on_a_full_disk(stable_run: Path, here: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    for arguments in (["analyze", stable_run], ["version"], ["suites", "list", "--json"], ["--help"]):
        with open("/dev/full", "w") as full:
            done = dfah(*arguments, cwd=here, capture_output=False, stdout=full, stderr=subprocess.PIPE)
        assert done.returncode == 4, arguments
        assert "No space left" in done.stderr
        assert "Traceback" not in done.stderr
        assert len(done.stderr.splitlines()) == 1


def wait_for_call(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "called\n"


def start(here: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*DFAH, "run", "--agent", "adapters:slow", "--out", "run", *arguments],
        cwd=here,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_5_a_second_writer(here: Path) -> None:
    first = start(here)
    try:
        wait_for_call(first)
        done = dfah("run", "--agent", "adapters:slow", "--out", "run", cwd=here)
        assert done.returncode == 5
        assert str(first.pid) in done.stderr
        assert len(done.stderr.splitlines()) <= 2
    finally:
        first.kill()
        first.communicate()


def test_5_a_stale_lease_names_the_command_that_recovers_it(here: Path) -> None:
    first = start(here)
    wait_for_call(first)
    first.kill()
    first.communicate()
    done = dfah("run", "--agent", "adapters:slow", "--out", "run", cwd=here)
    assert (done.returncode, "--recover-stale-lease" in done.stderr) == (5, True)


def test_70_a_bug_is_one_line_and_says_how_to_see_more(here: Path) -> None:
    # A module of the same name in the way is the plainest way to break the program itself.
    code = (
        "import sys; from dfah_cli.cli.commands import version; from dfah_cli.cli.main import main; "
        "version.Screen = None; sys.exit(main(['version', *sys.argv[1:]]))"
    )
    import sys

    run = [sys.executable, "-c", code]
    plain = subprocess.run(run, cwd=here, env=environment(), capture_output=True, text=True)
    assert plain.returncode == 70
    assert "--traceback or DFAH_TRACEBACK=1" in plain.stderr
    assert len(plain.stderr.splitlines()) == 1
    told = subprocess.run([*run, "--traceback"], cwd=here, env=environment(), capture_output=True, text=True)
    assert (told.returncode, "Traceback" in told.stderr) == (70, True)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_130_and_143_a_stopped_run_drains_and_says_how_to_resume(here: Path, number: signal.Signals, code: int) -> None:
    process = start(here, "--episode-timeout-s", "2")
    wait_for_call(process)
    time.sleep(0.1)
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == code, err
    assert "to resume: dfah run --agent adapters:slow" in out
    assert "Traceback" not in err
    again = dfah("analyze", "run", "--json", cwd=here)
    assert again.returncode == 4
    assert documents(again)["report"]["episodes_completed"] >= 1


def test_the_help_prints_the_table_of_exit_codes(here: Path) -> None:
    told = dfah("--help", cwd=here).stdout
    for code in (0, 1, 2, 3, 4, 5, 70, 130, 143):
        assert f"\n  {code} " in told


def test_no_arguments_show_the_help_and_are_a_wrong_request(here: Path) -> None:
    done = dfah(cwd=here)
    assert (done.returncode, "Exit codes" in done.stdout) == (2, True)
