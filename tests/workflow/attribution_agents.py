"""Agents over one suite that are unstable through exactly one thing; loaded by reference."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

from dfah_cli.adapter.contract import RunContext
from dfah_cli.adapter.decorator import agent
from dfah_cli.adapter.registry import ToolRegistry
from dfah_cli.records.case import Case
from dfah_cli.records.episode import AgentResult
from dfah_cli.records.suite import Suite
from dfah_cli.records.tool_spec import ToolSpec
from tests.builders import PARAMETERS, a_manifest, a_wire

CASES = 24
LOOK = ToolSpec(name="look", input_schema={"type": "object", "properties": {"case": {"type": "string"}}})
SUITE = Suite(
    suite_id="attribution",
    suite_version="1.0.0",
    decisions=("yes", "no"),
    cases=tuple(Case(case_id=f"C{index:02d}", input={"index": index}) for index in range(CASES)),
    tools=(LOOK,),
)
MANIFEST = a_manifest(SUITE)
Decide = Callable[[Case, RunContext, Any], Any]


def an_agent(tool: Callable[..., Any], decide: Decide) -> Any:
    """Calls the tool once and decides by its result."""
    tools = ToolRegistry()
    tools.register(LOOK, tool)

    @agent(manifest=MANIFEST, tools=tools, suite=SUITE)
    async def made(case: Case, context: RunContext) -> AgentResult:
        assert context.tools is not None
        found = await context.tools.call("look", case=context.case_id)
        label = "yes" if await decide(case, context, found) else "no"
        return AgentResult(
            output_text=f"DECISION: {label}",
            trajectory=context.tools.trajectory(),
            wire_request=a_wire(MANIFEST, payload={**PARAMETERS, "case": context.case_id}),
        )

    return made


def drawn(name: str, times: Counter[str]) -> bool:
    """Another coin each time, whatever happens in between."""
    times[name] += 1
    return Random(f"{name}/{times[name]}").random() < 0.5


asked: Counter[str] = Counter()
thought: Counter[str] = Counter()


async def steady_tool(case: str) -> int:
    return len(case)


async def drifting_tool(case: str) -> bool:
    return drawn(f"tool {case}", asked)


async def by_the_result(case: Case, context: RunContext, found: Any) -> bool:
    return bool(found)


async def by_itself(case: Case, context: RunContext, found: Any) -> bool:
    return drawn(f"agent {context.case_id}", thought)


class _Shared:
    """What an adapter keeps for all episodes, and should not."""

    inside = 0


async def by_what_others_left(case: Case, context: RunContext, found: Any) -> bool:
    _Shared.inside += 1
    try:
        await asyncio.sleep(0.01)
        return _Shared.inside == 1 or drawn(f"mixed up {context.case_id}", thought)
    finally:
        _Shared.inside -= 1


async def slow_at_times(case: str) -> str:
    await asyncio.sleep(0.8 if drawn(f"time {case}", asked) else 0)
    return "found"


tools_only = an_agent(drifting_tool, by_the_result)
agent_only = an_agent(steady_tool, by_itself)
scheduling_only = an_agent(steady_tool, by_what_others_left)
steady = an_agent(steady_tool, by_the_result)


def latency_only_agent() -> Any:
    """Gives up on a tool that is slow."""
    tools = ToolRegistry()
    tools.register(LOOK, slow_at_times)

    @agent(manifest=MANIFEST, tools=tools, suite=SUITE)
    async def made(case: Case, context: RunContext) -> AgentResult:
        assert context.tools is not None
        loop = asyncio.get_running_loop()
        started = loop.time()
        await context.tools.call("look", case=context.case_id)
        label = "no" if loop.time() - started > 0.4 else "yes"
        return AgentResult(
            output_text=f"DECISION: {label}",
            trajectory=context.tools.trajectory(),
            wire_request=a_wire(MANIFEST, payload={**PARAMETERS, "case": context.case_id}),
        )

    return made


latency_only = latency_only_agent()
