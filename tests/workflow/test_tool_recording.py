"""Recorded tools in whole runs: what is kept where, what a replay is bound to, and what is refused."""

from __future__ import annotations

import json
import os
import random
import stat
from pathlib import Path
from typing import Any

import pytest

from dfah_cli.canonical import canonical_bytes, parse
from dfah_cli.errors import ArtifactError, ConfigurationError, DesignMismatchError, ManifestMismatchError
from dfah_cli.records.case import Case
from dfah_cli.report.compare import Allowances
from dfah_cli.workflow.analyze import analyze, episodes
from dfah_cli.workflow.comparison import Question, compare
from dfah_cli.workflow.replay import Replay
from dfah_cli.workflow.verification import verify_run
from tests.builders import ScriptedAgent, a_registry, a_scripted_agent, a_suite, bytes_below

PLANTED = "customer-zebra-4711"
KEY = "0123456789abcdef0123456789abcdef"


class Counted:
    """A tool that never answers the same, and counts."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, **_: Any) -> dict[str, Any]:
        self.calls += 1
        return {"who": PLANTED, "n": random.Random(self.calls).random()}


def agent_with(tool: Any, script: str = "T k=1 T") -> ScriptedAgent:
    suite = a_suite(("A", "B"))
    return a_scripted_agent(
        {"A": [("Y", script)], "B": [("Y", script)]}, suite=suite, tools=a_registry(suite, {"T": tool, "k": tool})
    )


def run(agent: ScriptedAgent, out: Path, mode: str, file: Path, **options: Any) -> Any:
    return Replay(suite=agent.suite, replays=3, out=out, tools_mode=mode, tools_file=file, **options).run(agent)


@pytest.fixture
def recorded(tmp_path: Path) -> tuple[ScriptedAgent, Counted, Path]:
    tool = Counted()
    agent = agent_with(tool)
    run(agent, tmp_path / "recorded", "record", tmp_path / "tools.jsonl")
    return agent, tool, tmp_path / "tools.jsonl"


def test_a_replay_calls_no_tool_and_only_the_agent_varies(recorded: Any, tmp_path: Path) -> None:
    agent, tool, file = recorded
    assert tool.calls == 18
    assert analyze(tmp_path / "recorded").report.flags_per_100_cases == 100.0
    report = run(agent, tmp_path / "replayed", "replay", file)
    assert tool.calls == 18
    assert report.flags_per_100_cases == 0.0
    assert report.tar.strong == 1.0
    assert not verify_run(tmp_path / "replayed").broken


def test_own_results_repeat_the_recorded_run_replay_by_replay(recorded: Any, tmp_path: Path) -> None:
    agent, _, file = recorded
    run(agent, tmp_path / "own", "replay", file, tools_results="own")

    def paths(out: str) -> dict[tuple[str, int], Any]:
        return {
            (e.case_id, e.replay_index): [c.step for c in e.trajectory.tool_calls] for e in episodes(tmp_path / out)
        }

    assert paths("own") == paths("recorded")


def test_results_are_in_the_recording_and_nowhere_in_a_run(recorded: Any, tmp_path: Path) -> None:
    agent, _, file = recorded
    run(agent, tmp_path / "replayed", "replay", file)
    assert PLANTED.encode() in file.read_bytes()
    for out in ("recorded", "replayed"):
        assert PLANTED.encode() not in bytes_below(tmp_path / out)
        assert str(file).encode() not in bytes_below(tmp_path / out)


def test_the_recording_is_of_its_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        run(agent_with(Counted()), tmp_path / "run", "record", tmp_path / "new" / "tools.jsonl")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new" / "tools.jsonl").stat().st_mode) == 0o600


def test_an_encrypted_recording_shows_nothing_and_replays_with_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLS_KEY", KEY)
    tool, file = Counted(), tmp_path / "tools.enc"
    agent = agent_with(tool)
    run(agent, tmp_path / "recorded", "record", file, tools_key_env="TOOLS_KEY")
    assert PLANTED.encode() not in file.read_bytes()
    assert KEY.encode() not in file.read_bytes() + bytes_below(tmp_path / "recorded")
    report = run(agent, tmp_path / "replayed", "replay", file, tools_key_env="TOOLS_KEY")
    assert report.tar.strong == 1.0
    assert tool.calls == 18
    assert KEY.encode() not in bytes_below(tmp_path / "replayed")
    other = tmp_path / "other.enc"
    run(agent, tmp_path / "again", "record", other, tools_key_env="TOOLS_KEY")
    assert (
        json.loads(file.read_bytes().split(b"\n")[0])["cipher"]
        != json.loads(other.read_bytes().split(b"\n")[0])["cipher"]
    )


@pytest.mark.parametrize(
    ("secret", "named", "message"),
    [
        ("x" * 32, "TOOLS_KEY", "the key in TOOLS_KEY is not the one it was encrypted with"),
        (KEY, None, "encrypted; name the variable that has its key: tools_key_env=NAME"),
        ("", "TOOLS_KEY", "the environment has no TOOLS_KEY"),
        ("short", "TOOLS_KEY", "fewer than 16 characters"),
    ],
)
def test_without_the_right_key_nothing_is_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, secret: str, named: str | None, message: str
) -> None:
    monkeypatch.setenv("TOOLS_KEY", KEY)
    agent, file = agent_with(Counted()), tmp_path / "tools.enc"
    run(agent, tmp_path / "recorded", "record", file, tools_key_env="TOOLS_KEY")
    monkeypatch.setenv("TOOLS_KEY", secret)
    with pytest.raises(ConfigurationError, match=message):
        run(agent, tmp_path / "replayed", "replay", file, tools_key_env=named)
    assert not (tmp_path / "replayed").exists()


@pytest.mark.parametrize(
    ("change", "cipher"),
    # The lines of a plain recording may stand in any order.
    [*((change, True) for change in ("cut", "swap", "edit", "double", "header")),
     *((change, False) for change in ("cut", "edit", "double", "header"))],
)  # fmt: skip
def test_an_altered_recording_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, cipher: bool
) -> None:
    monkeypatch.setenv("TOOLS_KEY", KEY)
    named = {"tools_key_env": "TOOLS_KEY"} if cipher else {}
    agent, file = agent_with(Counted()), tmp_path / "tools"
    run(agent, tmp_path / "recorded", "record", file, **named)
    header, one, two, *rest, _ = file.read_bytes().split(b"\n")
    made = {
        "cut": [header, one, two[:-9]],
        "swap": [header, two, one, *rest, b""],
        "edit": [header, one[:40] + (b"B" if one[40:41] == b"A" else b"A") + one[41:], two, *rest, b""],
        "double": [header, one, one, *rest, b""],
        "header": [header[:-2], one, two, *rest, b""],
    }[change]
    file.write_bytes(b"\n".join(made))
    with pytest.raises(ArtifactError, match=r"altered|ends within a line|stands there twice|no recording"):
        run(agent, tmp_path / "replayed", "replay", file, **named)


@pytest.mark.parametrize("value", ["no JSON {", "[" * 9000])
def test_a_result_that_cannot_be_given_again_is_a_fault_of_the_file(recorded: Any, tmp_path: Path, value: str) -> None:
    agent, _, file = recorded
    header, line, *rest = file.read_text().split("\n")
    changed = json.loads(line)
    changed["answer"]["value"] = value
    file.write_text("\n".join([header, json.dumps(changed), *rest]))
    with pytest.raises(ArtifactError, match="line 2: altered"):
        run(agent, tmp_path / "replayed", "replay", file)


def test_what_is_no_regular_file_is_neither_read_nor_written(recorded: Any, tmp_path: Path) -> None:
    agent, _, file = recorded
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(file)
    for place, kind in ((tmp_path / "pipe", "a FIFO"), (Path("/dev/zero"), "a device"), (tmp_path, "a directory")):
        with pytest.raises(ConfigurationError, match=f"is {kind}, not a file"):
            run(agent, tmp_path / "replayed", "replay", place)
    for number, name in enumerate(("pipe", "link")):
        with pytest.raises(ConfigurationError, match="give the name of a new file"):
            run(agent, tmp_path / f"new{number}", "record", tmp_path / name)


def test_the_plan_is_bound_to_the_mode_and_to_the_bytes_of_the_recording(recorded: Any, tmp_path: Path) -> None:
    agent, tool, file = recorded
    run(agent, tmp_path / "replayed", "replay", file)
    other = tmp_path / "other.jsonl"
    run(agent_with(tool), tmp_path / "again", "record", other)
    for mode, given in (("live", None), ("replay", other), ("record", tmp_path / "third.jsonl")):
        with pytest.raises(DesignMismatchError, match="tool results are recorded"):
            run(agent, tmp_path / "replayed", mode, given)


@pytest.mark.parametrize(
    ("mode", "given", "needed"),
    [
        ("live", {"tools_file": "tools.jsonl"}, "tools_file needs tools: record or replay"),
        ("live", {"tools_key_env": "KEY"}, "tools_key_env needs tools: record or replay"),
        ("live", {"tools_results": "own"}, "tools_results needs tools: replay"),
        ("record", {"tools_file": "tools.jsonl", "tools_latency": "own"}, "tools_latency needs tools: replay"),
    ],
)
def test_what_would_have_no_effect_is_refused(mode: str, given: dict[str, str], needed: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=f"{needed}; leave it out for tools: {mode}"):
        Replay(suite=a_suite(("A",)), replays=2, out=tmp_path / "run", tools_mode=mode, **given)


def test_a_recording_is_never_overwritten_and_never_in_a_run_directory(recorded: Any, tmp_path: Path) -> None:
    agent, _, file = recorded
    before = file.read_bytes()
    (tmp_path / "notes.txt").write_text("mine")
    for out, place, message in (
        ("new", file, "a recording already, which is never overwritten"),
        ("new", tmp_path / "notes.txt", "something else already, which is never overwritten"),
        ("new", tmp_path / "new" / "tools.jsonl", "inside a run directory"),
        ("new", tmp_path / "recorded" / "tools.jsonl", "inside a run directory"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            run(agent, tmp_path / out, "record", place)
        assert not (tmp_path / out).exists()
    assert file.read_bytes() == before
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_recording_goes_on_after_a_crash_and_drops_what_no_agent_was_given(tmp_path: Path) -> None:
    tool, file = Counted(), tmp_path / "tools.jsonl"
    agent = agent_with(tool)
    stop = agent_with(tool)
    stop.cost_usd = 1.0
    agent.cost_usd = 1.0
    money = {"budget_usd": 2.0, "estimated_max_episode_cost_usd": 1.0}
    run(stop, tmp_path / "run", "record", file, **money)
    assert tool.calls == 6
    with file.open("ab") as torn:
        torn.write(b'{"answer":{"half')
    report = run(agent, tmp_path / "run", "record", file)
    assert str(report.status) == "complete"
    assert tool.calls == 18
    assert len(file.read_bytes().split(b"\n")) == 1 + 18 + 1
    file.unlink()
    assert run(agent, tmp_path / "run", "record", file).report_id == report.report_id  # nothing is left to record


def test_a_run_whose_recording_is_gone_does_not_go_on(tmp_path: Path) -> None:
    agent, file = agent_with(Counted()), tmp_path / "tools.jsonl"
    agent.cost_usd = 1.0
    run(agent, tmp_path / "run", "record", file, budget_usd=2.0, estimated_max_episode_cost_usd=1.0)
    file.unlink()
    with pytest.raises(ConfigurationError, match="is gone"):
        run(agent, tmp_path / "run", "record", file)


def test_what_was_never_recorded_is_a_reason_that_is_counted_and_shown(recorded: Any, tmp_path: Path) -> None:
    _, tool, file = recorded
    curious = agent_with(tool, "T k=1 k=2")
    calls = tool.calls
    report = run(curious, tmp_path / "replayed", "replay", file)
    assert tool.calls == calls
    assert report.episodes_not_recorded == 6
    assert {(str(e.status), e.error and e.error.kind) for e in episodes(tmp_path / "replayed")} == {
        ("tool_error", "tool_not_recorded")
    }
    from dfah_cli.report.view import view_of

    assert dict(view_of(report).facts)["not recorded"].startswith("6 episodes of 6")


def test_a_recording_of_other_cases_or_tools_is_refused(recorded: Any, tmp_path: Path) -> None:
    _, _, file = recorded
    suite = a_suite(("A", Case(case_id="B", input={"id": "another"})))
    other = a_scripted_agent({"A": [("Y", "T")], "B": [("Y", "T")]}, suite=suite)
    with pytest.raises(ConfigurationError, match=r"recorded on other cases or tools \(fixture_hash differ\)"):
        run(other, tmp_path / "replayed", "replay", file)


def test_an_agent_without_registered_tools_has_nothing_to_record(tmp_path: Path) -> None:
    agent = a_scripted_agent()
    agent.tools = None
    with pytest.raises(ConfigurationError, match="nothing to record or replay"):
        run(agent, tmp_path / "run", "record", tmp_path / "tools.jsonl")


def test_a_replayed_run_is_not_compared_with_a_live_one_unless_that_is_said(recorded: Any, tmp_path: Path) -> None:
    agent, _, file = recorded
    live = Replay(suite=agent.suite, replays=3, out=tmp_path / "live").run(agent)
    replayed = run(agent, tmp_path / "replayed", "replay", file)
    with pytest.raises(ManifestMismatchError, match=r"different places \(one run: live; the other: recorded \("):
        compare(tmp_path / "live", tmp_path / "replayed", Question())
    with pytest.raises(ManifestMismatchError, match="different places"):
        replayed.compare(live)
    allowed = Question(allowed=Allowances(cross_tools=True))
    assert compare(tmp_path / "live", tmp_path / "replayed", allowed).difference["flags_per_100_cases"] == -100.0
    assert replayed.compare(live, allow_cross_tools=True)["dar"] == 0.0
    # Whether live results were also written down changes nothing that an agent sees.
    assert compare(tmp_path / "live", tmp_path / "recorded", Question()).difference["dar"] == 0.0


def test_the_log_says_which_recording_a_run_made(recorded: Any, tmp_path: Path) -> None:
    from hashlib import sha256

    from dfah_cli.workflow.analyze import open_run
    from dfah_cli.workflow.history import history

    _, _, file = recorded
    notes = [body for _, body in open_run(tmp_path / "recorded").records() if body["t"] == "note"]
    assert [(note["kind"], note["text_sha256"]) for note in notes] == [
        ("tools:recorded", sha256(file.read_bytes()).hexdigest())
    ]
    told = [event.facts for event in history(tmp_path / "recorded") if event.what == "note"]
    assert told == [{"kind": "tools:recorded", "sha256": notes[0]["text_sha256"]}]


def test_a_recorded_line_is_canonical_and_has_no_arguments(recorded: Any) -> None:
    _, _, file = recorded
    for line in file.read_bytes().splitlines()[1:]:
        value = parse(line)
        assert canonical_bytes(value) == line
        assert set(value["slip"]) == {"case_id", "tool", "arguments_sha256", "call"}
