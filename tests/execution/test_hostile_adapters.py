"""Whatever an adapter or a tool does, the episode ends with a status and a reason, and the schedule goes on."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from dfah_cli.adapter.contract import RunContext
from dfah_cli.execution.events import EpisodeFinished
from dfah_cli.records.case import Case
from dfah_cli.records.episode import Episode
from dfah_cli.workflow.analyze import episodes
from tests.builders import STEADY, a_registry, a_scripted_agent, a_suite

pytestmark = pytest.mark.usefixtures("in_memory")


def played(script: Callable[..., Any], **options: Any) -> dict[str, list[Episode]]:
    """Case A plays the script twice, case B is steady; the episodes by case."""
    from dfah_cli.workflow.replay import Replay

    agent = a_scripted_agent({"A": [script], "B": [STEADY]}, tools=options.pop("tools", None))
    Replay(suite=agent.suite, replays=2, out="run", **options).run(agent)
    found: dict[str, list[Episode]] = {"A": [], "B": []}
    for episode in episodes("run"):
        found[episode.case_id].append(episode)
    assert [len(found["A"]), len(found["B"])] == [2, 2]
    assert all(episode.valid for episode in found["B"])
    return found


def ending(script: Callable[..., Any], **options: Any) -> tuple[str, str]:
    """Status and error kind of the played episodes, which are the same in both."""
    kinds = {(e.status.value, e.error.kind) for e in played(script, **options)["A"] if e.error is not None}
    (one,) = kinds
    return one


class OwnBaseError(BaseException):
    pass


class BadTextError(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


class BadReprError(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


RAISED: dict[str, BaseException] = {
    "SystemExit": SystemExit(0),
    "KeyboardInterrupt": KeyboardInterrupt(),
    "CancelledError": asyncio.CancelledError(),
    "OwnBaseError": OwnBaseError(),
    "GeneratorExit": GeneratorExit(),
    "ExceptionGroup": ExceptionGroup("g", [ValueError()]),
    "TimeoutError": TimeoutError(),
    "RecursionError": RecursionError(),
    "BadTextError": BadTextError(),
    "BadReprError": BadReprError(),
}


@pytest.mark.parametrize("kind", RAISED)
def test_whatever_an_async_adapter_raises_ends_only_its_episode(kind: str) -> None:
    async def script(case: Case, context: RunContext) -> None:
        raise RAISED[kind]

    assert ending(script, episode_timeout_s=30) == ("provider_error", kind)


@pytest.mark.parametrize("kind", RAISED)
def test_whatever_a_plain_adapter_raises_ends_only_its_episode(kind: str) -> None:
    from dfah_cli.adapter.decorator import agent
    from dfah_cli.workflow.replay import Replay
    from tests.builders import a_manifest

    suite = a_suite(("A",))

    @agent(manifest=a_manifest(suite), suite=suite)
    def plain(case: Case, context: RunContext) -> Any:
        raise RAISED[kind]

    report = Replay(suite=suite, replays=2, out="run").run(plain)
    assert {episode.error.kind for episode in episodes("run") if episode.error} == {kind}
    assert report.episodes_completed == 2


@pytest.mark.parametrize("kind", [kind for kind in RAISED if kind != "GeneratorExit"])
@pytest.mark.parametrize("plain", [True, False], ids=["plain tool", "async tool"])
def test_whatever_a_tool_raises_is_a_tool_error_even_when_the_adapter_catches_it(kind: str, plain: bool) -> None:
    async def broken(**_: Any) -> None:
        raise RAISED[kind]

    def broken_plain(**_: Any) -> None:
        raise RAISED[kind]

    async def script(case: Case, context: RunContext) -> Any:
        with contextlib.suppress(Exception):
            await context.tools.call("k")  # type: ignore[union-attr]
        return agent.result(context)

    suite = a_suite(("A",))
    agent = a_scripted_agent({"A": [script]}, suite=suite)
    found = ending(script, tools=a_registry(a_suite(("A", "B")), {"k": broken_plain if plain else broken}))
    assert found == ("tool_error", "tool_capture_incomplete")


async def returns_nothing(case: Case, context: RunContext) -> None:
    return None


async def returns_text(case: Case, context: RunContext) -> Any:
    return "DECISION: Y"


async def returns_the_class(case: Case, context: RunContext) -> Any:
    from dfah_cli.records.episode import AgentResult

    return AgentResult


@pytest.mark.parametrize("script", [returns_nothing, returns_text, returns_the_class])
def test_another_return_type_is_a_contract_error_and_nothing_is_coerced(script: Callable[..., Any]) -> None:
    assert ending(script) == ("contract_error", "AgentContractError")


async def exits_in_a_child_task(case: Case, context: RunContext) -> None:
    async def child() -> None:
        sys.exit(0)

    task = asyncio.ensure_future(child())
    await asyncio.sleep(0.02)
    del task
    raise ValueError


async def exits_in_a_callback(case: Case, context: RunContext) -> None:
    asyncio.get_running_loop().call_soon(sys.exit, 0)
    await asyncio.sleep(0.02)
    raise ValueError


async def interrupts_in_an_awaited_child(case: Case, context: RunContext) -> None:
    async def child() -> None:
        raise KeyboardInterrupt

    try:
        await asyncio.ensure_future(child())
    except KeyboardInterrupt:
        raise ValueError from None


async def cancels_itself(case: Case, context: RunContext) -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    try:
        await asyncio.sleep(1)
    except asyncio.CancelledError:
        raise ValueError from None


async def stops_the_loop(case: Case, context: RunContext) -> None:
    asyncio.get_running_loop().stop()
    await asyncio.sleep(0.02)
    raise ValueError


async def leaves_a_task_that_will_not_die(case: Case, context: RunContext) -> None:
    async def forever() -> None:
        while True:
            with contextlib.suppress(Exception, asyncio.CancelledError):
                await asyncio.sleep(0.05)

    case.input["kept"] = asyncio.ensure_future(forever())
    raise ValueError


@pytest.mark.parametrize(
    "script",
    [
        exits_in_a_child_task,
        exits_in_a_callback,
        interrupts_in_an_awaited_child,
        cancels_itself,
        stops_the_loop,
        leaves_a_task_that_will_not_die,
    ],
)
def test_what_an_adapter_does_to_the_event_loop_ends_only_its_episode(script: Callable[..., Any]) -> None:
    assert ending(script) == ("provider_error", "ValueError")


async def sleeps(case: Case, context: RunContext) -> None:
    await asyncio.sleep(30)


async def swallows_cancellation(case: Case, context: RunContext) -> None:
    for _ in range(600):
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0.05)


async def returns_late_after_swallowing(case: Case, context: RunContext) -> Any:
    try:
        await asyncio.sleep(30)
    except asyncio.CancelledError:
        return a_scripted_agent().result(context)


async def blocks_the_loop(case: Case, context: RunContext) -> Any:
    time.sleep(0.25)
    return a_scripted_agent().result(context)


@pytest.mark.parametrize("script", [sleeps, swallows_cancellation, returns_late_after_swallowing, blocks_the_loop])
def test_the_clock_decides_about_the_time_limit(script: Callable[..., Any]) -> None:
    started = time.perf_counter()
    assert ending(script, episode_timeout_s=0.1) == ("provider_error", "episode_timeout")
    assert time.perf_counter() - started < 8


def test_a_plain_adapter_that_does_not_return_is_left_behind() -> None:
    from dfah_cli.adapter.decorator import agent
    from dfah_cli.workflow.replay import Replay
    from tests.builders import a_manifest

    suite = a_suite(("A",))

    @agent(manifest=a_manifest(suite), suite=suite)
    def plain(case: Case, context: RunContext) -> Any:
        time.sleep(20)

    started = time.perf_counter()
    Replay(suite=suite, replays=2, out="run", episode_timeout_s=0.1).run(plain)
    assert time.perf_counter() - started < 10
    assert {e.error.kind for e in episodes("run") if e.error} == {"episode_timeout"}


def test_a_stalled_event_loop_is_noticed_and_named() -> None:
    async def stalls(case: Case, context: RunContext) -> None:
        time.sleep(0.9)

    found = played(stalls, episode_timeout_s=0.2)["A"]
    assert all(e.error is not None and "blocked the event loop" in e.error.message for e in found)


def test_a_change_of_the_case_reaches_no_other_episode() -> None:
    seen: list[Any] = []

    async def script(case: Case, context: RunContext) -> Any:
        seen.append((dict(case.input), case.case_id, case.effective_case_id))
        case.input.clear()
        case.input["id"] = "HACKED"
        case.metadata["x"] = 1
        object.__setattr__(case, "case_id", "HACKED")
        object.__setattr__(case, "artifact_case_id", "HACKED")
        return agent.result(context)

    agent = a_scripted_agent({"A": [script], "B": [STEADY]})
    found = played(script)
    assert seen == [({"id": "A"}, "A", "A")] * 2
    assert {episode.case_id for episode in found["A"]} == {"A"}


def test_an_agent_whose_manifest_changes_is_a_contract_error() -> None:
    from attrs import evolve

    from dfah_cli.workflow.replay import Replay

    agent = a_scripted_agent({"A": [STEADY]})
    pinned = agent.manifest

    async def script(case: Case, context: RunContext) -> Any:
        agent.manifest = evolve(pinned, model="other")
        return agent.result(context)

    agent.paths = {"A": [script]}
    report = Replay(suite=agent.suite, replays=2, out="run").run(agent)
    assert {(e.status.value, e.error.kind) for e in episodes("run") if e.error} == {
        ("contract_error", "manifest_changed")
    }
    assert report.manifest == pinned


def _gives_another_temperature(manifest: Any) -> None:
    manifest.request_parameters["temperature"] = 0.7


def _gives_another_model(manifest: Any) -> None:
    object.__setattr__(manifest, "model", "other")


@pytest.mark.parametrize("change", [_gives_another_temperature, _gives_another_model])
def test_changing_the_manifest_in_place_is_a_contract_error_of_the_episode(change: Callable[[Any], None]) -> None:
    from dfah_cli.workflow.analyze import analyze
    from dfah_cli.workflow.replay import Replay

    agent = a_scripted_agent({"A": [STEADY]})
    pinned = agent.manifest.hash

    async def script(case: Case, context: RunContext) -> Any:
        change(agent.manifest)
        return agent.result(context)

    agent.paths = {"A": [script]}
    report = Replay(suite=agent.suite, replays=2, out="run").run(agent)
    assert {(e.status.value, e.error.kind) for e in episodes("run") if e.error} == {
        ("contract_error", "manifest_changed")
    }
    assert report.manifest.hash == pinned == analyze("run").report.manifest.hash


def test_a_change_of_the_suite_reaches_no_episode() -> None:
    from dfah_cli.workflow.replay import Replay

    seen: list[Any] = []

    async def script(case: Case, context: RunContext) -> Any:
        seen.append((dict(case.input), case.effective_case_id))
        agent.suite.cases[0].input["id"] = "HACKED"
        object.__setattr__(agent.suite.cases[0], "artifact_case_id", "HACKED")
        return agent.result(context)

    agent = a_scripted_agent({"A": [script]})
    Replay(suite=agent.suite, replays=3, out="run").run(agent)
    assert seen == [({"id": "A"}, "A")] * 3
    assert {episode.case_id for episode in episodes("run")} == {"A"}


@pytest.mark.parametrize(
    ("module", "name", "other"),
    [
        ("json", "dumps", lambda *_, **__: "{}"),
        ("json", "loads", lambda *_, **__: {}),
        ("hashlib", "sha256", lambda *_: None),
        ("time", "monotonic_ns", lambda: "late"),
    ],
)
def test_an_adapter_that_replaces_library_functions_reaches_no_record(module: str, name: str, other: Any) -> None:
    from importlib import import_module

    from dfah_cli.workflow.analyze import analyze
    from dfah_cli.workflow.replay import Replay

    async def script(case: Case, context: RunContext) -> Any:
        result = agent.result(context)
        patched.setattr(import_module(module), name, other)
        return result

    agent = a_scripted_agent({"A": [STEADY, script], "B": [STEADY]})
    with pytest.MonkeyPatch.context() as patched:
        Replay(suite=agent.suite, replays=2, out="run").run(agent)
    assert analyze("run").report.status == "complete"


def test_a_clock_that_goes_back_is_no_error() -> None:
    from dfah_cli.workflow.replay import Replay
    from tests.builders import FixedClock

    class Backwards(FixedClock):
        left = 10**9

        def monotonic_us(self) -> int:
            self.left -= 1000
            return self.left

    agent = a_scripted_agent({"A": [STEADY]})
    assert Replay(suite=agent.suite, replays=2, out="run", clock=Backwards()).run(agent).status == "complete"


def test_a_manifest_property_that_starts_to_raise_is_a_contract_error() -> None:
    from dfah_cli.workflow.replay import Replay

    inner = a_scripted_agent({"A": [STEADY]})

    class Moody:
        calls = 0

        @property
        def manifest(self) -> Any:
            if self.calls:
                raise SystemExit(1)
            return inner.manifest

        async def arun(self, case: Case, context: RunContext) -> Any:
            self.calls += 1
            return inner.result(context)

    Replay(suite=inner.suite, replays=2, out="run").run(Moody())
    assert {e.status.value for e in episodes("run")} == {"contract_error"}


def test_the_text_of_an_error_goes_to_the_watcher_redacted_and_into_no_record(in_memory: Any) -> None:
    secret = "sk-" + "ant-api03-a1B2c3D4e5F6g7H8i9J0k1L2m3"
    seen: list[str | None] = []

    async def script(case: Case, context: RunContext) -> None:
        raise RuntimeError(f"the private reason {secret}")

    played(script, observer=lambda event: seen.append(event.error_text) if isinstance(event, EpisodeFinished) else None)
    assert "the private reason [redacted]" in seen
    assert all(secret not in (text or "") for text in seen)
    written = b"".join(line.raw for line in in_memory["run"].lines)
    assert b"private reason" not in written


def texts_of(script: Callable[..., Any], **options: Any) -> set[str | None]:
    """What the watcher is told of case A."""
    seen: list[str | None] = []

    def observe(event: Any) -> None:
        if isinstance(event, EpisodeFinished) and event.case_id == "A":
            seen.append(event.error_text)

    played(script, observer=observe, **options)
    return set(seen)


@pytest.mark.parametrize("swallowed", [True, False])
def test_the_text_of_a_tools_failure_goes_to_the_watcher_also_when_the_adapter_swallows_it(swallowed: bool) -> None:
    secret = "sk-" + "ant-api03-a1B2c3D4e5F6g7H8i9J0k1L2m3"
    inner = a_scripted_agent({"A": [STEADY]})

    def broken(**_: Any) -> None:
        raise ConnectionError(f"no route to {secret}")

    async def script(case: Case, context: RunContext) -> Any:
        assert context.tools is not None
        with contextlib.suppress(Exception) if swallowed else contextlib.nullcontext():
            await context.tools.call("k")
        return inner.result(context)

    tools = a_registry(a_suite(("A", "B")), {"k": broken})
    assert texts_of(script, tools=tools) == {"tool 'k' failed: ConnectionError: no route to [redacted]"}


def test_what_an_adapter_raises_after_a_tool_has_failed_is_told_beside_it() -> None:
    def broken(**_: Any) -> None:
        raise ConnectionError("no route")

    async def script(case: Case, context: RunContext) -> Any:
        assert context.tools is not None
        with contextlib.suppress(Exception):
            await context.tools.call("k")
        raise ValueError("nothing to go on with")

    tools = a_registry(a_suite(("A", "B")), {"k": broken})
    assert texts_of(script, tools=tools) == {"tool 'k' failed: ConnectionError: no route; nothing to go on with"}


def test_why_an_episode_was_judged_a_failure_goes_to_the_watcher() -> None:
    async def script(case: Case, context: RunContext) -> Any:
        return a_scripted_agent({"A": [STEADY]}).result(context, text="no line")

    assert texts_of(script) == {"no_marker: the output has no line DECISION: LABEL."}


@pytest.mark.parametrize("padding", range(1985, 2005, 3))
def test_a_secret_at_the_cut_of_a_long_error_text_leaves_nothing(padding: int) -> None:
    secret = "sk-" + "ant-api03-a1B2c3D4e5F6g7H8i9J0k1L2m3"
    seen: list[str] = []

    async def script(case: Case, context: RunContext) -> None:
        raise RuntimeError("x" * (padding - 1) + " " + secret)

    played(script, observer=lambda e: seen.append(e.error_text or "") if isinstance(e, EpisodeFinished) else None)
    assert all("sk-" not in text for text in seen)
    assert all(len(text) <= 2000 for text in seen)


@pytest.mark.parametrize("limit_s", [None, 30.0])
def test_an_adapter_that_cancels_every_task_it_can_list_ends_at_most_its_own_episode(limit_s: float | None) -> None:
    async def cancels_all(agent: Any, case: Case, context: RunContext) -> Any:
        for task in asyncio.all_tasks():
            task.cancel()
        await asyncio.sleep(0)
        return agent.result(context)

    played(cancels_all, episode_timeout_s=limit_s, concurrency=2)
