"""Constructors coerce nothing but what adapters rely on, and refuse with one class that names the field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve

from dfah_cli.canonical import digest
from dfah_cli.errors import DFAHError, ValidationError
from dfah_cli.planning.plan import Design
from dfah_cli.records.enums import ChannelState, ToolExecutionState
from dfah_cli.records.episode import AgentResult, Usage
from dfah_cli.records.policy import GatePolicy, TaskGatePolicy
from dfah_cli.records.trajectory import ToolCall, Trajectory
from tests.builders import OBJECT, a_call, a_case, a_manifest, a_suite, a_tool, a_wire

NAN = float("nan")
SECRET = "sk-" + "ant-api03-a1B2c3D4e5F6g7H8i9J0k1L2m3"
HEX = "a" * 64


def a_result(**changes: Any) -> AgentResult:
    return AgentResult(**{"output_text": "", "trajectory": Trajectory.of(()), "wire_request": a_wire(), **changes})


def a_usage(**changes: Any) -> Usage:
    return Usage(**changes)


def a_policy(**changes: Any) -> GatePolicy:
    return GatePolicy(**changes)


def a_task_policy(**changes: Any) -> TaskGatePolicy:
    return TaskGatePolicy(**{"task": "t", **changes})


def a_design(**changes: Any) -> Design:
    return Design(**changes)


def an_echo(**changes: Any) -> Any:
    return evolve(a_wire(), **changes)


def a_record_manifest(**changes: Any) -> Any:
    return evolve(a_manifest(), **changes)


def shown(value: Any) -> str:
    """A name for a case that says the type, not the value: values are long or secret."""
    if callable(value):
        return getattr(value, "__name__", "?")
    return value if isinstance(value, str) and value.isidentifier() else type(value).__name__


REFUSED: list[tuple[Callable[..., Any], str, Any]] = [
    *[(a_case, "case_id", bad) for bad in ("", " ", "\u3000", "a\nb", "a\x00", "a\x85", "a\ud800", 5, None, SECRET)],
    *[(a_case, "artifact_case_id", bad) for bad in ("", " ", "\t", 5, True, SECRET, "x" * 5000)],
    *[(a_case, "task", bad) for bad in ("", "  ", "a\x1bb", 1, None, SECRET)],
    *[(a_case, "input", bad) for bad in (NAN, b"x", {1: 2}, {"a": {2}}, "\udc80", object(), 10**4300)],
    *[(a_case, "metadata", bad) for bad in (None, [], "x", {"a": NAN}, {1: 1})],
    (a_case, "schema_version", "1.1"),
    *[(a_tool, "name", bad) for bad in ("", " ", "a\rb", 3, SECRET)],
    *[(a_tool, "description", bad) for bad in (None, 3, "\ud800")],
    *[(a_tool, "input_schema", bad) for bad in (None, [], {}, {"type": "array"}, {"type": ["object"]}, {"type": 3})],
    *[(a_suite, "suite_id", bad) for bad in ("", "\n", "a\tb", 3, SECRET)],
    *[(a_suite, "suite_version", bad) for bad in ("1", "1.0", "v1.0.0", "01.0.0", "1.0.0\n", " 1.0.0", "1.0.٠", 1.0)],
    *[(a_suite, "decisions", bad) for bad in ((), ("a",), "ab", ("a", "A"), ("a", " a "), ("a", "1b"), ("a", "b c"))],
    *[(a_suite, "decisions", bad) for bad in (("a", "b\n"), ("a", "\tb"), ("a", "b\x00"), ("a", "é"), ("a", 3))],
    (a_suite, "decisions", ("a", "\u212a")),
    *[(a_suite, "tools", bad) for bad in (("T", "T"), ("é", "e\u0301"))],
    *[(a_suite, "required_channels", bad) for bad in ((), ("decision",), ("decision", "evidence"), "decision")],
    (a_suite, "description", 3),
    *[(a_usage, "input_tokens", bad) for bad in (-1, 1.0, True, "1", None, 2**53)],
    *[(a_usage, "provider_usage", bad) for bad in (None, [], {"a": NAN}, {"a": SECRET})],
    *[(a_result, "cost_usd", bad) for bad in (-0.01, NAN, float("inf"), True, "0.9", None, 10**400, 1e300)],
    *[(a_result, "output_text", bad) for bad in (None, b"x", 3, "\ud800")],
    *[(a_result, "trajectory", bad) for bad in (None, (), {})],
    *[(a_result, "wire_request", bad) for bad in (None, {})],
    *[(a_result, "usage", bad) for bad in (None, {}, 3)],
    *[(a_result, "refused", bad) for bad in (None, 1, "yes")],
    *[(a_result, "raw_capture_hash", bad) for bad in ("", "A" * 64, "a" * 63, HEX + "\n", 3)],
    *[(a_result, "provider_response_id", bad) for bad in ("", "a\n", 3, SECRET)],
    *[(an_echo, name, bad) for name in ("provider", "model", "adapter") for bad in ("", " ", None, 3, SECRET)],
    *[(an_echo, name, bad) for name in ("endpoint", "adapter_version") for bad in ("", 3, SECRET)],
    *[(an_echo, "payload_hash", bad) for bad in ("", "g" * 64, None, HEX.upper())],
    *[(an_echo, "parameters", bad) for bad in (None, [], {"a": NAN}, {"key": SECRET}, {SECRET: 1})],
    (an_echo, "parameters_attested", 1),
    *[(a_record_manifest, "temperature", bad) for bad in (-0.1, True, "0", NAN, 10**400)],
    *[(a_record_manifest, "top_p", bad) for bad in (-0.1, 1.1, True, "1")],
    *[(a_record_manifest, "seed", bad) for bad in (1.0, True, "1", 2**64)],
    *[(a_record_manifest, "decision_ontology", bad) for bad in (("y",), ("Y", "n"), ("y", "y"), "yn", ("y\n", "n"))],
    *[(a_record_manifest, "git_sha", bad) for bad in ("", "0" * 39, "G" * 40, "0" * 41)],
    *[(a_record_manifest, "implementation_hash", bad) for bad in ("", "0" * 63, "G" * 64)],
    *[(a_record_manifest, "request_parameters", bad) for bad in (None, {"k": SECRET}, {"k": b"x"})],
    (a_record_manifest, "capture_raw_content", 1),
    *[(a_call, "latency_ms", bad) for bad in (-1, NAN, True, "1")],
    *[(a_call, "name", bad) for bad in ("", " ", "a\n", None, SECRET)],
    *[(a_call, "arguments", bad) for bad in ({"k": NAN}, {"k": b"x"})],
    *[(a_call, "result_state", bad) for bad in ("seen", None, 1)],
    *[(a_call, "execution_state", bad) for bad in ("done", None, 1)],
    *[(a_call, "call_id", bad) for bad in ("", "a\n", 3, SECRET)],
    *[(a_design, "replays", bad) for bad in (1, 0, -3, 2.5, 3.0, "3", True, None)],
    *[(a_design, "seed", bad) for bad in (1.0, "1", None, True, 2**64)],
    *[(a_design, "sample_rate", bad) for bad in (0, 0.0, 1.1, -1, "1", None, True, NAN)],
    *[(a_design, "episode_timeout_s", bad) for bad in (0, -1, NAN, float("inf"), "5", True)],
    *[(a_design, "limit", bad) for bad in (0, -1, 1.5, True)],
    *[(a_design, "only", bad) for bad in ("A", ("",), (3,))],
    *[(a_policy, "min_dar", bad) for bad in (-0.1, 1.1, "0.9", True, NAN)],
    *[(a_policy, "max_gap", bad) for bad in (-1.1, 1.1, "0", True)],
    *[(a_policy, "max_flags_per_100_cases", bad) for bad in (-1, 101, "5", True)],
    *[(a_policy, "max_cost_per_case_usd", bad) for bad in (-1, "5", True, float("inf"))],
    *[(a_policy, "required_replays", bad) for bad in (1, 2.0, "3", True)],
    *[(a_policy, "min_observed_groups", bad) for bad in (0, 1.0, True)],
    *[(a_policy, "require_complete", bad) for bad in (1, "yes", None)],
    (a_policy, "by_task", (TaskGatePolicy(task="t"), TaskGatePolicy(task="t"))),
    *[(a_task_policy, "task", bad) for bad in ("", None)],
    *[(a_task_policy, "min_observed_groups", bad) for bad in (0, None)],
]


@pytest.mark.parametrize(("build", "field", "value"), REFUSED, ids=shown)
def test_an_invalid_field_is_refused_by_name_and_never_quoted(
    build: Callable[..., Any], field: str, value: Any
) -> None:
    with pytest.raises(ValidationError) as caught:
        build(**{field: value})
    assert isinstance(caught.value, DFAHError)
    assert isinstance(caught.value, ValueError)
    assert field in str(caught.value)
    assert "a1B2c3D4" not in str(caught.value)
    assert len(str(caught.value)) < 1000


ACCEPTED: list[tuple[Callable[..., Any], str, Any, Any]] = [
    (a_result, "cost_usd", 1, 1.0),
    (a_design, "sample_rate", 1, 1.0),
    (a_design, "episode_timeout_s", 5, 5.0),
    (a_record_manifest, "temperature", 0, 0.0),
    (a_suite, "decisions", ["a", "B"], ("a", "B")),
    (a_suite, "required_channels", ["trajectory", "decision"], ("trajectory", "decision")),
    (a_call, "result_state", "observed_empty", ChannelState.OBSERVED_EMPTY),
    (a_call, "execution_state", "executed", ToolExecutionState.EXECUTED),
    (a_call, "latency_ms", 2, 2.0),
    (a_case, "input", (1, (2,)), [1, [2]]),
    (a_case, "input", None, None),
    (a_case, "case_id", "é ✓ [/x]", "é ✓ [/x]"),
    (a_suite, "decisions", (" Yes ", "NO"), (" Yes ", "NO")),
    (a_policy, "min_dar", 1, 1.0),
]


@pytest.mark.parametrize(("build", "field", "value", "kept"), ACCEPTED)
def test_what_adapters_rely_on_is_converted(build: Callable[..., Any], field: str, value: Any, kept: Any) -> None:
    found = getattr(build(**{field: value}), field)
    assert found == kept
    assert type(found) is type(kept)


def test_a_missing_or_unknown_field_is_refused() -> None:
    from dfah_cli.records.case import Case

    with pytest.raises(TypeError, match="input"):
        Case(case_id="A")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="colour"):
        a_case(colour="red")


def test_records_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        a_case().case_id = "B"
    with pytest.raises(AttributeError):
        a_suite().cases = ()


def test_changing_a_record_validates_again() -> None:
    with pytest.raises(ValidationError, match=r"Usage\.input_tokens"):
        evolve(Usage(), input_tokens=-1)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"output_hash": None, "result_state": "unavailable"}, "observed result_state"),
        ({"result_state": "malformed"}, "observed result_state"),
        ({"output_hash": None}, "output_hash"),
        ({"execution_state": "requested"}, "no output"),
        ({"execution_state": "rejected"}, "no output"),
        ({"arguments": {"x": "1"}, "arguments_redacted": True, "arguments_hash": HEX}, "must be empty"),
        ({"arguments_redacted": True}, "need arguments_hash"),
        ({"arguments": {"x": "1"}, "arguments_hash": HEX}, "digest of the arguments"),
    ],
)
def test_a_tool_call_must_be_consistent(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        a_call(**changes)


def test_a_bare_tool_call_is_invalid_because_executed_needs_a_result() -> None:
    with pytest.raises(ValidationError):
        ToolCall(name="x")


def test_the_argument_hash_of_an_open_call_is_that_of_its_arguments() -> None:
    assert a_call(arguments={"x": "1"}).argument_hash == digest({"x": "1"})
    redacted = a_call(arguments_redacted=True, arguments_hash=HEX)
    assert (redacted.argument_hash, redacted.arguments) == (HEX, {})


@pytest.mark.parametrize(
    ("state", "calls"),
    [("observed_empty", 1), ("observed_nonempty", 0), ("unavailable", 1), ("malformed", 1)],
)
def test_a_trajectory_has_calls_exactly_when_it_is_observed_nonempty(state: str, calls: int) -> None:
    with pytest.raises(ValidationError):
        Trajectory(state=state, tool_calls=(a_call(),) * calls)


def test_observed_empty_is_not_unavailable() -> None:
    empty, unavailable = Trajectory.of(()), Trajectory(state="unavailable")
    assert empty != unavailable
    assert (empty.state.observed, unavailable.state.observed) == (True, False)


def test_a_manifest_names_its_code() -> None:
    with pytest.raises(ValidationError, match="git_sha nor implementation_hash"):
        evolve(a_manifest(), git_sha=None, implementation_hash=None)


def test_total_tokens_are_input_and_output() -> None:
    assert Usage(input_tokens=3, output_tokens=4, cached_input_tokens=9, reasoning_tokens=9).total_tokens == 7


def test_a_tool_schema_default_is_itself_invalid() -> None:
    from dfah_cli.records.tool_spec import ToolSpec

    with pytest.raises(ValidationError, match="object"):
        ToolSpec(name="x")
    assert a_tool().input_schema == OBJECT
