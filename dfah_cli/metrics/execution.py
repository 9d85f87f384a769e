"""How far the proposed tool calls of one episode got. Pure; changes no agreement number."""

from __future__ import annotations

from collections import Counter

from attrs import frozen

from dfah_cli.records.enums import ChannelState, ToolExecutionState
from dfah_cli.records.trajectory import Trajectory


@frozen(kw_only=True)
class ExecutionSummary:
    """Counts by execution state; all None when the trajectory was not observed."""

    source_state: ChannelState
    captured_invocations: int | None = None
    completed_invocations: int | None = None
    rejected_invocations: int | None = None
    unresolved_proposals: int | None = None
    errored_invocations: int | None = None
    completed_tool_names: tuple[str, ...] | None = None

    @property
    def all_proposals_terminal(self) -> bool | None:
        """Whether no call is left without an outcome; None when the trajectory was not observed."""
        return None if self.unresolved_proposals is None else self.unresolved_proposals == 0


def execution_summary(trajectory: Trajectory) -> ExecutionSummary:
    """Counts of one trajectory. Raises: TypeError for anything else."""
    if not isinstance(trajectory, Trajectory):
        raise TypeError(f"execution_summary takes a Trajectory, not {type(trajectory).__name__}")
    if not trajectory.state.observed:
        return ExecutionSummary(source_state=trajectory.state)
    states = Counter(call.execution_state for call in trajectory.tool_calls)
    completed = ToolExecutionState.EXECUTED
    return ExecutionSummary(
        source_state=trajectory.state,
        captured_invocations=len(trajectory.tool_calls),
        completed_invocations=states[completed],
        rejected_invocations=states[ToolExecutionState.REJECTED],
        unresolved_proposals=states[ToolExecutionState.REQUESTED],
        errored_invocations=states[ToolExecutionState.ERROR],
        completed_tool_names=tuple(c.name for c in trajectory.tool_calls if c.execution_state is completed),
    )
