"""What stands on standard output, and in which form."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.cli.command import DFAH, ROOT, dfah, documents, environment

HOSTILE = ["[/x]", "\u202etxt.exe", "=1+1", "'; rm -rf ~", "naïve", "a" * 200]


def test_piped_output_is_one_fact_a_line_without_colour(unstable_run: Path, here: Path) -> None:
    done = dfah("analyze", unstable_run, cwd=here)
    assert "\x1b" not in done.stdout
    for line in done.stdout.splitlines():
        assert all("=" in word for word in shlex.split(line)), line
    assert "metric=dar value=" in done.stdout


@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_piped_output_never_depends_on_the_width(unstable_run: Path, here: Path, columns: str) -> None:
    plain = dfah("analyze", unstable_run, cwd=here)
    assert dfah("analyze", unstable_run, cwd=here, env={"COLUMNS": columns}).stdout == plain.stdout


def test_ci_wins_over_a_forced_terminal(unstable_run: Path, here: Path) -> None:
    plain = dfah("analyze", unstable_run, cwd=here)
    assert dfah("analyze", unstable_run, cwd=here, env={"CI": "true", "FORCE_COLOR": "1"}).stdout == plain.stdout


def test_a_forced_terminal_gets_tables_and_colour_unless_refused(unstable_run: Path, here: Path) -> None:
    coloured = dfah("analyze", unstable_run, cwd=here, env={"FORCE_COLOR": "1"}).stdout
    assert "\x1b[" in coloured
    assert "95 % interval" in coloured
    grey = dfah("analyze", unstable_run, cwd=here, env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).stdout
    assert "\x1b[3" not in grey


def test_a_run_without_anything_to_review_says_so_in_words(stable_run: Path, here: Path) -> None:
    done = dfah("inspect", stable_run, cwd=here, env={"FORCE_COLOR": "1", "NO_COLOR": "1"})
    assert done.stdout.startswith("Nothing to review. Every decision and every path repeated")
    assert "0 of 2 cases flagged" in done.stdout
    assert "case  task" not in done.stdout


@pytest.mark.parametrize("command", ["analyze", "inspect"])
def test_a_terminal_of_forty_columns_is_enough(unstable_run: Path, here: Path, command: str) -> None:
    env = {"FORCE_COLOR": "1", "NO_COLOR": "1", "COLUMNS": "40", "TERM": "dumb"}
    done = dfah(command, unstable_run, cwd=here, env=env)
    assert done.returncode == 0
    if command == "analyze":
        assert "DAR 0." in done.stdout


@pytest.mark.parametrize(
    "env",
    [
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1"},
        {"PYTHONIOENCODING": "ascii", "FORCE_COLOR": "1"},
    ],
)
@pytest.mark.parametrize("command", ["analyze", "inspect"])
def test_narrow_encodings_lose_signs_but_no_facts(
    unstable_run: Path, here: Path, env: dict[str, str], command: str
) -> None:
    done = dfah(command, unstable_run, cwd=here, env=env)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout.isascii() or env.get("PYTHONIOENCODING") == "latin-1"
    assert "KYC-005" in done.stdout


@pytest.mark.parametrize("arguments", [["analyze"], ["inspect", "--all"], ["analyze", "--json"], ["manifest", "show"]])
def test_a_reader_that_goes_away_is_no_error(unstable_run: Path, here: Path, arguments: list[str]) -> None:
    command = shlex.join([*DFAH, *arguments, str(unstable_run)])
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command} | head -c 1 >/dev/null"],
        cwd=here, env=environment(), capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "arguments",
    [
        ["analyze", "RUN"], ["inspect", "RUN"], ["inspect", "RUN", "--case", "KYC-005"], ["manifest", "show", "RUN"],
        ["doctor"], ["doctor", "RUN"], ["suites", "list"], ["suites", "validate", "toy-risk"],
        ["suites", "show", "toy-risk"],
        ["version"], ["gate", "RUN", "default"], ["compare", "RUN", "RUN"], ["report", "RUN", "-o", "x.html"],
        ["check-agent", "--agent", "dfah.demo:toy_agent"], ["run", "--agent", "dfah.demo:toy_agent", "--out", "r"],
        ["run", "--agent", "dfah.demo:toy_agent", "--dry-run"],
    ],
)  # fmt: skip
def test_json_is_one_document_that_names_its_format(unstable_run: Path, here: Path, arguments: list[str]) -> None:
    done = dfah(*[str(unstable_run) if word == "RUN" else word for word in arguments], "--json", cwd=here)
    found = documents(done)
    assert found["format"].startswith("dfah-")
    assert done.stdout.isascii()


def test_the_same_numbers_stand_in_every_form(unstable_run: Path, here: Path) -> None:
    report = documents(dfah("analyze", unstable_run, "--json", cwd=here))["report"]
    lines = dfah("analyze", unstable_run, cwd=here).stdout
    tables = dfah("analyze", unstable_run, cwd=here, env={"FORCE_COLOR": "1", "COLUMNS": "120"}).stdout
    for value in (report["dar"], report["tar"]["seq"], report["gap"]):
        assert f"value={value:.3f}" in lines
        assert f"{value:.3f}" in tables


def test_results_are_on_standard_output_and_progress_on_standard_error(here: Path) -> None:
    done = dfah("run", "--agent", "dfah.demo:toy_agent", "--out", "run", cwd=here)
    assert "plan " in done.stderr
    assert "plan " not in done.stdout.replace('"run plan"', "")
    assert "calls" in done.stderr


def test_rerunning_calls_nobody_and_says_so(here: Path) -> None:
    first = documents(dfah("run", "--agent", "dfah.demo:toy_agent", "--out", "run", "--json", cwd=here))
    second = documents(dfah("run", "--agent", "dfah.demo:toy_agent", "--out", "run", "--json", cwd=here))
    assert (first["run"]["calls_made"], second["run"]["calls_made"], second["run"]["reused"]) == (6, 0, 6)
    assert first["report"] == second["report"]


def test_a_dry_run_writes_nothing(here: Path) -> None:
    done = dfah("run", "--agent", "dfah.demo:toy_agent", "--out", "run", "--dry-run", "--json", cwd=here)
    plan = documents(done)
    assert (plan["calls"], len(plan["run_plan_sha256"])) == (6, 64)
    assert not (here / "run").exists()
    real = documents(dfah("run", "--agent", "dfah.demo:toy_agent", "--out", "run", "--json", cwd=here))
    assert real["report"]["run_plan_sha256"] == plan["run_plan_sha256"]


def test_every_option_is_read_from_the_environment(here: Path) -> None:
    env = {"DFAH_AGENT": "dfah.demo:toy_agent", "DFAH_REPLAYS": "4", "DFAH_OUT": "elsewhere", "DFAH_JSON": "1"}
    found = documents(dfah("run", cwd=here, env=env))
    assert found["report"]["replays_requested"] == 4
    assert (here / "elsewhere" / "plan.json").exists()
    assert documents(dfah("run", "--replays", "2", "--out", "b", cwd=here, env=env))["report"]["replays_requested"] == 2


def test_error_text_is_shown_redacted_and_escaped_but_never_recorded(here: Path) -> None:
    done = dfah("run", "--agent", "adapters:raising", "--out", "run", "--debug-log", "log.jsonl", cwd=here)
    assert "first line" in done.stderr
    assert "\\x1b[31mred" in done.stderr
    for text in (done.stderr, (here / "log.jsonl").read_text()):
        assert "sk-ant-abc" not in text
        assert "\x1b" not in text
    events = [json.loads(line) for line in (here / "log.jsonl").read_text().splitlines()]
    assert {event["status"] for event in events} == {"provider_error"}
    assert len(events) == 6
    assert (here / "log.jsonl").stat().st_mode & 0o777 == 0o600
    for path in (here / "run").rglob("*"):
        assert not path.is_file() or b"first line" not in path.read_bytes()


def test_the_debug_log_is_refused_inside_a_run_directory(stable_run: Path, here: Path) -> None:
    done = dfah("run", "--agent", "dfah.demo:toy_agent", "--debug-log", stable_run / "x.log", cwd=here)
    assert (done.returncode, "inside a run directory" in done.stderr) == (2, True)
    assert not (stable_run / "x.log").exists()


@pytest.mark.parametrize(
    "arguments", [["run", "--agent", "dfah.demo:toy_agent", "--out", "r"], ["gate", "RUN", "default"]]
)
def test_a_step_summary_is_appended_where_ci_asks_for_one(stable_run: Path, here: Path, arguments: list[str]) -> None:
    summary = here / "summary.md"
    summary.write_text("before\n")
    words = [str(stable_run) if word == "RUN" else word for word in arguments]
    assert dfah(*words, cwd=here, env={"GITHUB_STEP_SUMMARY": str(summary)}).returncode == 0
    text = summary.read_text()
    assert text.startswith("before\n<!-- dfah-report:")
    assert "| DAR | 1.000 |" in text
    assert dfah(*words, cwd=here, env={"GITHUB_STEP_SUMMARY": str(here / "no" / "x")}).returncode == 0


def test_a_step_summary_says_why_a_run_is_not_stable(unstable_run: Path, here: Path) -> None:
    summary = here / "summary.md"
    assert dfah("gate", unstable_run, "default", cwd=here, env={"GITHUB_STEP_SUMMARY": str(summary)}).returncode in (
        0,
        1,
    )
    text = summary.read_text()
    assert "<details open><summary>Where pairs of replays of a case first differ</summary>" in text
    assert "| `step " in text


def test_a_step_summary_keeps_to_what_the_server_shows(unstable_run: Path, here: Path) -> None:
    summary, limit = here / "summary.md", 1024 * 1024
    words = ("gate", str(unstable_run), "default")
    for taken, told in ((limit - 3000, "Too long for this place: the diagnosis"), (limit - 10, "fits into the rest")):
        summary.write_text("x" * taken)
        done = dfah(*words, cwd=here, env={"GITHUB_STEP_SUMMARY": str(summary)})
        assert summary.stat().st_size <= limit
        assert told in (summary.read_text() + done.stderr)


def test_report_files_follow_their_suffix(unstable_run: Path, here: Path) -> None:
    names = ["a.html", "b.md", "c.json", "d.junit.xml"]
    done = dfah("report", unstable_run, *[word for name in names for word in ("-o", name)], cwd=here)
    assert done.returncode == 0
    starts = [(here / name).read_text()[:15] for name in names]
    assert [start.strip()[:5] for start in starts] == ["<!doc", "<!-- ", '{\n  "', "<?xml"]


def test_a_report_file_is_never_evidence_by_itself(stable_run: Path, here: Path) -> None:
    report = next((stable_run / "reports").iterdir())
    refused = dfah("gate", report, "default", cwd=here)
    assert (refused.returncode, "no evidence" in refused.stderr) == (3, True)
    looked = dfah("gate", report, "default", "--allow-unverified", cwd=here)
    assert looked.returncode == 1
    assert "check=artifact_verification verdict=fail" in looked.stdout


def test_hostile_ids_stay_text(here: Path) -> None:
    suite = {
        "suite_id": "hostile", "suite_version": "1.0.0", "decisions": ["escalate", "dismiss"],
        "cases": [{"case_id": name, "input": {"risk_tier": "low"}} for name in HOSTILE],
        "tools": [{"name": "read_risk_tier", "input_schema": {"type": "object"}}],
    }  # fmt: skip
    (here / "hostile.json").write_text(json.dumps(suite))
    (here / "own.py").write_text(OWN)
    done = dfah("run", "--agent", "own:agent_", "--suite", "hostile.json", "--out", "run", cwd=here)
    assert done.returncode == 0, done.stderr
    assert "have no artifact_case_id" in done.stderr
    for arguments in (["inspect", "run", "--all"], ["inspect", "run", "--case", HOSTILE[1]], ["analyze", "run"]):
        for env in ({}, {"FORCE_COLOR": "1", "NO_COLOR": "1", "COLUMNS": "300"}):
            shown = dfah(*arguments, cwd=here, env=env)
            assert shown.returncode == 0, shown.stderr
            assert "\u202e" not in shown.stdout
            if arguments[1:] == ["run", "--all"]:
                assert "[/x]" in shown.stdout
                assert "\\u202etxt.exe" in shown.stdout


OWN = """
from dfah import AgentResult, Suite, ToolRegistry, WireRequest, agent, build_manifest

suite = Suite.load("hostile.json")
tools = ToolRegistry()
tools.register(suite.tools[0], lambda **given: "low")
parameters = {"temperature": 0.0}
manifest = build_manifest(suite, provider="p", model="m", adapter="own", adapter_version="1",
                          implementation_hash="f" * 64, request_parameters=parameters)

@agent(manifest=manifest, tools=tools, suite=suite)
async def agent_(case, context):
    await context.tools.call("read_risk_tier")
    wire = WireRequest.from_payload(provider="p", model="m", payload=parameters, parameters=parameters,
                                    adapter="own", adapter_version="1")
    return AgentResult(output_text="DECISION: DISMISS", trajectory=context.tools.trajectory(), wire_request=wire)
"""


def test_inspect_sorts_by_attention_and_estimates_the_load(unstable_run: Path, here: Path) -> None:
    found = documents(dfah("inspect", unstable_run, "--json", "--volume", "1000", cwd=here))
    states = [case["status"] for case in found["cases"]]
    assert states == sorted(states, key=["decision changed", "flagged", "stable"].index)
    assert found["load"]["flagged"] == states.count("flagged")
    assert found["load"]["flagged_a_month"] == round(1000 * found["load"]["flagged"] / found["load"]["of"])
    every = documents(dfah("inspect", unstable_run, "--all", "--json", cwd=here))["cases"]
    assert len(every) == found["load"]["of"]


def test_inspect_names_cases_that_could_not_be_judged(partial_run: Path, here: Path) -> None:
    assert "not_judged=CASE-002" in dfah("inspect", partial_run, cwd=here).stdout


def test_inspect_of_an_unknown_case_is_a_wrong_request(stable_run: Path, here: Path) -> None:
    done = dfah("inspect", stable_run, "--case", "nope", cwd=here)
    assert (done.returncode, "no case of that id" in done.stderr) == (2, True)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_printed(here: Path, shell: str) -> None:
    done = dfah("completion", shell, cwd=here)
    assert (done.returncode, "_DFAH_COMPLETE" in done.stdout) == (0, True)


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&-"])
def test_a_stream_that_is_closed_from_the_start_breaks_nothing(stable_run: Path, here: Path, closed: str) -> None:
    for arguments, code in ((["analyze", str(stable_run)], 0), (["analyze", "nowhere"], 2), (["--help"], 0)):
        command = f"{shlex.join([*DFAH, *arguments])} {closed}"
        done = subprocess.run(["bash", "-c", command], cwd=here, env=environment(), capture_output=True, text=True)
        assert done.returncode == code, (arguments, done.stderr)
        assert "Traceback" not in done.stderr


def test_completion_offers_the_commands(here: Path) -> None:
    env = {"_DFAH_COMPLETE": "bash_complete", "COMP_WORDS": "dfah an", "COMP_CWORD": "1"}
    assert "analyze" in dfah(cwd=here, env=env).stdout


def test_every_command_has_an_example_in_its_help(here: Path) -> None:
    from dfah_cli.cli.main import COMMANDS

    for name in COMMANDS:
        text = dfah(name, "--help", cwd=here).stdout
        assert f"dfah {name} " in text.partition("Options:")[0].partition("\n\n")[2], name


def test_the_root_of_the_project_is_not_written_to() -> None:
    assert not (ROOT / "run").exists()


def test_parts_of_instability_are_a_table_on_a_terminal_of_80_columns(here: Path) -> None:
    split = shlex.split("attribute --agent dfah.demo:unstable_toy_agent --out split --tools-file split.jsonl")
    piped = dfah(*split, cwd=here).stdout
    assert re.search(r'^instability="flag rate" live="0\.500 \([0-9.]+ – [0-9.]+\)" tool_results=', piped, re.M)
    env = {"FORCE_COLOR": "1", "NO_COLOR": "1", "COLUMNS": "80"}
    lines = re.sub(r"\x1b\[[0-9;]*m", "", dfah(*split, cwd=here, env=env).stdout).splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("instability "))
    assert [line.split("  ")[0] for line in lines[start + 1 :] if line[:1].strip()][:6] == [
        "live", "tool results", "tool latency", "scheduling", "agent", "left over",
    ]  # fmt: skip
