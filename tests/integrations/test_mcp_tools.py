"""Tools of a real MCP server process, over stdio and streamable HTTP."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from dfah_cli.errors import ConfigurationError
from dfah_cli.integrations.declared import agent_from_mapping
from dfah_cli.integrations.loopback.seeded import Seeded
from dfah_cli.integrations.loopback.server import LoopbackProvider
from dfah_cli.integrations.mcp_tools import MCPServer, server_of, tool_specs
from dfah_cli.records.suite import Suite
from tests.integrations.build import SUITE, Ran, needs, run_of
from tests.integrations.test_foreign import children

PROGRAM = [sys.executable, str(Path(__file__).with_name("mcp_server.py"))]


@pytest.fixture(autouse=True)
def _sdk() -> None:
    needs("mcp", "mcp")
    needs("openai", "openai")


@pytest.fixture
def address() -> Iterator[str]:
    """The address of a server process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([*PROGRAM, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 30
        while time.monotonic() < until:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()


def suite_of(server: dict[str, Any]) -> Suite:
    return evolve(SUITE, tools=tool_specs(server_of(server)))


def ran_with(
    server: dict[str, Any], suite: Suite, out: Path, *, parallel: bool = False, limit_s: float | None = 30.0
) -> Ran:
    with LoopbackProvider(Seeded(parallel=parallel)) as provider:
        declared = {"kind": "openai", "model": "m", "base_url": provider.openai_url, "tools": {"mcp": server}}
        return run_of(agent_from_mapping(declared, suite), out, provider, limit_s=limit_s)


def test_tools_of_a_program_are_called_and_recorded(out: Path) -> None:
    server = {"command": PROGRAM}
    before = children()
    suite = suite_of(server)
    assert [tool.name for tool in suite.tools] == ["lookup_customer", "read_policy"]
    ran = ran_with(server, suite, out)
    assert ran.report.status == "complete", (ran.report.ineligibility_reasons, ran.told)
    assert [len(path) for path in ran.paths()] == [2, 2, 2, 2]
    assert children() <= before


def test_tools_behind_an_address_have_the_same_trajectory_as_those_of_a_program(address: str, tmp_path: Path) -> None:
    suite = suite_of({"url": address})
    ran = ran_with({"url": address}, suite, tmp_path / "http")
    assert ran.report.status == "complete", (ran.report.ineligibility_reasons, ran.told)
    assert ran.paths() == ran_with({"command": PROGRAM}, suite, tmp_path / "stdio").paths()


def test_a_changed_list_of_tools_is_a_contract_error(
    out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drift = tmp_path / "drift"
    monkeypatch.setenv("DFAH_TEST_DRIFT", str(drift))
    server = {"command": PROGRAM, "environment": ["DFAH_TEST_DRIFT"]}
    suite = suite_of(server)
    drift.touch()
    ran = ran_with(server, suite, out)
    assert ran.statuses() == {"contract_error"}
    assert not ran.provider.served
    texts = {event.error_text for event in ran.told if getattr(event, "error_text", None)}
    assert any("new: close_account" in text for text in texts)


def test_tools_that_do_not_count_may_come_and_go(out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drift = tmp_path / "drift"
    drift.touch()
    monkeypatch.setenv("DFAH_TEST_DRIFT", str(drift))
    server = {
        "command": PROGRAM,
        "environment": ["DFAH_TEST_DRIFT"],
        "only": ["lookup_customer", "read_policy"],
    }
    assert ran_with(server, suite_of(server), out).report.status == "complete"


def test_a_tool_the_server_calls_failed_is_a_tool_error(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DFAH_TEST_FAIL", "1")
    server = {"command": PROGRAM, "environment": ["DFAH_TEST_FAIL"]}
    assert ran_with(server, suite_of(server), out).statuses() == {"tool_error"}


@pytest.mark.parametrize(
    ("how", "kinds"), [("exit", {"tool_capture_incomplete"}), ("hang", {"episode_timeout"})], ids=["dies", "hangs"]
)
def test_a_server_that_is_lost_in_a_call_ends_its_episode_and_leaves_nothing(
    how: str, kinds: set[str], out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DFAH_TEST_FAIL", how)
    server = {"command": PROGRAM, "environment": ["DFAH_TEST_FAIL"]}
    before = children()
    # A server that died is started again within the next episode.
    ran = ran_with(server, suite_of(server), out, limit_s=60.0 if how == "exit" else 6.0)
    assert {episode.error and episode.error.kind for episode in ran.episodes} == kinds, ran.told
    assert children() <= before


def test_parallel_calls_of_a_server_are_recorded_in_the_order_asked_for(tmp_path: Path) -> None:
    suite = suite_of({"command": PROGRAM})
    ran = ran_with({"command": PROGRAM}, suite, tmp_path / "parallel", parallel=True)
    assert ran.report.status == "complete", ran.told
    assert ran.paths() == ran_with({"command": PROGRAM}, suite, tmp_path / "one by one").paths()


def test_a_server_that_cannot_be_started_is_a_failed_episode(out: Path) -> None:
    ran = ran_with({"command": ["/nowhere/server"]}, suite_of({"command": PROGRAM}), out)
    assert ran.statuses() == {"provider_error"}


@pytest.mark.parametrize("wrong", [{}, {"command": ["a"], "url": "http://x"}, {"comand": ["a"]}, "server"])
def test_a_wrong_declaration_of_a_server_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="mcp"):
        server_of(wrong)


def test_a_server_is_a_program_or_an_address() -> None:
    assert MCPServer(url="http://127.0.0.1:1/mcp").command == ()
