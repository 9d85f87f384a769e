"""The policy of a gate, under the name its users look for."""

from dfah_cli.records.policy import CaseGatePolicy, GatePolicy, NonInferiorityPolicy, TaskGatePolicy, Waiver

__all__ = ["CaseGatePolicy", "GatePolicy", "NonInferiorityPolicy", "TaskGatePolicy", "Waiver"]
