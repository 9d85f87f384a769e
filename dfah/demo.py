"""Agents that need no network and no key: the toy agent of the quick start, steady ones, and an unstable one.

The first part is written as a user would write an adapter. The other agents are made when they are first asked for:
`compliance_agent`, `dataops_agent`, and `unstable_agent` (over compliance-triage), `unstable_toy_agent`,
`unstable_dataops_agent`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dfah import (
    AgentResult,
    CallableAgent,
    Case,
    RunContext,
    Suite,
    ToolRegistry,
    ToolSpec,
    Usage,
    WireRequest,
    agent,
    build_manifest,
)

if TYPE_CHECKING:
    from dfah._demo.agents import UnstableAgent

    compliance_agent: CallableAgent
    dataops_agent: CallableAgent
    unstable_agent: UnstableAgent
    unstable_toy_agent: UnstableAgent
    unstable_dataops_agent: UnstableAgent

__all__ = [
    "compliance_agent",
    "dataops_agent",
    "make_toy_agent",
    "make_unstable_agent",
    "toy_agent",
    "toy_agent_calls",
    "toy_suite",
    "toy_tool_calls",
    "unstable_agent",
    "unstable_dataops_agent",
    "unstable_toy_agent",
]

risk_tool = ToolSpec(
    name="read_risk_tier",
    input_schema={
        "type": "object",
        "properties": {"risk_tier": {"type": "string"}},
        "required": ["risk_tier"],
        "additionalProperties": False,
    },
)
toy_suite = Suite(
    suite_id="toy-risk",
    suite_version="1.0.0",
    description="Deterministic example without network: one tool call decides each case.",
    decisions=("escalate", "dismiss"),
    cases=(
        Case(case_id="RISK-001", artifact_case_id="CASE-001", input={"risk_tier": "high"}),
        Case(case_id="RISK-002", artifact_case_id="CASE-002", input={"risk_tier": "low"}),
    ),
    tools=(risk_tool,),
)


def make_toy_agent() -> tuple[CallableAgent, Suite, ToolRegistry, dict[str, int], dict[str, int]]:
    """A new toy agent, its suite and tools, and the counts of agent calls and tool calls made so far."""
    agent_calls, tool_calls = {"count": 0}, {"count": 0}
    tools = ToolRegistry()

    @tools.tool(risk_tool)
    def read_risk_tier(*, risk_tier: str) -> str:
        tool_calls["count"] += 1
        return risk_tier

    parameters = {"temperature": 0.0, "top_p": 1.0, "seed": 42}
    manifest = build_manifest(
        toy_suite,
        provider="toy",
        model="deterministic-policy-v1",
        adapter="dfah.demo",
        adapter_version="1.0.0",
        implementation_hash=hashlib.sha256(Path(__file__).read_bytes()).hexdigest(),
        request_parameters=parameters,
    )

    @agent(manifest=manifest, tools=tools, suite=toy_suite)
    async def toy_agent(case: Case, context: RunContext) -> AgentResult:
        agent_calls["count"] += 1
        assert context.tools is not None
        risk = await context.tools.call("read_risk_tier", risk_tier=case.input["risk_tier"])
        label = "ESCALATE" if risk == "high" else "DISMISS"
        payload = {"model": manifest.model, **parameters, "case_id": context.case_id}
        return AgentResult(
            output_text=f"DECISION: {label}",
            trajectory=context.tools.trajectory(),
            wire_request=WireRequest.from_payload(
                provider="toy",
                model=manifest.model,
                payload=payload,
                parameters=parameters,
                adapter="dfah.demo",
                adapter_version="1.0.0",
            ),
            usage=Usage(input_tokens=0, output_tokens=0),
            cost_usd=0.0,
        )

    return toy_agent, toy_suite, tools, agent_calls, tool_calls


toy_agent, _suite, _tools, toy_agent_calls, toy_tool_calls = make_toy_agent()


def make_unstable_agent(
    suite: Suite | str = "compliance-triage", parameters: Mapping[str, Any] | None = None, **more: Any
) -> UnstableAgent:
    """An agent whose every instability is known beforehand (`UnstableAgent.script`).

    suite: a packaged suite or its name. parameters, more: seed and rates, see docs/adapters.md.
    Raises: ConfigurationError naming an unknown parameter, or one that is out of range.
    """
    from dfah._demo.agents import UnstableAgent
    from dfah._demo.instability import Instability

    return UnstableAgent(Suite.load(suite), Instability().with_parameters({**(parameters or {}), **more}))


def _steady(name: str) -> CallableAgent:
    from dfah._demo.agents import steady_agent

    return steady_agent(Suite.load(name))


# Enough of everything to be seen with a handful of replays; nothing fails.
VISIBLE = {
    "affected_cases": 0.5,
    "flip_rate": 0.1,
    "order_swap_rate": 0.15,
    "argument_jitter_rate": 0.1,
    "result_drift_rate": 0.1,
    "repeat_rate": 0.05,
}

_MADE_ON_DEMAND: dict[str, Callable[[], object]] = {
    "compliance_agent": lambda: _steady("compliance-triage"),
    "dataops_agent": lambda: _steady("dataops-exceptions"),
    "unstable_agent": lambda: make_unstable_agent("compliance-triage", VISIBLE),
    "unstable_toy_agent": lambda: make_unstable_agent("toy-risk", VISIBLE),
    "unstable_dataops_agent": lambda: make_unstable_agent("dataops-exceptions", VISIBLE),
}


def __getattr__(name: str) -> object:
    make = _MADE_ON_DEMAND.get(name)
    if make is None:
        raise AttributeError(f"module 'dfah.demo' has no attribute {name!r}")
    made = globals()[name] = make()
    return made


def __dir__() -> list[str]:
    return sorted({*globals(), *_MADE_ON_DEMAND})
