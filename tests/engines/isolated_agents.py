"""Agents and tools that misbehave, one for each way; loaded by a worker process by name."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from dfah_cli.adapter.contract import RunContext
from dfah_cli.adapter.decorator import agent
from dfah_cli.adapter.registry import ToolRegistry
from dfah_cli.errors import AgentContractError, ToolExecutionError
from dfah_cli.records.case import Case
from dfah_cli.records.episode import Usage
from dfah_cli.records.trajectory import Trajectory
from tests.builders import a_call, a_manifest, a_suite, a_wire

SUITE = a_suite(("A",), tools=("T", "U", "k"))
MANIFEST = a_manifest(SUITE)
TOOLS = ToolRegistry()
HELD: list[Any] = []
LIMIT_S = 2.0


class Odd(Exception):
    """Raised by a tool."""


def tool_k(x: str = "") -> Any:
    """Does what its argument says."""
    return {
        "exit": lambda: sys.exit(0),
        "crash": lambda: os._exit(7),
        "raise": lambda: _raise(Odd("private")),
        "object": object,
        "bytes": lambda: b"x",
        "empty": list,
        "sleep": lambda: time.sleep(60),
    }.get(x, lambda: f"k of {x}")()


def _raise(problem: BaseException) -> None:
    raise problem


TOOLS.register(SUITE.tools[0], lambda **_: "ok")
TOOLS.register(SUITE.tools[1], lambda **_: {"u": [1, 2.5, None]})
TOOLS.register(SUITE.tools[2], tool_k)


def result(context: RunContext, text: str = "DECISION: Y", **changes: Any) -> Any:
    from dfah_cli.records.episode import AgentResult

    assert context.tools is not None
    values = {"output_text": text, "trajectory": context.tools.trajectory(), "wire_request": a_wire(MANIFEST)}
    return AgentResult(**{**values, **changes})


def made(function: Callable[..., Any]) -> Any:
    return agent(manifest=MANIFEST, tools=TOOLS, suite=SUITE)(function)


async def _calls(context: RunContext, *arguments: str, swallow: bool = False) -> None:
    assert context.tools is not None
    for argument in arguments:
        try:
            await context.tools.call("k", x=argument)
        except ToolExecutionError:
            if not swallow:
                raise


def agent_of(name: str) -> Any:
    """The agent whose behaviour has that name."""

    async def act(case: Case, context: RunContext) -> Any:
        return await BEHAVIOURS[name](case, context)

    return made(act)


async def steady(case: Case, context: RunContext) -> Any:
    assert context.tools is not None
    first, second = await asyncio.gather(context.tools.call("T"), context.tools.call("U"))
    assert (first, second) == ("ok", {"u": [1, 2.5, None]})
    await _calls(context, "v", "empty")
    return result(context)


async def calls_often(case: Case, context: RunContext) -> Any:
    await _calls(context, *(["v"] * 300))
    return result(context)


async def raises(case: Case, context: RunContext) -> Any:
    raise ValueError("no")


async def exits(case: Case, context: RunContext) -> Any:
    sys.exit(0)


async def interrupts(case: Case, context: RunContext) -> Any:
    raise KeyboardInterrupt


async def cancels(case: Case, context: RunContext) -> Any:
    raise asyncio.CancelledError


async def breaks_contract(case: Case, context: RunContext) -> Any:
    raise AgentContractError("no")


async def returns_text(case: Case, context: RunContext) -> Any:
    return "DECISION: Y"


async def hard_exit(case: Case, context: RunContext) -> Any:
    os._exit(0)


async def stops_the_loop(case: Case, context: RunContext) -> Any:
    asyncio.get_running_loop().stop()
    await asyncio.sleep(1)


async def cancels_everything(case: Case, context: RunContext) -> Any:
    for task in asyncio.all_tasks():
        task.cancel()
    await asyncio.sleep(1)


async def forks_and_exits(case: Case, context: RunContext) -> Any:
    if os.fork() == 0:
        sys.exit(3)
    await asyncio.sleep(0.2)
    return await steady(case, context)


async def forks_and_goes_on(case: Case, context: RunContext) -> Any:
    os.fork()
    await asyncio.sleep(0.2)
    return await steady(case, context)


async def segfault(case: Case, context: RunContext) -> Any:
    ctypes.string_at(0)


async def aborts(case: Case, context: RunContext) -> Any:
    os.abort()


async def kills_itself(case: Case, context: RunContext) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)
    await asyncio.sleep(30)


async def stops_itself(case: Case, context: RunContext) -> Any:
    os.kill(os.getpid(), signal.SIGSTOP)
    await asyncio.sleep(30)


async def hangs(case: Case, context: RunContext) -> Any:
    await asyncio.sleep(60)


async def blocks_the_loop(case: Case, context: RunContext) -> Any:
    time.sleep(60)


async def holds_the_interpreter(case: Case, context: RunContext) -> Any:
    ctypes.PyDLL(None).sleep(60)


async def swallows_cancellation(case: Case, context: RunContext) -> Any:
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            continue


async def starts_a_child(case: Case, context: RunContext) -> Any:
    subprocess.Popen(["sleep", "300"])
    await asyncio.sleep(60)


async def leaves_a_thread(case: Case, context: RunContext) -> Any:
    import threading

    threading.Thread(target=time.sleep, args=(300,)).start()
    return await steady(case, context)


async def eats_memory(case: Case, context: RunContext) -> Any:
    HELD.append(bytearray(4 * 1024**3))
    return result(context)


async def closes_everything(case: Case, context: RunContext) -> Any:
    os.closerange(3, 256)
    await asyncio.sleep(60)


async def prints(case: Case, context: RunContext) -> Any:
    print('{"t": "returned", "result": {}}', flush=True)
    return await steady(case, context)


async def tool_raises(case: Case, context: RunContext) -> Any:
    await _calls(context, "raise")


async def tool_raises_unheard(case: Case, context: RunContext) -> Any:
    await _calls(context, "raise", swallow=True)
    return result(context)


async def tool_exits(case: Case, context: RunContext) -> Any:
    await _calls(context, "exit", swallow=True)
    return result(context)


async def tool_crashes(case: Case, context: RunContext) -> Any:
    await _calls(context, "v", "crash")


async def tool_hangs(case: Case, context: RunContext) -> Any:
    await _calls(context, "v", "sleep")


async def tool_returns_an_object(case: Case, context: RunContext) -> Any:
    await _calls(context, "object", swallow=True)
    return result(context)


async def tool_returns_bytes(case: Case, context: RunContext) -> Any:
    await _calls(context, "bytes", swallow=True)
    return result(context)


async def unknown_tool(case: Case, context: RunContext) -> Any:
    assert context.tools is not None
    try:
        await context.tools.call("other")
    except ToolExecutionError:
        return result(context)


async def wrong_arguments(case: Case, context: RunContext) -> Any:
    assert context.tools is not None
    try:
        await context.tools.call("k", x=3)
    except ToolExecutionError:
        return result(context)


async def unreadable_arguments(case: Case, context: RunContext) -> Any:
    assert context.tools is not None
    try:
        await context.tools.call("k", x=float("nan"))
    except ToolExecutionError:
        return result(context)


async def raises_after_a_failed_tool(case: Case, context: RunContext) -> Any:
    await _calls(context, "raise", swallow=True)
    raise ValueError("gave up")


async def leaves_a_call_running(case: Case, context: RunContext) -> Any:
    assert context.tools is not None
    HELD.append(asyncio.ensure_future(context.tools.call("k", x="sleep")))
    await asyncio.sleep(0.2)
    return result(context)


async def invents_a_path(case: Case, context: RunContext) -> Any:
    await _calls(context, "v")
    return result(context, trajectory=Trajectory.of((a_call("T"),)))


async def refuses(case: Case, context: RunContext) -> Any:
    return result(context, "no", refused=True)


async def says_nothing(case: Case, context: RunContext) -> Any:
    return result(context, "no marker")


async def negative_cost(case: Case, context: RunContext) -> Any:
    return result(context, cost_usd=-1.0)


async def other_model(case: Case, context: RunContext) -> Any:
    return result(context, wire_request=a_wire(MANIFEST, model="other"))


async def tells_and_raises(case: Case, context: RunContext) -> Any:
    context.note_spent(Usage(input_tokens=7), cost_usd=0.5)
    raise ValueError


async def tells_and_hangs(case: Case, context: RunContext) -> Any:
    context.note_spent(Usage(input_tokens=7), cost_usd=0.5)
    await asyncio.sleep(60)


async def waits_for_its_turn(case: Case, context: RunContext) -> Any:
    with context.meter.waiting():
        await asyncio.sleep(LIMIT_S * 1.2)
    return await steady(case, context)


def plain_steady(case: Case, context: RunContext) -> Any:
    assert context.tools is not None
    assert context.tools.call_sync("T") == "ok"
    assert context.tools.call_sync("k", x="v") == "k of v"
    return result(context)


def plain_hangs(case: Case, context: RunContext) -> Any:
    time.sleep(60)


def plain_exits(case: Case, context: RunContext) -> Any:
    sys.exit(0)


PLAIN: dict[str, Callable[..., Any]] = {
    "plain_steady": plain_steady,
    "plain_hangs": plain_hangs,
    "plain_exits": plain_exits,
}
BEHAVIOURS: dict[str, Callable[..., Any]] = {
    name: value for name, value in list(globals().items()) if asyncio.iscoroutinefunction(value) and name[0] != "_"
}
for _name in (*BEHAVIOURS, *PLAIN):
    globals()[f"{_name}_agent"] = made(PLAIN[_name]) if _name in PLAIN else agent_of(_name)
