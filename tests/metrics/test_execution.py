from __future__ import annotations

import pytest

from dfah_cli.metrics.execution import execution_summary
from dfah_cli.records.trajectory import UNAVAILABLE, ToolCall, Trajectory

HASH = "0" * 64


def a_call(name: str, state: str) -> ToolCall:
    executed = state == "executed"
    return ToolCall(
        name=name,
        execution_state=state,  # type: ignore[arg-type]
        result_state="observed_nonempty" if executed else "malformed",  # type: ignore[arg-type]
        output_hash=HASH if executed else None,
    )


def test_calls_are_counted_by_how_far_they_got() -> None:
    states = ("executed", "executed", "rejected", "requested", "error")
    found = execution_summary(Trajectory.of(tuple(a_call(f"t{i}", state) for i, state in enumerate(states))))
    assert (found.captured_invocations, found.completed_invocations) == (5, 2)
    assert (found.rejected_invocations, found.unresolved_proposals, found.errored_invocations) == (1, 1, 1)
    assert found.completed_tool_names == ("t0", "t1")
    assert found.all_proposals_terminal is False


def test_no_call_is_zero_but_an_unobserved_channel_is_unknown() -> None:
    empty = execution_summary(Trajectory.of(()))
    assert (empty.captured_invocations, empty.completed_tool_names, empty.all_proposals_terminal) == (0, (), True)
    unknown = execution_summary(UNAVAILABLE)
    assert (unknown.captured_invocations, unknown.completed_tool_names) == (None, None)
    assert unknown.all_proposals_terminal is None


def test_anything_else_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="Trajectory, not list"):
        execution_summary([])  # type: ignore[arg-type]
