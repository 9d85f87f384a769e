"""Tool results captured once and given back, one episode at a time; the file they lie in is somebody else's business.

A result is known by case, tool, digest of the canonical arguments, and the how-manieth equal call of the episode it
was. A call that was never recorded is an error of its own: a replay calls no tool.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from attrs import field, frozen

from dfah_cli.adapter.functions import Outcome, Raised, Returned
from dfah_cli.canonical import canonical_bytes, parse
from dfah_cli.errors import NotRecordedError, ValidationError
from dfah_cli.records import fields
from dfah_cli.records.tool_source import FIRST, NONE

RETURNED, RAISED, NO_JSON = "returned", "raised", "no_json"
MAX_TEXT = 10_000


@frozen(kw_only=True)
class Slip:
    """Which call it is. call: 0 for the first with these arguments in its episode."""

    case_id: str = field(validator=fields.public_name)
    tool: str = field(validator=fields.public_name)
    arguments_sha256: str = field(validator=fields.digest64)
    call: int = field(validator=fields.count)


@frozen(kw_only=True)
class Answer:
    """How a tool call ended. value: canonical text of the result, for `returned`. kind, text: of what was raised, or
    the type of what was no JSON. latency_us: microseconds the tool took.
    """

    outcome: str = field(validator=fields.one_of(RETURNED, RAISED, NO_JSON))
    value: str | None = field(default=None, validator=fields.optional(fields.prose))
    kind: str | None = field(default=None, validator=fields.optional(fields.prose))
    text: str | None = field(default=None, validator=fields.optional(fields.prose))
    latency_us: int = field(default=0, validator=fields.count)

    def __attrs_post_init__(self) -> None:
        if (self.value is None) == (self.outcome == RETURNED) or (self.kind is None) != (self.outcome == RETURNED):
            raise ValidationError("Answer: a value goes with `returned`, a kind with everything else")

    def again(self) -> Outcome:
        """The same outcome, with a value of its own."""
        if self.value is not None:
            return Returned(parse(self.value))
        kind = str(self.kind)
        if self.outcome == NO_JSON:
            return Returned(type(kind, (), {})())
        return Raised(type(kind, (Exception,), {})(self.text or ""))


class TapedCall(Protocol):
    """One accepted call on its way."""

    async def answer(self, execute: Callable[[], Awaitable[Outcome]]) -> Outcome: ...

    def answer_sync(self, execute: Callable[[], Outcome]) -> Outcome: ...


class EpisodeTape(Protocol):
    """The tape of one episode. `close` makes durable what was recorded."""

    def call(self, tool: str, arguments_sha256: str) -> TapedCall: ...

    def close(self) -> None: ...


class Tapes(Protocol):
    """Tapes of a run."""

    def episode(self, case_id: str, replay_index: int) -> EpisodeTape: ...


class Sink(Protocol):
    """Where recorded answers go. `keep` may be called from any thread."""

    def keep(self, slip: Slip, replay_index: int, answer: Answer) -> None: ...

    def sync(self) -> None: ...


Recorded = Mapping[Slip, Mapping[int, Answer]]
"""Answers by call and by replay index of the recording."""


class _Counting:
    """Numbers equal calls in the order they are asked for."""

    def __init__(self, case_id: str) -> None:
        self._case_id = case_id
        self._seen: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()

    def slip(self, tool: str, arguments_sha256: str) -> Slip:
        with self._lock:
            call = self._seen[tool, arguments_sha256]
            self._seen[tool, arguments_sha256] += 1
        return Slip(case_id=self._case_id, tool=tool, arguments_sha256=arguments_sha256, call=call)


# recording


@frozen
class RecordingTapes:
    """Calls the tools and keeps what they answer."""

    sink: Sink

    def episode(self, case_id: str, replay_index: int) -> EpisodeTape:
        """The tape of one episode."""
        return _RecordingTape(self.sink, _Counting(case_id), replay_index)


@frozen
class _RecordingTape:
    sink: Sink
    counting: _Counting
    replay_index: int

    def call(self, tool: str, arguments_sha256: str) -> TapedCall:
        return _RecordedCall(self, self.counting.slip(tool, arguments_sha256))

    def close(self) -> None:
        self.sink.sync()


@frozen
class _RecordedCall:
    tape: _RecordingTape
    slip: Slip

    async def answer(self, execute: Callable[[], Awaitable[Outcome]]) -> Outcome:
        started = time.perf_counter()
        return self._kept(await execute(), time.perf_counter() - started)

    def answer_sync(self, execute: Callable[[], Outcome]) -> Outcome:
        started = time.perf_counter()
        return self._kept(execute(), time.perf_counter() - started)

    def _kept(self, outcome: Outcome, seconds: float) -> Outcome:
        """The outcome as every replay will see it, kept before the agent gets it."""
        answer = answer_of(outcome, max(0, round(seconds * 1_000_000)))
        self.tape.sink.keep(self.slip, self.tape.replay_index, answer)
        return answer.again() if answer.outcome == RETURNED else outcome


def answer_of(outcome: Outcome, latency_us: int) -> Answer:
    """An outcome as it can be kept."""
    if isinstance(outcome, Raised):
        kind, text = type(outcome.problem).__name__, _text(outcome.problem)
        return Answer(outcome=RAISED, kind=_encodable(kind), text=text, latency_us=latency_us)
    try:
        value = canonical_bytes(outcome.value).decode()
    except Exception:  # noqa: BLE001 - the value is the user's object, with methods of its own
        return Answer(outcome=NO_JSON, kind=_encodable(type(outcome.value).__name__), latency_us=latency_us)
    return Answer(outcome=RETURNED, value=value, latency_us=latency_us)


def _text(problem: BaseException) -> str:
    try:
        return _encodable(str(problem)[:MAX_TEXT])
    except BaseException:  # noqa: BLE001 - __str__ is the user's code
        return "(its text could not be read)"


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


# replaying


@frozen(kw_only=True)
class ReplayingTapes:
    """Gives back what was recorded and calls nothing. results, latency: as in `ToolSource`."""

    recorded: Recorded
    results: str
    latency: str

    def episode(self, case_id: str, replay_index: int) -> EpisodeTape:
        """The tape of one episode."""
        return _ReplayingTape(self, _Counting(case_id), replay_index)


@frozen
class _ReplayingTape:
    tapes: ReplayingTapes
    counting: _Counting
    replay_index: int

    def call(self, tool: str, arguments_sha256: str) -> TapedCall:
        slip = self.counting.slip(tool, arguments_sha256)
        return _ReplayedCall(self, slip, self.tapes.recorded.get(slip, {}))

    def close(self) -> None:
        pass


@frozen
class _ReplayedCall:
    tape: _ReplayingTape
    slip: Slip
    answers: Mapping[int, Answer]

    async def answer(self, execute: Callable[[], Awaitable[Outcome]]) -> Outcome:
        seconds = self._seconds()
        if seconds:
            await asyncio.sleep(seconds)
        return self._outcome()

    def answer_sync(self, execute: Callable[[], Outcome]) -> Outcome:
        time.sleep(self._seconds())
        return self._outcome()

    def _seconds(self) -> float:
        latency = self.tape.tapes.latency
        return 0.0 if latency == NONE or not self.answers else self._chosen(latency).latency_us / 1_000_000

    def _outcome(self) -> Outcome:
        return self._chosen(self.tape.tapes.results).again() if self.answers else Raised(_missing(self.slip))

    def _chosen(self, choice: str) -> Answer:
        """The answer of the lowest recorded replay that has the call, or of the replay of the same number."""
        own = None if choice == FIRST else self.answers.get(self.tape.replay_index)
        return self.answers[min(self.answers)] if own is None else own


def _missing(slip: Slip) -> NotRecordedError:
    times = "" if slip.call == 0 else f", made for the {slip.call + 1}. time in the episode"
    return NotRecordedError(
        f"tool {slip.tool!r}: the recording has no result for this call{times}; "
        "a replay calls no tool. Record more replays of this agent (tools=record), or run it with tools=live"
    )
