from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from attrs import define, field
from hypothesis import given, settings
from hypothesis import strategies as st

from dfah_cli.adapter.functions import Outcome, Raised, Returned
from dfah_cli.adapter.registry import ToolRegistry
from dfah_cli.adapter.session import ToolSession
from dfah_cli.adapter.tape import Answer, RecordingTapes, ReplayingTapes, Slip, answer_of
from dfah_cli.canonical import canonical_bytes, parse
from dfah_cli.errors import NotRecordedError, ToolExecutionError
from dfah_cli.records.enums import ToolExecutionState
from tests.adapter.build import a_tool

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@define
class Kept:
    """A recording in memory."""

    answers: dict[Slip, dict[int, Answer]] = field(factory=dict)
    synced: int = 0

    def keep(self, slip: Slip, replay_index: int, answer: Answer) -> None:
        self.answers.setdefault(slip, {})[replay_index] = answer

    def sync(self) -> None:
        self.synced += 1


def session(function: Callable[..., Any], tapes: RecordingTapes | ReplayingTapes, replay_index: int = 0) -> ToolSession:
    registry = ToolRegistry()
    registry.register(a_tool(), function)
    return registry.session(tape=tapes.episode("C0", replay_index))


def forbidden(**_: Any) -> Any:
    raise AssertionError("a replay calls no tool")


def recorded(function: Callable[..., Any], calls: list[dict[str, Any]], replays: int = 1) -> Kept:
    """What is kept of these calls, in each replay."""
    kept = Kept()
    for replay_index in range(replays):
        of_episode = session(function, RecordingTapes(kept), replay_index)
        for arguments in calls:
            try:
                asyncio.run(of_episode.call("look", **arguments))
            except ToolExecutionError:
                continue
        of_episode.close()
    return kept


def replaying(kept: Kept, results: str = "first", latency: str = "none") -> ReplayingTapes:
    return ReplayingTapes(recorded=kept.answers, results=results, latency=latency)


@settings(max_examples=40)
@given(JSON)
def test_a_replayed_result_is_the_recorded_one_and_has_the_same_digest(value: Any) -> None:
    kept = recorded(lambda **_: value, [{"q": 1}])
    again = session(forbidden, replaying(kept))
    assert canonical_bytes(again.call_sync("look", q=1)) == canonical_bytes(value)
    live = session(lambda **_: value, RecordingTapes(Kept()))
    live.call_sync("look", q=1)
    assert again.calls[0].step == live.calls[0].step


def test_an_agent_sees_the_same_while_recording_as_in_a_replay() -> None:
    kept = Kept()
    seen = session(lambda **_: (1, (2,)), RecordingTapes(kept)).call_sync("look")
    assert seen == [1, [2]] == session(forbidden, replaying(kept)).call_sync("look")


def test_what_an_agent_does_to_a_result_reaches_no_other_replay() -> None:
    kept = recorded(lambda **_: {"rows": [1]}, [{}])
    session(forbidden, replaying(kept)).call_sync("look")["rows"].append(2)
    assert session(forbidden, replaying(kept), 1).call_sync("look") == {"rows": [1]}


def test_equal_calls_are_told_apart_by_their_number() -> None:
    numbers = iter(range(10))
    kept = recorded(lambda **_: next(numbers), [{"q": 1}, {"q": 2}, {"q": 1}])
    again = session(forbidden, replaying(kept))
    # Another order of the calls: the second call with q=1 still is the second with q=1.
    assert [again.call_sync("look", q=q) for q in (2, 1, 1)] == [1, 0, 2]


def test_spelling_and_order_of_arguments_do_not_matter() -> None:
    kept = recorded(lambda **_: "found", [{"a": 1, "b": [1, 2]}])
    assert session(forbidden, replaying(kept)).call_sync("look", b=(1, 2), a=1) == "found"


@pytest.mark.parametrize(("results", "expected"), [("first", [0, 0, 0]), ("own", [0, 1, 0])])
def test_the_recorded_replay_whose_result_is_used_is_the_first_or_the_same(results: str, expected: list[int]) -> None:
    numbers = iter(range(10))
    kept = recorded(lambda **_: next(numbers), [{}], replays=2)
    # The third replay was never recorded, so `own` falls back on the first that has the call.
    assert [session(forbidden, replaying(kept, results), index).call_sync("look") for index in range(3)] == expected


def test_first_is_the_first_replay_that_has_the_call() -> None:
    kept = recorded(lambda q: q * 10, [{"q": 1}])
    late = session(lambda q: q * 100, RecordingTapes(kept), 5)
    late.call_sync("look", q=7)
    assert session(forbidden, replaying(kept)).call_sync("look", q=7) == 700


def test_a_failing_tool_fails_again_in_the_same_way() -> None:
    def failing(**_: Any) -> Any:
        raise LookupError("no such customer")

    kept = recorded(failing, [{}])
    told = []
    for of_episode in (session(failing, RecordingTapes(Kept())), session(forbidden, replaying(kept))):
        with pytest.raises(ToolExecutionError) as caught:
            of_episode.call_sync("look")
        told.append((str(caught.value), type(caught.value.__cause__).__name__, str(caught.value.__cause__)))
        assert of_episode.calls[0].execution_state is ToolExecutionState.ERROR
    assert told[0] == told[1] == ("tool 'look' failed: LookupError", "LookupError", "no such customer")


def test_a_result_that_is_no_json_fails_again_in_the_same_way() -> None:
    kept = recorded(lambda **_: b"bytes", [{}])
    told = []
    for of_episode in (session(lambda **_: b"bytes", RecordingTapes(Kept())), session(forbidden, replaying(kept))):
        with pytest.raises(ToolExecutionError) as caught:
            of_episode.call_sync("look")
        told.append(str(caught.value))
    assert told[0] == told[1]
    assert "returned no JSON value" in told[0]


def test_a_call_that_was_never_recorded_names_the_tool_and_what_to_do_and_calls_nothing() -> None:
    kept = recorded(lambda **_: 1, [{"q": 1}])
    again = session(forbidden, replaying(kept))
    again.call_sync("look", q=1)
    with pytest.raises(NotRecordedError, match=r"tool 'look'.*made for the 2\. time.*tools=record"):
        again.call_sync("look", q=1)
    assert again.unrecorded == 1
    assert again.calls[1].execution_state is ToolExecutionState.ERROR


def test_a_rejected_call_is_neither_recorded_nor_counted() -> None:
    kept = recorded(lambda **_: 1, [{"q": float("nan")}, {"q": 1}])
    assert len(kept.answers) == 1
    again = session(forbidden, replaying(kept))
    with pytest.raises(ToolExecutionError, match="non-finite"):
        again.call_sync("look", q=float("nan"))
    assert again.call_sync("look", q=1) == 1
    assert again.unrecorded == 0


def test_what_was_recorded_is_made_durable_when_the_episode_ends() -> None:
    assert recorded(lambda **_: 1, [{}, {}], replays=2).synced == 2


def test_parallel_calls_are_numbered_in_the_order_of_the_requests() -> None:
    async def slow_first(q: int) -> int:
        await asyncio.sleep(0.02 if q == 0 else 0)
        return q

    async def both(of_episode: ToolSession) -> list[Any]:
        return await asyncio.gather(of_episode.call("look", q=0), of_episode.call("look", q=1))

    kept = Kept()
    assert asyncio.run(both(session(slow_first, RecordingTapes(kept)))) == [0, 1]
    assert asyncio.run(both(session(forbidden, replaying(kept)))) == [0, 1]


@pytest.mark.parametrize(("latency", "least"), [("none", 0.0), ("first", 0.2), ("own", 0.1)])
def test_an_answer_takes_the_time_that_was_asked_for(
    latency: str, least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []

    async def wait(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("dfah_cli.adapter.tape.asyncio.sleep", wait)
    slip = Slip(case_id="C0", tool="look", arguments_sha256="0" * 64, call=0)
    answers = {
        slip: {
            0: Answer(outcome="returned", value="1", latency_us=200_000),
            1: Answer(outcome="returned", value="2", latency_us=100_000),
        }
    }
    call = ReplayingTapes(recorded=answers, results="first", latency=latency).episode("C0", 1).call("look", "0" * 64)

    async def never() -> Outcome:
        raise AssertionError

    execute: Callable[[], Awaitable[Outcome]] = never
    assert asyncio.run(call.answer(execute)) == Returned(1)
    assert sum(waited) == least


@settings(max_examples=40)
@given(JSON)
def test_an_answer_gives_back_what_it_was_made_of(value: Any) -> None:
    outcome = answer_of(Returned(value), 5).again()
    assert isinstance(outcome, Returned)
    assert canonical_bytes(outcome.value) == canonical_bytes(parse(canonical_bytes(value)))


def test_an_exception_whose_text_cannot_be_read_is_kept_all_the_same() -> None:
    class Silent(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert answer_of(Raised(Silent()), 0).text == "(its text could not be read)"
