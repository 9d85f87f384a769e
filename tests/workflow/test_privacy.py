"""What never reaches a byte of the run directory: raw ids, outputs, arguments, results, rejected values, error text."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from dfah_cli.errors import ValidationError
from dfah_cli.records.episode import Usage
from dfah_cli.records.trajectory import Trajectory
from dfah_cli.workflow.analyze import episodes
from tests.builders import (
    STEADY,
    a_call,
    a_case,
    a_manifest,
    a_registry,
    a_scripted_agent,
    a_suite,
    a_wire,
    bytes_below,
    replayed,
)

SECRET = "sk-" + "ant-api03-a1B2c3D4e5F6g7H8i9J0k1L2m3"


async def tries(context: Any, name: str, **arguments: Any) -> Any:
    try:
        return await context.tools.call(name, **arguments)
    except Exception:
        return None


def test_a_run_keeps_hashes_and_no_content(out: Path) -> None:
    private = {
        "raw id": b"RAW-4711",
        "input": b"the-private-input",
        "metadata": b"the-private-metadata",
        "output": b"the-private-output",
        "argument": b"the-private-argument",
        "result": b"the-private-result",
        "payload": b"the-private-payload",
        "rejected": b"the-rejected-value",
        "error": b"the-private-error",
    }

    async def script(case: Any, context: Any) -> Any:
        await context.tools.call("k", x="the-private-argument")
        if context.replay_index == 1:
            await tries(context, "k", x=["the-rejected-value"])
        if context.replay_index == 2:
            raise RuntimeError("the-private-error")
        wire = a_wire(agent.manifest, payload={"prompt": "the-private-payload"})
        return agent.result(context, "the-private-output\nDECISION: Y", wire_request=wire)

    case = a_case("RAW-4711", artifact_case_id="P", input="the-private-input", metadata={"m": "the-private-metadata"})
    suite = a_suite((case,))
    agent = a_scripted_agent(
        {"P": [script]}, suite=suite, tools=a_registry(suite, {"k": lambda x: "the-private-result"})
    )
    assert replayed(agent, out).episodes_completed == 3
    kept = bytes_below(out)
    assert b'"case_id":"P"' in kept
    assert [name for name, text in private.items() if text in kept] == []


def test_arguments_are_kept_only_when_capture_is_asked_for(out: Path, tmp_path: Path) -> None:
    agent = a_scripted_agent({"A": [("Y", "k=the-argument")]})
    replayed(agent, out)
    replayed(agent, tmp_path / "open", capture_tool_arguments=True)
    closed, opened = ((*episodes(place),)[0].trajectory.tool_calls[0] for place in (out, tmp_path / "open"))
    assert (closed.arguments, closed.arguments_redacted) == ({}, True)
    assert (opened.arguments, opened.arguments_redacted) == ({"x": "the-argument"}, False)
    assert closed.arguments_hash == opened.arguments_hash
    assert b"the-argument" not in bytes_below(out)
    assert b"the-argument" in bytes_below(tmp_path / "open")


@pytest.mark.parametrize("manual", [True, False], ids=["manual", "session"])
def test_a_captured_argument_that_looks_like_a_credential_is_redacted_all_the_same(manual: bool, out: Path) -> None:
    async def script(case: Any, context: Any) -> Any:
        if manual:
            return agent.result(context, trajectory=Trajectory.of((a_call("k", {"x": SECRET}),)))
        await context.tools.call("k", x=SECRET)
        return agent.result(context)

    agent = a_scripted_agent({"A": [script]})
    if manual:
        agent.tools = None
    assert replayed(agent, out, capture_tool_arguments=True).status == "complete"
    assert SECRET.encode() not in bytes_below(out)
    (call,) = next(episodes(out)).trajectory.tool_calls
    assert (call.arguments_redacted, call.arguments) == (True, {})


@pytest.mark.parametrize(
    ("name", "arguments", "states"),
    [
        ("k", {"x": 5}, ("rejected", "malformed")),
        ("k", {"other": "v"}, ("rejected", "malformed")),
        ("absent", {"x": "v"}, ("rejected", "unavailable")),
        ("k", {"x": float("nan")}, ("rejected", "malformed")),
        ("k", {"x": b"bytes"}, ("rejected", "malformed")),
        ("k", {"x": "\ud800"}, ("rejected", "malformed")),
        ("k", {"x": object()}, ("rejected", "malformed")),
        ("bad\nname", {}, ("rejected", "unavailable")),
        (SECRET, {}, ("rejected", "unavailable")),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_rejected_call_is_recorded_and_its_function_never_runs(
    name: str, arguments: dict[str, Any], states: tuple[str, str], out: Path
) -> None:
    ran: list[Any] = []

    async def script(case: Any, context: Any) -> Any:
        await tries(context, name, **arguments)
        return agent.result(context)

    suite = a_suite(("A",))
    agent = a_scripted_agent(
        {"A": [script]}, suite=suite, tools=a_registry(suite, {"k": lambda **given: ran.append(given)})
    )
    replayed(agent, out)
    assert ran == []
    for episode in episodes(out):
        (call,) = episode.trajectory.tool_calls
        assert (call.execution_state.value, call.result_state.value) == states
        assert call.output_hash is None
        assert episode.status.value == "tool_error"
    assert SECRET.encode() not in bytes_below(out)


@pytest.mark.parametrize("result", [float("nan"), b"x", object(), {1: 2}, "\ud800"], ids=lambda v: type(v).__name__)
def test_a_result_that_cannot_be_hashed_is_an_error_of_the_call(result: Any, out: Path) -> None:
    suite = a_suite(("A",))
    agent = a_scripted_agent(
        {"A": [lambda _, c: walks(c)]}, suite=suite, tools=a_registry(suite, {"T": lambda: result})
    )

    async def walks(context: Any) -> Any:
        await tries(context, "T")
        return agent.result(context)

    replayed(agent, out)
    (call,) = next(episodes(out)).trajectory.tool_calls
    assert (call.execution_state.value, call.result_state.value) == ("error", "malformed")
    assert {e.status.value for e in episodes(out)} == {"tool_error"}


@pytest.mark.parametrize(
    ("result", "state"),
    [(None, "empty"), ("", "empty"), ([], "empty"), ({}, "empty"), ((), "empty"), (0, "nonempty"), (False, "nonempty")],
    ids=lambda value: type(value).__name__,
)
def test_an_empty_result_is_observed_empty(result: Any, state: str, out: Path) -> None:
    suite = a_suite(("A",))
    agent = a_scripted_agent({"A": [("Y", "T")]}, suite=suite, tools=a_registry(suite, {"T": lambda: result}))
    assert replayed(agent, out).status == "complete"
    (call,) = next(episodes(out)).trajectory.tool_calls
    assert call.result_state.value == f"observed_{state}"


def test_the_session_gives_the_raw_value_to_the_adapter(out: Path) -> None:
    raw = {"deep": ["value", 1]}
    seen: list[Any] = []

    async def script(case: Any, context: Any) -> Any:
        seen.append(await context.tools.call("T"))
        return agent.result(context)

    suite = a_suite(("A",))
    agent = a_scripted_agent({"A": [script]}, suite=suite, tools=a_registry(suite, {"T": lambda: raw}))
    replayed(agent, out)
    assert seen[0] is raw


@pytest.mark.parametrize(
    "build",
    [
        lambda: a_manifest(request_parameters={"temperature": 0.0, "top_p": 1.0, "seed": 7, "key": SECRET}),
        lambda: a_manifest(model=SECRET),
        lambda: a_wire(endpoint=SECRET),
        lambda: Usage(provider_usage={"k": SECRET}),
        lambda: a_call(call_id=SECRET),
        lambda: a_suite((a_case(SECRET),)),
        lambda: a_suite((a_case("A", task=SECRET),)),
        lambda: a_suite(decisions=("ok", SECRET)),
        lambda: a_suite(tools=(SECRET,)),
    ],
)
def test_what_looks_like_a_credential_never_becomes_an_identity(build: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        build()
    assert SECRET not in str(caught.value)


def test_directories_are_700_and_files_600_whatever_the_umask(out: Path) -> None:
    previous = os.umask(0)
    try:
        replayed(a_scripted_agent({"A": [STEADY]}), out)
    finally:
        os.umask(previous)
    for place in (out, *out.rglob("*")):
        mode = stat.S_IMODE(place.stat().st_mode)
        assert mode == (0o700 if place.is_dir() else 0o600), place


def test_raw_content_flags_of_a_manifest_are_provenance_only(out: Path) -> None:
    agent = a_scripted_agent({"A": [lambda _, c: agent.result(c, "the-raw-output\nDECISION: Y")]},
                             manifest=a_manifest(a_suite(("A",)), capture_raw_content=True))  # fmt: skip
    report = replayed(agent, out)
    assert report.manifest.capture_raw_content is True
    assert b"the-raw-output" not in bytes_below(out)
