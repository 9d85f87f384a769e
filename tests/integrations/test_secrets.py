"""Secrets are planted wherever an agent can hold one; afterwards every byte that was written is searched for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dfah_cli.integrations.loopback.conversation import Answer, Conversation, Fault, ToolUse
from dfah_cli.integrations.loopback.server import LoopbackProvider
from tests.builders import bytes_below
from tests.cli.command import dfah
from tests.integrations.build import needs
from tests.integrations.collector import collector

KEY = "sk-proj-" + "k" * 40
PLANTED = {
    "key": KEY,
    "prompt": "prompt-secret-zebra-1",
    "case input": "input-secret-zebra-2",
    "raw case id": "id-secret-zebra-3",
    "case metadata": "metadata-secret-zebra-4",
    "tool argument": "argument-secret-zebra-5",
    "tool result": "result-secret-zebra-6",
    "environment": "environment-secret-zebra-7",
    "answer": "answer-secret-zebra-8",
    # The text of an exception may be seen in the log, so there only what looks like a credential is cut out.
    "exception": "sk-ant-api03-" + "e" * 40,
    "tool exception": "ghp_" + "t" * 36,
}
MODULE = f"""
import os
from dfah import Suite
from dfah.integrations import agent_from_mapping

LOCAL = os.environ["UNRELATED_SECRET"]


def look(token):
    if token == "break":
        raise ValueError("wrong token {PLANTED["tool exception"]}")
    return {{"secret": "{PLANTED["tool result"]}"}}


TOOLS = {{"look": look}}
agent = agent_from_mapping(
    {{
        "kind": "openai",
        "model": "m",
        "base_url": os.environ["PROVIDER"],
        "api_key_env": "PRIVATE_KEY",
        "prompt": "prompt.txt",
        "tools": "secretive:TOOLS",
        "max_retries": 0,
    }},
    Suite.load("suite.yaml"),
)
"""
SUITE = f"""
suite_id: secretive
suite_version: 1.0.0
decisions: ["yes", "no"]
tools:
  - name: look
    input_schema: {{type: object, properties: {{token: {{type: string}}}}, required: [token]}}
cases:
  - {{case_id: {PLANTED["raw case id"]}, artifact_case_id: CASE-1, input: {PLANTED["case input"]},
      metadata: {{note: {PLANTED["case metadata"]}}}}}
  - {{case_id: other, artifact_case_id: CASE-2, input: break}}
  - {{case_id: third, artifact_case_id: CASE-3, input: refuse}}
"""


def behave(conversation: Conversation) -> Answer | Fault:
    opening = conversation.opening
    if opening.user == "refuse":
        return Answer(refusal=PLANTED["answer"])
    if conversation.turn:
        return Answer(text=f"Because of {PLANTED['answer']}.\nDECISION: YES")
    token = "break" if opening.user == "break" else PLANTED["tool argument"]
    return Answer(calls=(ToolUse("look", {"token": token}),))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    needs("openai", "openai")
    needs("opentelemetry.exporter.otlp.proto.http", "otel")
    (tmp_path / "secretive.py").write_text(MODULE)
    (tmp_path / "suite.yaml").write_text(SUITE)
    (tmp_path / "prompt.txt").write_text(f"Decide. {PLANTED['prompt']}")
    return tmp_path


def found_in(text: bytes) -> list[str]:
    return [where for where, secret in PLANTED.items() if secret.encode() in text]


def test_no_secret_reaches_an_artifact_a_log_or_a_report(project: Path) -> None:
    with LoopbackProvider(behave) as provider:
        variables = {
            "PROVIDER": provider.openai_url,
            "PRIVATE_KEY": KEY,
            "UNRELATED_SECRET": PLANTED["environment"],
        }
        commands = [
            (
                "run",
                "--agent",
                "secretive:agent",
                "--replays",
                "2",
                "--out",
                "run",
                "--debug-log",
                "debug.log",
                "--otel",
                "--otel-file",
                "spans.jsonl",
            ),
            ("run", "--agent", "secretive:agent", "--replays", "2", "--out", "apart", "--isolation", "process"),
            ("analyze", "run", "--report", "report.html"),
            ("report", "run", "-o", "r.md", "-o", "r.json", "-o", "r.xml"),
            ("inspect", "run", "--case", "CASE-1"),
            ("inspect", "run", "--case", "CASE-2", "--json"),
            ("manifest", "show", "run"),
            ("analyze", "run", "--times"),
            ("export", "run", "--format", "otlp", "-o", "again.jsonl"),
            ("export", "run", "--format", "csv", "--table", "episodes", "-o", "episodes.csv"),
            ("export", "run", "--out", "exchange"),
            ("measure", "spans.jsonl", "--json"),
            ("verify", "run", "--json"),
            ("log", "run"),
            ("check-agent", "--agent", "secretive:agent", "--max-cases", "3", "--out", "check"),
        ]
        with collector() as (address, sent):
            variables |= {"OTEL_EXPORTER_OTLP_ENDPOINT": address, "OTEL_EXPORTER_OTLP_COMPRESSION": "none"}
            shown = [dfah(*command, cwd=project, env=variables) for command in commands]
        # All of it was really there to be leaked.
        headers = {served.headers["authorization"] for served in provider.served}
        bodies = str([served.body for served in provider.served])
    assert headers == {f"Bearer {KEY}"}
    assert all(PLANTED[name] in bodies for name in ("prompt", "case input", "tool argument", "tool result"))
    assert [done.returncode for done in shown][:1] == [4]
    said = "".join(done.stdout + done.stderr for done in shown)
    assert "CASE-1" in said
    assert found_in(said.encode()) == []
    assert sent
    assert found_in(b"".join(sent)) == []
    for name in ("run", "apart", "check", "exchange"):
        assert found_in(bytes_below(project / name)) == [], name
    given = ("secretive.py", "suite.yaml", "prompt.txt")
    written = [place for place in project.iterdir() if place.is_file() and place.name not in given]
    names = {"report.html", "r.md", "r.json", "r.xml", "debug.log", "spans.jsonl", "again.jsonl", "episodes.csv"}
    assert {place.name for place in written} == names
    for place in written:
        assert place.stat().st_size
        assert found_in(place.read_bytes()) == [], place.name


def test_a_failing_provider_leaks_nothing_either(project: Path) -> None:
    with LoopbackProvider([Fault(kind="server_error")]) as provider:
        variables = {"PROVIDER": provider.openai_url, "PRIVATE_KEY": KEY, "UNRELATED_SECRET": "x"}
        done = dfah("run", "--agent", "secretive:agent", "--out", "run", cwd=project, env=variables)
    assert done.returncode == 4
    assert found_in((done.stdout + done.stderr).encode() + bytes_below(project / "run")) == []


def test_a_missing_key_is_named_by_its_variable_only(project: Path) -> None:
    variables = {"PROVIDER": "http://example.invalid/v1", "UNRELATED_SECRET": "x", "OPENAI_API_KEY": KEY}
    done = dfah("run", "--agent", "secretive:agent", "--out", "run", cwd=project, env=variables)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "PRIVATE_KEY" in done.stderr
    assert KEY not in done.stderr
    assert not (project / "run").exists()
