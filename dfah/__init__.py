"""The public contract: every name of it, from where it lives in `dfah_cli`.

Names are resolved when they are first used, so that importing this package is cheap and needs no optional package.
"""

from typing import TYPE_CHECKING

from dfah._names import HOME
from dfah_cli.version import __version__

if TYPE_CHECKING:
    from dfah_cli.adapter.contract import Agent, RunContext
    from dfah_cli.adapter.decorator import CallableAgent, agent
    from dfah_cli.adapter.manifest import build_manifest
    from dfah_cli.adapter.registry import ToolRegistry
    from dfah_cli.adapter.session import ToolSession
    from dfah_cli.errors import (
        AgentContractError,
        ArtifactError,
        BudgetExceededError,
        ConfigurationError,
        DFAHError,
        EligibilityError,
        GateViolationError,
        ManifestMismatchError,
        SuiteVersionMismatchError,
        ToolExecutionError,
        ValidationError,
    )
    from dfah_cli.gate.evaluate import Gate, GateResult
    from dfah_cli.gate.record import GateRecord
    from dfah_cli.records.case import Case
    from dfah_cli.records.enums import (
        ChannelState,
        ConformanceStatus,
        DispatchState,
        EpisodeStatus,
        PathVariationKind,
        ReplayMode,
        ToolExecutionState,
    )
    from dfah_cli.records.episode import AgentResult, Decision, Episode, ParseProvenance, Usage
    from dfah_cli.records.manifest import Manifest
    from dfah_cli.records.policy import GatePolicy, TaskGatePolicy
    from dfah_cli.records.suite import Suite
    from dfah_cli.records.tool_spec import ToolSpec
    from dfah_cli.records.trajectory import ToolCall, Trajectory
    from dfah_cli.records.wire import WireRequest
    from dfah_cli.report.cases import CaseReport, Eligibility, EligibilityReasonCount, TARReport
    from dfah_cli.report.explain import CaseExplanation
    from dfah_cli.report.record import Report
    from dfah_cli.workflow.conformance import ConformanceReport
    from dfah_cli.workflow.every_eval_ever import (
        EveryEvalEverExportResult,
        export_every_eval_ever,
        validate_every_eval_ever,
    )
    from dfah_cli.workflow.replay import Replay

__all__ = [
    "Agent",
    "AgentContractError",
    "AgentResult",
    "ArtifactError",
    "BudgetExceededError",
    "CallableAgent",
    "Case",
    "CaseExplanation",
    "CaseReport",
    "ChannelState",
    "ConfigurationError",
    "ConformanceReport",
    "ConformanceStatus",
    "DFAHError",
    "Decision",
    "DispatchState",
    "Eligibility",
    "EligibilityError",
    "EligibilityReasonCount",
    "Episode",
    "EpisodeStatus",
    "EveryEvalEverExportResult",
    "Gate",
    "GatePolicy",
    "GateRecord",
    "GateResult",
    "GateViolationError",
    "Manifest",
    "ManifestMismatchError",
    "ParseProvenance",
    "PathVariationKind",
    "Replay",
    "ReplayMode",
    "Report",
    "RunContext",
    "Suite",
    "SuiteVersionMismatchError",
    "TARReport",
    "TaskGatePolicy",
    "ToolCall",
    "ToolExecutionError",
    "ToolExecutionState",
    "ToolRegistry",
    "ToolSession",
    "ToolSpec",
    "Trajectory",
    "Usage",
    "ValidationError",
    "WireRequest",
    "__version__",
    "agent",
    "build_manifest",
    "export_every_eval_ever",
    "validate_every_eval_ever",
]


def __getattr__(name: str) -> object:
    home = HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'dfah' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *HOME})
