"""Adapters that misbehave in one slot and behave in all others; one row of docs/adapters.md each.

Importable by `dfah run --agent tests.adapter.misbehaviour:agent_NAME`.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from attrs import frozen

from dfah_cli.adapter.contract import RunContext
from dfah_cli.adapter.registry import ToolRegistry
from dfah_cli.errors import ToolExecutionError
from dfah_cli.records.case import Case
from dfah_cli.records.enums import ChannelState
from dfah_cli.records.episode import AgentResult
from dfah_cli.records.manifest import Manifest
from dfah_cli.records.trajectory import UNAVAILABLE, ToolCall, Trajectory
from dfah_cli.records.wire import WireRequest
from tests.adapter.build import a_manifest, a_suite, a_tool

SUITE = a_suite(a_tool("look"), a_tool("slow"), a_tool("broken"), a_tool("exits"), cases=2)
MANIFEST = a_manifest(SUITE)
LIMIT_S = 0.4

Misbehaviour = Callable[["Misbehaving", Case, RunContext], Any]


def tools() -> ToolRegistry:
    """look answers, slow takes two seconds, broken raises, exits calls sys.exit."""
    registry = ToolRegistry()
    answers: dict[str, Callable[..., Any]] = {
        "look": lambda **_: "seen",
        "slow": lambda **_: time.sleep(2),
        "broken": lambda **_: 1 / 0,
        "exits": lambda **_: sys.exit(0),
    }
    for spec in SUITE.tools:
        registry.register(spec, answers[spec.name])
    return registry


class Misbehaving:
    """Behaves in every slot but replay 0 of case C0."""

    def __init__(self, misbehave: Misbehaviour) -> None:
        self.suite = SUITE
        self.tools = tools()
        self.manifest: Manifest = MANIFEST
        self.misbehave = misbehave

    async def arun(self, case: Case, context: RunContext) -> AgentResult:
        self.manifest = MANIFEST
        if (context.case_id, context.replay_index) != ("C0", 0):
            assert context.tools is not None
            await context.tools.call("look", n=case.input["n"])
            return self.result(context)
        found = self.misbehave(self, case, context)
        return await found if asyncio.iscoroutine(found) else found

    def result(self, context: RunContext, text: str = "DECISION: YES", **changes: Any) -> AgentResult:
        """What a well-behaved adapter returns."""
        assert context.tools is not None
        given = {"output_text": text, "trajectory": context.tools.trajectory(), "wire_request": wire(), **changes}
        return AgentResult(**given)


class MisbehavingPlainly(Misbehaving):
    """The same with a plain `arun`."""

    def arun(self, case: Case, context: RunContext) -> AgentResult:  # type: ignore[override]
        assert context.tools is not None
        if (context.case_id, context.replay_index) == ("C0", 0):
            return self.misbehave(self, case, context)
        context.tools.call_sync("look", n=case.input["n"])
        return self.result(context)


def wire(**changes: Any) -> WireRequest:
    """The echo that matches the manifest."""
    parameters = MANIFEST.request_parameters
    given: dict[str, Any] = {"provider": "p", "model": "m", "payload": parameters, "parameters": parameters}
    return WireRequest.from_payload(**{**given, "adapter": "a", **changes})


@frozen
class Row:
    """One misbehaviour and what is recorded for it. kind: None when the episode is valid. plain: a plain adapter."""

    name: str
    says: str
    status: str
    kind: str | None
    misbehave: Misbehaviour
    plain: bool = False


def raising(problem: BaseException) -> Misbehaviour:
    async def misbehave(agent: Misbehaving, case: Case, context: RunContext) -> AgentResult:
        raise problem

    return misbehave


def returning(make: Callable[[Misbehaving, RunContext], Any]) -> Misbehaviour:
    async def misbehave(agent: Misbehaving, case: Case, context: RunContext) -> Any:
        assert context.tools is not None
        await context.tools.call("look", n=0)
        return make(agent, context)

    return misbehave


def calling(name: str, **arguments: Any) -> Misbehaviour:
    """Calls a tool, swallows what comes of it, and returns as if nothing had happened."""

    async def misbehave(agent: Misbehaving, case: Case, context: RunContext) -> AgentResult:
        assert context.tools is not None
        try:
            await context.tools.call(name, **arguments)
        except ToolExecutionError:
            return agent.result(context)
        return agent.result(context)

    return misbehave


async def hangs(agent: Misbehaving, case: Case, context: RunContext) -> AgentResult:
    await asyncio.sleep(60)
    return agent.result(context)


async def blocks(agent: Misbehaving, case: Case, context: RunContext) -> AgentResult:
    time.sleep(1.2)
    return agent.result(context)


async def holds_the_loop(agent: Misbehaving, case: Case, context: RunContext) -> AgentResult:
    time.sleep(600)
    return agent.result(context)


async def spins_in_a_task(agent: Misbehaving, case: Case, context: RunContext) -> AgentResult:
    async def spin() -> None:
        while True:
            pass

    await asyncio.create_task(spin())
    return agent.result(context)


async def swallows_once(agent: Misbehaving, case: Case, context: RunContext) -> AgentResult:
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        return agent.result(context)
    return agent.result(context)


async def swallows_for_ever(agent: Misbehaving, case: Case, context: RunContext) -> AgentResult:
    ends = time.monotonic() + 5
    while time.monotonic() < ends:
        try:
            await asyncio.sleep(0.05)
        except asyncio.CancelledError:
            continue
    return agent.result(context)


async def ends_the_process(agent: Misbehaving, case: Case, context: RunContext) -> AgentResult:
    os._exit(0)


async def exits_in_a_task(agent: Misbehaving, case: Case, context: RunContext) -> AgentResult:
    async def leave() -> None:
        sys.exit(0)

    await asyncio.create_task(leave())
    return agent.result(context)


async def exits_in_a_forgotten_task(agent: Misbehaving, case: Case, context: RunContext) -> AgentResult:
    async def leave() -> None:
        sys.exit(0)

    agent.forgotten = asyncio.create_task(leave())  # type: ignore[attr-defined]
    await asyncio.sleep(0.01)
    return agent.result(context)


async def mutates_its_case(agent: Misbehaving, case: Case, context: RunContext) -> AgentResult:
    assert context.tools is not None
    case.input["n"] = 99
    case.metadata["left"] = "behind"
    await context.tools.call("look", n=0)
    return agent.result(context)


async def forges(agent: Misbehaving, case: Case, context: RunContext) -> AgentResult:
    assert context.tools is not None
    call = ToolCall(name="look", arguments={"n": 5}, output_hash="0" * 64, result_state=ChannelState.OBSERVED_NONEMPTY)
    return agent.result(context, trajectory=Trajectory.of((call,)))


async def gathers(agent: Misbehaving, case: Case, context: RunContext) -> AgentResult:
    assert context.tools is not None
    await asyncio.gather(*(context.tools.call("look", n=n) for n in range(5)))
    return agent.result(context)


async def leaves_a_call_running(agent: Misbehaving, case: Case, context: RunContext) -> AgentResult:
    assert context.tools is not None
    agent.forgotten = asyncio.create_task(context.tools.call("slow"))  # type: ignore[attr-defined]
    await asyncio.sleep(0.01)
    return agent.result(context)


async def calls_after_the_end(agent: Misbehaving, case: Case, context: RunContext) -> AgentResult:
    assert context.tools is not None
    session = context.tools

    async def later() -> None:
        await asyncio.sleep(0.05)
        try:
            await session.call("look", n=1)
        except ToolExecutionError as problem:
            agent.refused = str(problem)  # type: ignore[attr-defined]

    agent.forgotten = asyncio.create_task(later())  # type: ignore[attr-defined]
    await session.call("look", n=0)
    return agent.result(context)


async def forgets_to_await(agent: Misbehaving, case: Case, context: RunContext) -> AgentResult:
    assert context.tools is not None
    context.tools.call("look", n=0).close()
    return agent.result(context)


async def gives_up_on_a_tool(agent: Misbehaving, case: Case, context: RunContext) -> AgentResult:
    assert context.tools is not None
    try:
        await asyncio.wait_for(context.tools.call("slow"), 0.05)
    except TimeoutError:
        return agent.result(context)
    return agent.result(context)


async def changes_its_manifest(agent: Misbehaving, case: Case, context: RunContext) -> AgentResult:
    assert context.tools is not None
    await context.tools.call("look", n=0)
    agent.manifest = a_manifest(SUITE, model="other")
    return agent.result(context)


async def yields(agent: Misbehaving, case: Case, context: RunContext) -> Any:
    async def stream() -> Any:
        yield agent.result(context)

    return stream()


async def recurses(agent: Misbehaving, case: Case, context: RunContext) -> AgentResult:
    def deeper() -> Any:
        return deeper()

    return deeper()


def sleeps_plainly(agent: Misbehaving, case: Case, context: RunContext) -> AgentResult:
    time.sleep(5)
    return agent.result(context)


def exits_plainly(agent: Misbehaving, case: Case, context: RunContext) -> AgentResult:
    sys.exit(0)


def stops_plainly(agent: Misbehaving, case: Case, context: RunContext) -> AgentResult:
    raise StopIteration


class OwnBaseException(BaseException):
    """Neither an Exception nor one of Python's own."""


def bad_cost(cost: float) -> Misbehaviour:
    return returning(lambda agent, context: agent.result(context, cost_usd=cost))


PROVIDER, CONTRACT, TOOL, VALID = "provider_error", "contract_error", "tool_error", "valid"

ROWS = (
    Row("raises", "raises an exception", PROVIDER, "ValueError", raising(ValueError("private text"))),
    Row("raises_timeout", "raises a `TimeoutError` of its own", PROVIDER, "TimeoutError", raising(TimeoutError())),
    Row("raises_group", "raises an `ExceptionGroup`", PROVIDER, "ExceptionGroup",
        raising(ExceptionGroup("several", [ValueError(), KeyError()]))),
    Row("recurses", "recurses without end", PROVIDER, "RecursionError", recurses),
    Row("exits", "calls `sys.exit(0)`", PROVIDER, "SystemExit", raising(SystemExit(0))),
    Row("exits_plainly", "calls `sys.exit(0)` in a plain function", PROVIDER, "SystemExit", exits_plainly, True),
    Row("ends_the_process", "calls `os._exit(0)`", PROVIDER, "SystemExit", ends_the_process),
    Row("exits_in_a_task", "calls `sys.exit(0)` in a task it awaits", PROVIDER, "SystemExit", exits_in_a_task),
    Row("exits_in_a_forgotten_task", "calls `sys.exit(0)` in a task nobody awaits", VALID, None,
        exits_in_a_forgotten_task),
    Row("interrupts", "raises `KeyboardInterrupt`", PROVIDER, "KeyboardInterrupt", raising(KeyboardInterrupt())),
    Row("cancels", "raises `CancelledError` by itself", PROVIDER, "CancelledError", raising(asyncio.CancelledError())),
    Row("generator_exit", "raises `GeneratorExit`", PROVIDER, "GeneratorExit", raising(GeneratorExit())),
    Row("own_base", "raises another `BaseException`", PROVIDER, "OwnBaseException", raising(OwnBaseException())),
    Row("stops_plainly", "raises `StopIteration` in a plain function", PROVIDER, "RuntimeError", stops_plainly, True),
    Row("hangs", "never returns", PROVIDER, "episode_timeout", hangs),
    Row("sleeps_plainly", "never returns from a plain function", PROVIDER, "episode_timeout", sleeps_plainly, True),
    Row("blocks", "blocks the event loop beyond the limit", PROVIDER, "episode_timeout", blocks),
    Row("holds_the_loop", "holds the event loop and never lets it go", PROVIDER, "episode_timeout", holds_the_loop),
    Row("spins_in_a_task", "holds the event loop in a task that it awaits", PROVIDER, "episode_timeout",
        spins_in_a_task),
    Row("swallows_once", "swallows cancellation and returns late", PROVIDER, "episode_timeout", swallows_once),
    Row("swallows_for_ever", "swallows every cancellation", PROVIDER, "episode_timeout", swallows_for_ever),
    Row("returns_text", "returns a string", CONTRACT, "AgentContractError", returning(lambda *_: "DECISION: YES")),
    Row("returns_none", "returns nothing", CONTRACT, "AgentContractError", returning(lambda *_: None)),
    Row("yields", "returns an async generator", CONTRACT, "AgentContractError", yields),
    Row("mutates", "changes its case", VALID, None, mutates_its_case),
    Row("changes_manifest", "changes its manifest during the run", CONTRACT, "manifest_changed", changes_its_manifest),
    Row("forges", "returns a path it did not take", CONTRACT, "trajectory_mismatch", forges),
    Row("hides", "returns an unavailable path", CONTRACT, "trajectory_mismatch",
        returning(lambda agent, context: agent.result(context, trajectory=UNAVAILABLE))),
    Row("other_model", "sends to another model than its manifest says", CONTRACT, "wire_manifest_mismatch",
        returning(lambda agent, context: agent.result(context, wire_request=wire(model="other")))),
    Row("other_parameters", "sends other parameters than its manifest says", CONTRACT, "wire_manifest_mismatch",
        returning(lambda agent, context: agent.result(
            context, wire_request=wire(payload={"seed": 8}, parameters={"seed": 8})))),
    Row("negative_cost", "reports a negative cost", CONTRACT, "ValidationError", bad_cost(-1.0)),
    Row("infinite_cost", "reports an infinite cost", CONTRACT, "ValidationError", bad_cost(float("inf"))),
    Row("no_marker", "answers without a decision line", "parse_failure", "parse_failure",
        returning(lambda agent, context: agent.result(context, "I would say yes."))),
    Row("two_markers", "answers with two decision lines", "parse_failure", "parse_failure",
        returning(lambda agent, context: agent.result(context, "DECISION: YES\nDECISION: YES"))),
    Row("unknown_label", "answers with a label the suite does not have", "parse_failure", "parse_failure",
        returning(lambda agent, context: agent.result(context, "DECISION: MAYBE"))),
    Row("refuses", "says that the provider refused", "refusal", "refusal",
        returning(lambda agent, context: agent.result(context, refused=True))),
    Row("unknown_tool", "calls a tool that is not registered", TOOL, "tool_capture_incomplete", calling("nothing")),
    Row("bad_arguments", "passes arguments that are not JSON, and swallows the error", TOOL, "tool_capture_incomplete",
        calling("look", n=float("nan"))),
    Row("broken_tool", "calls a tool that raises, and swallows the error", TOOL, "tool_capture_incomplete",
        calling("broken")),
    Row("exiting_tool", "calls a tool that calls `sys.exit`, and swallows the error", TOOL, "tool_capture_incomplete",
        calling("exits")),
    Row("gathers", "calls tools concurrently", VALID, None, gathers),
    Row("leaves_a_call_running", "returns while a tool call is running", TOOL, "tool_capture_incomplete",
        leaves_a_call_running),
    Row("gives_up_on_a_tool", "ends a slow tool call by a limit of its own", TOOL, "tool_capture_incomplete",
        gives_up_on_a_tool),
    Row("calls_after_the_end", "calls a tool after it has returned", VALID, None, calls_after_the_end),
    Row("forgets_to_await", "does not await a tool call", VALID, None, forgets_to_await),
)  # fmt: skip


def agent_of(row: Row) -> Misbehaving:
    """A new agent that misbehaves as the row says."""
    return (MisbehavingPlainly if row.plain else Misbehaving)(row.misbehave)


def __getattr__(name: str) -> Misbehaving:
    row = next((row for row in ROWS if f"agent_{row.name}" == name), None)
    if row is None:
        raise AttributeError(name)
    return agent_of(row)
