"""The policy of a gate, under the name its users look for."""

from dfah_cli.records.policy import GatePolicy, TaskGatePolicy

__all__ = ["GatePolicy", "TaskGatePolicy"]
