from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dfah_cli.adapter.registry import ToolRegistry
from dfah_cli.adapter.session import ToolSession
from dfah_cli.adapter.tool_request import UNNAMED
from dfah_cli.canonical import digest
from dfah_cli.errors import AgentContractError, ToolExecutionError
from dfah_cli.records.enums import ChannelState, ToolExecutionState
from dfah_cli.records.trajectory import ToolCall
from tests.adapter.build import a_session, a_tool

REQUESTED, REJECTED = ToolExecutionState.REQUESTED, ToolExecutionState.REJECTED
EXECUTED, ERROR = ToolExecutionState.EXECUTED, ToolExecutionState.ERROR


def call(session: ToolSession, name: str = "look", /, **arguments: Any) -> Any:
    return asyncio.run(session.call(name, **arguments))


def refused(session: ToolSession, name: Any = "look", /, **arguments: Any) -> tuple[str, ToolCall]:
    with pytest.raises(ToolExecutionError) as raised:
        call(session, name, **arguments)
    return str(raised.value), session.calls[-1]


def echo(**arguments: Any) -> Any:
    return arguments


def test_an_executed_call_keeps_hashes_only() -> None:
    session = a_session(lambda k: {"got": k})
    assert call(session, k="v") == {"got": "v"}
    made = session.calls[0]
    assert made.arguments == {}
    assert made.arguments_redacted
    assert made.arguments_hash == digest({"k": "v"})
    assert made.output_hash == digest({"got": "v"})
    assert (made.execution_state, made.result_state) == (EXECUTED, ChannelState.OBSERVED_NONEMPTY)
    assert made.call_id == "e-0000"
    assert made.latency_ms is not None
    assert made.latency_ms >= 0


def test_capture_keeps_the_arguments_as_they_were_requested() -> None:
    def mutate(items: list[int]) -> int:
        items.append(9)
        return len(items)

    session = a_session(mutate, capture_arguments=True)
    given = [1, 2]
    assert call(session, items=given) == 3
    made = session.calls[0]
    assert made.arguments == {"items": [1, 2]}
    assert not made.arguments_redacted
    assert made.arguments_hash == digest({"items": [1, 2]})
    assert given == [1, 2]


def test_a_credential_is_never_captured() -> None:
    session = a_session(echo, capture_arguments=True)
    call(session, key="sk-ant-abcdefghijklmnopqrstuvwxyz")
    call(session, key="plain")
    hidden, kept = session.calls
    assert hidden.arguments_redacted
    assert hidden.arguments_hash == digest({"key": "sk-ant-abcdefghijklmnopqrstuvwxyz"})
    assert kept.arguments == {"key": "plain"}


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), b"x", object(), "\ud800", {1: "x"}, {"a", "b"}, Fraction(1, 2), 10**5000],
    ids=["nan", "inf", "bytes", "object", "surrogate", "integer-key", "set", "fraction", "huge-integer"],
)
def test_arguments_that_are_not_json_are_a_recorded_rejection(value: Any) -> None:
    reached: list[Any] = []
    session = a_session(lambda **arguments: reached.append(arguments))
    message, made = refused(session, k=value)
    assert "arguments" in message
    assert (made.execution_state, made.result_state) == (REJECTED, ChannelState.MALFORMED)
    assert made.arguments_hash is None
    assert made.arguments_redacted
    assert reached == []


def test_arguments_nested_too_deeply_are_a_recorded_rejection() -> None:
    deep: list[Any] = []
    inner = deep
    for _ in range(200):
        inner.append([])
        inner = inner[0]
    _, made = refused(a_session(echo), k=deep)
    assert made.execution_state is REJECTED


def test_an_argument_that_contains_itself_is_a_recorded_rejection() -> None:
    knot: list[Any] = []
    knot.append(knot)
    _, made = refused(a_session(echo), k=knot)
    assert made.execution_state is REJECTED


def test_a_schema_violation_is_rejected_without_its_value() -> None:
    reached: list[Any] = []
    session = a_session(lambda k: reached.append(k), a_tool(k={"type": "integer", "maximum": 5}))
    message, made = refused(session, k=987654321)
    assert "k" in message
    assert "maximum" in message
    assert "987654321" not in message
    assert (made.execution_state, made.result_state) == (REJECTED, ChannelState.MALFORMED)
    assert made.arguments_hash == digest({"k": 987654321})
    assert reached == []


def test_an_unknown_tool_is_rejected_as_unavailable() -> None:
    message, made = refused(a_session(echo), "lok", k=1)
    assert "look" in message
    assert made.name == "lok"
    assert (made.execution_state, made.result_state) == (REJECTED, ChannelState.UNAVAILABLE)


@pytest.mark.parametrize("name", ["", " ", "a\nb", "\ud800", "sk-ant-abcdefghijklmnopqrstuvwxyz", "x" * 5000, None, 7])
def test_a_name_that_cannot_be_recorded_is_still_a_recorded_call(name: Any) -> None:
    message, made = refused(a_session(echo), name)
    assert made.name == UNNAMED
    assert made.execution_state is REJECTED
    assert "sk-ant" not in message


@pytest.mark.parametrize(
    ("result", "state"),
    [
        (None, ChannelState.OBSERVED_EMPTY),
        ("", ChannelState.OBSERVED_EMPTY),
        ((), ChannelState.OBSERVED_EMPTY),
        ([], ChannelState.OBSERVED_EMPTY),
        ({}, ChannelState.OBSERVED_EMPTY),
        (0, ChannelState.OBSERVED_NONEMPTY),
        (False, ChannelState.OBSERVED_NONEMPTY),
        (0.0, ChannelState.OBSERVED_NONEMPTY),
        ([None], ChannelState.OBSERVED_NONEMPTY),
    ],
)
def test_result_state_tells_empty_from_nonempty(result: Any, state: ChannelState) -> None:
    session = a_session(lambda: result)
    assert call(session) is result
    assert session.calls[0].result_state is state
    assert session.calls[0].output_hash == digest(result)


@pytest.mark.parametrize("result", [float("nan"), b"x", object(), {1: 2}])
def test_a_result_that_is_not_json_is_an_error(result: Any) -> None:
    _, made = refused(a_session(lambda: result))
    assert (made.execution_state, made.result_state) == (ERROR, ChannelState.MALFORMED)
    assert made.output_hash is None


class OwnBaseException(BaseException):
    pass


RAISED = [
    ValueError,
    SystemExit,
    KeyboardInterrupt,
    asyncio.CancelledError,
    StopIteration,
    OwnBaseException,
    RecursionError,
]


@pytest.mark.parametrize("kind", RAISED)
def test_whatever_a_plain_tool_raises_is_an_error_of_that_call(kind: type[BaseException]) -> None:
    def fail() -> None:
        raise kind("private text")

    message, made = refused(a_session(fail))
    assert message == f"tool 'look' failed: {kind.__name__}"
    assert (made.execution_state, made.result_state) == (ERROR, ChannelState.MALFORMED)


@pytest.mark.parametrize("kind", [kind for kind in RAISED if kind is not StopIteration])
def test_whatever_an_async_tool_raises_is_an_error_of_that_call(kind: type[BaseException]) -> None:
    async def fail() -> None:
        await asyncio.sleep(0)
        raise kind("private text")

    message, made = refused(a_session(fail))
    assert message == f"tool 'look' failed: {kind.__name__}"
    assert made.execution_state is ERROR


def test_a_signature_mismatch_after_the_schema_is_an_error() -> None:
    message, made = refused(a_session(lambda other: other), k=1)
    assert "TypeError" in message
    assert made.execution_state is ERROR


def test_order_is_request_order_also_under_gather() -> None:
    async def slow(n: int) -> int:
        await asyncio.sleep((5 - n) / 200)
        return n

    session = a_session(slow)

    async def main() -> list[int]:
        return await asyncio.gather(*(session.call("look", n=n) for n in range(5)))

    assert asyncio.run(main()) == [0, 1, 2, 3, 4]
    assert [made.arguments_hash for made in session.calls] == [digest({"n": n}) for n in range(5)]
    assert [made.call_id for made in session.calls] == [f"e-000{n}" for n in range(5)]


def test_plain_tools_of_one_episode_run_side_by_side() -> None:
    barrier = threading.Barrier(4, timeout=5)

    def meet(n: int) -> int:
        barrier.wait()
        return n

    session = a_session(meet)

    async def main() -> list[int]:
        return await asyncio.gather(*(session.call("look", n=n) for n in range(4)))

    assert asyncio.run(main()) == [0, 1, 2, 3]


def test_a_blocking_tool_leaves_the_loop_free() -> None:
    session = a_session(lambda: time.sleep(0.3))

    async def main() -> int:
        waiting = asyncio.ensure_future(session.call("look"))
        beats = 0
        while not waiting.done():
            await asyncio.sleep(0.01)
            beats += 1
        return beats

    assert asyncio.run(main()) >= 5


def test_news_is_what_was_requested_or_has_ended_since_it_was_asked_for_before() -> None:
    async def waits(k: str) -> str:
        await asyncio.sleep(0.01 if k == "slow" else 0)
        return k

    session, seen = a_session(waits), list[dict[int, ToolExecutionState]]()

    async def episode() -> None:
        running = asyncio.ensure_future(session.call("look", k="slow"))
        await asyncio.sleep(0)
        seen.append({place: one.execution_state for place, one in session.news().items()})
        await session.call("look", k="v")
        await running
        seen.append({place: one.execution_state for place, one in session.news().items()})

    asyncio.run(episode())
    assert seen == [{0: REQUESTED}, {0: EXECUTED, 1: EXECUTED}]
    assert session.news() == {}


def test_calls_after_the_end_are_refused_and_not_recorded() -> None:
    session = a_session(echo)
    call(session)
    session.close()
    with pytest.raises(ToolExecutionError, match="closed"):
        call(session)
    assert len(session.calls) == 1


def test_a_call_still_running_at_the_end_stays_requested() -> None:
    session = a_session(lambda k: time.sleep(0.2))

    async def main() -> None:
        running = asyncio.ensure_future(session.call("look", k=1))
        await asyncio.sleep(0.05)
        assert session.trajectory().tool_calls[0].execution_state is REQUESTED
        session.close()
        await running

    asyncio.run(main())
    made = session.calls[0]
    assert made.execution_state is REQUESTED
    assert made.output_hash is None
    assert made.arguments_hash == digest({"k": 1})


def test_real_cancellation_reaches_the_caller() -> None:
    async def endless() -> None:
        await asyncio.sleep(60)

    session = a_session(endless)

    async def main() -> None:
        running = asyncio.ensure_future(session.call("look"))
        await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(main())
    assert session.calls[0].execution_state is REQUESTED


def test_a_time_limit_of_the_adapter_ends_a_plain_tool() -> None:
    session = a_session(lambda: time.sleep(0.3))

    async def main() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(session.call("look"), 0.05)

    asyncio.run(main())
    assert session.calls[0].execution_state is REQUESTED


def test_no_call_at_all_is_observed_empty() -> None:
    assert a_session(echo).trajectory().state is ChannelState.OBSERVED_EMPTY


def test_plain_tools_see_the_context_variables_of_the_adapter() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")
    session = a_session(lambda: variable.get())

    async def main() -> Any:
        variable.set("set")
        return await session.call("look")

    assert asyncio.run(main()) == "set"


def test_a_plain_adapter_calls_tools_of_both_kinds() -> None:
    async def later(n: int) -> int:
        await asyncio.sleep(0)
        return n

    registry = ToolRegistry()
    registry.register(a_tool("plain"), lambda n: n)
    registry.register(a_tool("later"), later)
    session = registry.session()
    assert [session.call_sync("plain", n=1), session.call_sync("later", n=2)] == [1, 2]
    assert [made.execution_state for made in session.calls] == [EXECUTED, EXECUTED]


def test_a_blocking_call_inside_a_loop_is_refused() -> None:
    session = a_session(echo)

    async def main() -> None:
        session.call_sync("look")

    with pytest.raises(AgentContractError, match="await"):
        asyncio.run(main())
    assert session.calls == ()


def test_a_tool_may_take_arguments_called_name_and_self() -> None:
    session = a_session(echo)
    assert call(session, name=1, self=2) == {"name": 1, "self": 2}


OUTCOMES = st.sampled_from(["value", "empty", "raise", "nan", "unknown", "bad-arguments", "exit"])


@settings(deadline=None, max_examples=60)
@given(st.lists(OUTCOMES, max_size=8), st.booleans(), st.booleans())
def test_every_request_is_recorded_once_and_in_order(outcomes: list[str], gathered: bool, is_async: bool) -> None:
    def act(what: str) -> Any:
        if what == "raise":
            raise ValueError
        if what == "exit":
            raise SystemExit
        return {"value": 1, "empty": [], "nan": float("nan")}[what]

    async def act_later(what: str) -> Any:
        await asyncio.sleep(0)
        return act(what)

    session = a_session(act_later if is_async else act)

    async def one(what: str) -> None:
        try:
            if what == "unknown":
                await session.call("nothing")
            elif what == "bad-arguments":
                await session.call("look", what=b"")
            else:
                await session.call("look", what=what)
        except ToolExecutionError:
            pass

    async def main() -> None:
        if gathered:
            await asyncio.gather(*map(one, outcomes))
        else:
            for what in outcomes:
                await one(what)

    asyncio.run(main())
    expected = {"value": EXECUTED, "empty": EXECUTED, "raise": ERROR, "exit": ERROR, "nan": ERROR,
                "unknown": REJECTED, "bad-arguments": REJECTED}  # fmt: skip
    calls = session.calls
    assert [made.execution_state for made in calls] == [expected[what] for what in outcomes]
    assert [made.call_id for made in calls] == [f"e-{index:04d}" for index in range(len(outcomes))]
    assert session.trajectory().state.observed
    session.close()
    assert session.calls == calls


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None, max_examples=60)
@given(JSON, JSON)
def test_what_is_recorded_is_the_digest_of_what_passed_through(argument: Any, result: Any) -> None:
    seen: list[Any] = []

    async def tool(k: Any) -> Any:
        seen.append(k)
        return result

    session = a_session(tool)
    assert call(session, k=argument) is result
    assert seen == [argument]
    assert (session.calls[0].arguments_hash, session.calls[0].output_hash) == (digest({"k": argument}), digest(result))
