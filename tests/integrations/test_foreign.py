"""Agents outside this process: behind an HTTP endpoint, or a program that speaks JSON lines."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from dfah_cli.errors import AgentContractError, ConfigurationError
from dfah_cli.integrations.declared import agent_from_mapping
from dfah_cli.integrations.foreign import reply_of
from dfah_cli.integrations.loopback.server import LoopbackProvider
from tests.integrations.build import SUITE, Ran, lookup_customer, run_of
from tests.integrations.test_frameworks import EXPECTED

PROGRAM = str(Path(__file__).with_name("foreign_agent.py"))
SILENT = LoopbackProvider()


def process_run(out: Path, *words: str, **options: Any) -> Ran:
    declared = {
        "kind": "process",
        "model": "agent-1",
        "command": [sys.executable, PROGRAM, *words],
        "tools": "tests.integrations.build:TOOLS",
        "parameters": {"temperature": 0.0},
    }
    return run_of(agent_from_mapping(declared, SUITE), out, SILENT, **options)


def test_a_program_has_the_trajectory_of_any_other_agent(out: Path) -> None:
    ran = process_run(out)
    assert ran.report.status == "complete", ran.told
    assert ran.paths() == EXPECTED
    assert ran.report.total_cost_usd == 2.0


def test_a_program_may_ask_for_several_tools_at_once(out: Path) -> None:
    assert process_run(out, "parallel").paths() == EXPECTED


@pytest.mark.parametrize(
    ("word", "status", "kind"),
    [
        ("exit", "provider_error", "ProcessEndedError"),
        ("noise", "contract_error", "AgentContractError"),
        ("bad-arguments", "tool_error", "tool_capture_incomplete"),
        ("refuse", "refusal", "refusal"),
    ],
)
def test_a_misbehaving_program_is_a_failed_episode(word: str, status: str, kind: str, out: Path) -> None:
    ran = process_run(out, word)
    assert {(one.status.value, one.error and one.error.kind) for one in ran.episodes} == {(status, kind)}


def test_the_last_words_of_a_program_are_in_the_log_only(out: Path) -> None:
    ran = process_run(out, "exit")
    texts = [event.error_text for event in ran.told if getattr(event, "error_text", None)]
    assert any("no more work" in text for text in texts)
    assert b"no more work" not in b"".join(place.read_bytes() for place in out.rglob("*") if place.is_file())


def test_a_program_that_hangs_is_killed_with_its_episode(out: Path) -> None:
    before = children()
    ran = process_run(out, "sleep", limit_s=0.7)
    assert {one.error and one.error.kind for one in ran.episodes} == {"episode_timeout"}
    assert children() <= before


def children() -> set[str]:
    """Process ids of the children of this process."""
    found = set()
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid():
            found.add(place.parent.name)
    return found


def test_a_program_that_cannot_be_started_is_named(out: Path) -> None:
    tools = "tests.integrations.build:TOOLS"
    declared = {"kind": "process", "model": "m", "command": ["/nowhere/agent"], "tools": tools}
    ran = run_of(agent_from_mapping(declared, SUITE), out, SILENT)
    assert {one.error and one.error.kind for one in ran.episodes} == {"ConfigurationError"}


Serve = Callable[[dict[str, Any], dict[str, str]], tuple[int, bytes]]


@contextmanager
def endpoint(serve: Serve) -> Iterator[str]:
    """An endpoint; `serve` gets the question and the headers."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            status, body = serve(asked, dict(self.headers.items()))
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            if status == 307:
                self.send_header("location", "http://127.0.0.1:1/elsewhere")
            self.end_headers()
            self.wfile.write(body)

    class Server(ThreadingHTTPServer):
        daemon_threads, block_on_close = True, False

        def handle_error(self, request: Any, client_address: Any) -> None:
            """What a test raises is meant to end the connection."""

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/decide"
    finally:
        server.shutdown()
        server.server_close()


def answer_to(asked: dict[str, Any]) -> dict[str, Any]:
    customer = asked["input"]["customer"]
    return {
        "output_text": "DECISION: APPROVE",
        "tool_calls": [
            {"name": "lookup_customer", "arguments": {"customer": customer}, "output": lookup_customer(customer)},
            {"name": "read_policy", "arguments": {"customer": customer}, "output": ["refund within 30 days"]},
        ],
        "response_id": "r-1",
    }


def http_run(out: Path, serve: Serve, *, limit_s: float | None = 30.0, **changes: Any) -> Ran:
    with endpoint(serve) as url:
        declared = {"kind": "http", "model": "agent-1", "url": url, **changes}
        return run_of(agent_from_mapping(declared, SUITE), out, SILENT, limit_s=limit_s)


def test_an_endpoint_tells_its_own_path(out: Path) -> None:
    ran = http_run(out, lambda asked, _: (200, json.dumps(answer_to(asked)).encode()))
    assert ran.report.status == "complete", ran.told
    assert ran.paths() == EXPECTED


def test_an_endpoint_is_asked_the_same_for_every_replay_and_told_the_slot_in_a_header(out: Path) -> None:
    seen: list[tuple[str, str]] = []

    def serve(asked: dict[str, Any], headers: dict[str, str]) -> tuple[int, bytes]:
        seen.append((json.dumps(asked, sort_keys=True), headers["Idempotency-Key"]))
        return 200, json.dumps(answer_to(asked)).encode()

    http_run(out, serve)
    assert len({asked for asked, _ in seen}) == 2
    assert len({key for _, key in seen}) == 4


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (500, b"{}", "provider_error"),
        (429, b"{}", "provider_error"),
        (307, b"{}", "provider_error"),
        (200, b"<html>", "provider_error"),
        (200, b"[]", "contract_error"),
        (200, b'{"output_text": 1}', "contract_error"),
        (200, b'{"output_text": "DECISION: APPROVE", "tools": []}', "contract_error"),
        (200, b'{"output_text": "DECISION: APPROVE", "tool_calls": [{"name": "no", "output": 1}]}', "contract_error"),
        (200, b'{"output_text": "DECISION: APPROVE", "cost_usd": -1}', "contract_error"),
        (200, b'{"output_text": "no", "refused": true}', "refusal"),
    ],
)
def test_what_an_endpoint_answers_decides_the_status(status: int, body: bytes, expected: str, out: Path) -> None:
    ran = http_run(out, lambda _asked, _headers: (status, body))
    assert ran.statuses() == {expected}, ran.told


def test_an_endpoint_that_resets_the_connection_is_a_provider_error(out: Path) -> None:
    def serve(_asked: dict[str, Any], _headers: dict[str, str]) -> tuple[int, bytes]:
        raise ConnectionResetError

    assert http_run(out, serve).statuses() == {"provider_error"}


def test_a_silent_endpoint_is_a_timeout(out: Path) -> None:
    over = threading.Event()

    def serve(asked: dict[str, Any], _headers: dict[str, str]) -> tuple[int, bytes]:
        over.wait(20)
        return 200, json.dumps(answer_to(asked)).encode()

    ran = http_run(out, serve, limit_s=0.5)
    over.set()
    assert {episode.error and episode.error.kind for episode in ran.episodes} == {"episode_timeout"}


def test_a_missing_key_of_an_endpoint_is_refused_before_anything_is_written(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DECIDE_KEY", raising=False)
    with pytest.raises(ConfigurationError, match="DECIDE_KEY is not set"):
        http_run(out, lambda _asked, _headers: (200, b"{}"), api_key_env="DECIDE_KEY")
    assert not out.exists()


def test_the_key_of_an_endpoint_comes_from_the_environment_and_stays_out_of_the_run(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DECIDE_KEY", "very-private-token")
    seen: set[str] = set()

    def serve(asked: dict[str, Any], headers: dict[str, str]) -> tuple[int, bytes]:
        seen.add(headers["Authorization"])
        return 200, json.dumps(answer_to(asked)).encode()

    http_run(out, serve, api_key_env="DECIDE_KEY")
    assert seen == {"Bearer very-private-token"}
    assert b"very-private" not in b"".join(place.read_bytes() for place in out.rglob("*") if place.is_file())


def test_an_endpoint_without_an_address_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"adapter\.url"):
        agent_from_mapping({"kind": "http", "model": "m"}, SUITE)


def test_an_answer_is_never_quoted_in_a_refusal() -> None:
    with pytest.raises(AgentContractError) as caught:
        reply_of({"output_text": "x", "usage": {"private": 1}}, {}, own_tools=False)
    assert "private" not in str(caught.value).replace("usage has other keys", "")
