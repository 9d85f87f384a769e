from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import dfah


def documents(done: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of one agent, one of a looser agent and one of more replays."""
    place = tmp_path_factory.mktemp("runs")
    suite = ("--agent", "dfah.demo:unstable_agent")
    assert dfah("run", *suite, "--out", "one", cwd=place).returncode == 0
    assert dfah("run", *suite, "--out", "again", "--seed", "7", cwd=place).returncode == 0
    assert dfah("run", *suite, "--out", "five", "--replays", "5", cwd=place).returncode == 0
    return place


def test_without_a_margin_nothing_is_judged(runs: Path) -> None:
    done = dfah("compare", "one", "again", "--json", cwd=runs)
    told = documents(done)
    assert (done.returncode, told["verdict"], told["checks"]) == (0, None, [])
    assert set(told["difference"]) == {"dar", "tar_seq", "gap", "flags_per_100_cases"}
    assert {one["metric"] for one in told["differences"]} >= {"dar", "tar.seq", "flags"}
    assert all(one["low"] <= one["value"] <= one["high"] for one in told["differences"])
    assert set(told["drift"]) == {"decision", "path.seq", "path.strong"}


def test_a_terminal_is_told_the_finding_first_and_only_what_there_is(runs: Path) -> None:
    terminal = {"FORCE_COLOR": "1", "NO_COLOR": "1", "COLUMNS": "100"}
    lines = dfah("compare", "one", "one", "--margin-dar", "0.5", cwd=runs, env=terminal).stdout.splitlines()
    assert lines[0] == "Nothing moved more than chance explains: 46 cases decide as in the baseline."
    text = "\n".join(lines)
    for word in ("DAR", "TAR.seq", "flags / 100", "chance explains it", "Both are the same evidence.", "cases needed"):
        assert word in text
    for word in ("tar_seq", "tar.seq", "per 100 cases", "rarefied", "decision changed", "newly flagged:"):
        assert word not in text
    moved = dfah("compare", "one", "five", "--rarefy", cwd=runs, env=terminal).stdout
    assert "both are seen at 3" in moved
    piped = dfah("compare", "one", "one", cwd=runs).stdout
    assert "paired=tar.seq change=" in piped
    assert "rarefied=false" in piped


def test_a_margin_is_proven_or_the_cases_it_needs_are_named(runs: Path) -> None:
    wide = dfah("compare", "one", "again", "--margin-dar", "0.5", "--json", cwd=runs)
    assert (wide.returncode, documents(wide)["verdict"]) == (0, "pass")
    narrow = dfah("compare", "one", "again", "--margin-dar", "0.001", "--margin-flags", "1", "--json", cwd=runs)
    assert (narrow.returncode, documents(narrow)["verdict"]) == (4, "inconclusive")
    assert [check["name"] for check in documents(narrow)["checks"]] == [
        "non_inferiority.dar",
        "non_inferiority.flags_per_100",
    ]


def test_unequal_replays_are_refused_or_rarefied(runs: Path) -> None:
    refused = dfah("compare", "one", "five", cwd=runs)
    assert refused.returncode == 2
    assert "--rarefy" in refused.stderr
    told = documents(dfah("compare", "one", "five", "--rarefy", "--json", cwd=runs))
    assert (told["rarefied"], told["replays"], told["difference"], told["flags_p"]) == (True, 3, {}, None)


def test_two_runs_of_one_agent_raise_no_alarm(runs: Path) -> None:
    done = dfah("compare", "one", "again", "--aa", "--json", cwd=runs)
    assert (done.returncode, documents(done)["verdict"]) == (0, "pass")


def test_another_suite_and_an_edited_baseline_are_refused(runs: Path, stable_run: Path) -> None:
    assert dfah("compare", "one", str(stable_run), "--allow-cross-manifest", cwd=runs).returncode == 2
    assert dfah("baseline", "accept", "one", "-o", "edited.json", cwd=runs).returncode == 0
    text = (runs / "edited.json").read_text()
    (runs / "edited.json").write_text(text.replace('"replays": 3,', '"replays": 4,', 1))
    edited = dfah("compare", "edited.json", "again", cwd=runs)
    assert edited.returncode == 3
    assert "its own digest" in edited.stderr


def test_a_pinned_baseline_says_what_its_run_says(runs: Path) -> None:
    assert dfah("baseline", "accept", "one", "-o", "base.json", cwd=runs).returncode == 0
    pinned = documents(dfah("compare", "base.json", "again", "--margin-tar", "0.1", "--json", cwd=runs))
    direct = documents(dfah("compare", "one", "again", "--margin-tar", "0.1", "--json", cwd=runs))
    assert pinned == direct
    assert "/" not in (runs / "base.json").read_text()


def test_an_incomplete_run_is_no_baseline_unless_that_is_said(partial_run: Path) -> None:
    assert dfah("baseline", "accept", str(partial_run), cwd=partial_run.parent).returncode != 0
    allowed = dfah("baseline", "accept", str(partial_run), "--allow-partial", cwd=partial_run.parent)
    assert allowed.returncode == 0
    assert json.loads(allowed.stdout)["status"] == "partial"


def test_a_gate_holds_a_run_against_its_baseline_and_the_record_can_be_verified(runs: Path) -> None:
    assert dfah("baseline", "accept", "one", "-o", "held.json", cwd=runs).returncode == 0
    (runs / "gate.yaml").write_text("non_inferiority:\n  baseline: held.json\n  dar: 0.5\n  tar_seq: 0.5\n")
    suite = ("--agent", "dfah.demo:unstable_agent", "--seed", "9", "--out", "gated", "--policy", "gate.yaml")
    assert dfah("run", *suite, cwd=runs).returncode == 0
    (runs / "held.json").unlink()  # the record carries what it was held against
    assert dfah("verify", "gated", cwd=runs).returncode == 0
    assert dfah("gate", "gated", "gate.yaml", cwd=runs).returncode == 2


def test_external_measurements_satisfy_no_gate(runs: Path) -> None:
    (runs / "measured.json").write_text('{"configurations": [], "tasks": [], "cases": []}')
    assert dfah("gate", "measured.json", "strict", "--allow-unverified", cwd=runs).returncode in (2, 3)
    assert dfah("gate", "measured.json", "strict", cwd=runs).returncode in (2, 3)


def test_a_report_is_held_against_a_baseline_or_says_why_it_is_not(runs: Path, stable_run: Path) -> None:
    files = ("-o", "held.html", "-o", "held.md", "-o", "held.json")
    done = dfah("report", "again", "--baseline", "one", *files, cwd=runs)
    assert done.returncode == 0, done.stderr
    assert "Against the baseline" in (runs / "held.html").read_text()
    assert "### Against the baseline `one (plan " in (runs / "held.md").read_text()
    told = json.loads((runs / "held.json").read_text())["comparison"]
    direct = documents(dfah("compare", "one", "again", "--json", cwd=runs))
    assert told["found"] == {key: direct[key] for key in told["found"]}
    refused = dfah("report", str(stable_run), "--baseline", "one", "-o", "no.json", cwd=runs)
    assert refused.returncode == 2
    assert "suite" in json.loads((runs / "no.json").read_text())["comparison"]["refused"]
    several = ("report", "one", "again", "--baseline", "one", "-o", "x.html")
    assert dfah(*several, cwd=runs).returncode == 0
    assert (runs / "x.html").read_text().partition("Against the baseline")[2].count("<tr>") == 3


def test_the_baseline_of_a_policy_is_shown_without_asking(runs: Path) -> None:
    assert dfah("baseline", "accept", "one", "-o", "policy-base.json", cwd=runs).returncode == 0
    rules = "non_inferiority: {baseline: policy-base.json, dar: 0.5}\n"
    (runs / "against.yaml").write_text(rules)
    gated = dfah("gate", "again", "against.yaml", "-o", "gated.md", "--json", cwd=runs)
    assert documents(gated)["comparison"]["base_name"] == "policy-base.json"
    text = (runs / "gated.md").read_text()
    assert "### Against the baseline `policy-base.json" in text
    assert "≥ -0.5" in text
