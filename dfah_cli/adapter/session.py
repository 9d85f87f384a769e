"""The tool calls of one episode: made, and recorded whatever becomes of them.

A call is recorded before anything else happens to it, in the order of the requests. Raw arguments and results pass
through; only their digests stay, unless capture was asked for.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from attrs import define, field, frozen

from dfah_cli.adapter import functions
from dfah_cli.adapter.tool_request import ToolRequest, Unreadable, requested
from dfah_cli.canonical import canonical_bytes, digest_bytes
from dfah_cli.errors import AgentContractError, NotRecordedError, ToolExecutionError, ValidationError
from dfah_cli.records.enums import ChannelState, ToolExecutionState
from dfah_cli.records.tool_spec import ToolSpec
from dfah_cli.records.trajectory import ToolCall, Trajectory
from dfah_cli.redaction import text_of

if TYPE_CHECKING:
    from dfah_cli.adapter.tape import EpisodeTape

EMPTY_RESULTS = frozenset((b"null", b'""', b"[]", b"{}"))


@frozen
class RegisteredTool:
    """A contract and the function behind it."""

    spec: ToolSpec
    function: Callable[..., Any]
    is_async: bool
    patience: functions.Patience = field(factory=functions.Patience, eq=False, repr=False)


@define
class _Entry:
    """A recorded call; it changes once, when its outcome is known. index: its place among the requests."""

    index: int
    request: ToolRequest
    started: float
    execution_state: ToolExecutionState = ToolExecutionState.REQUESTED
    result_state: ChannelState = ChannelState.UNAVAILABLE
    output_hash: str | None = None
    latency_ms: float | None = None


class ToolSession:
    """Calls the registered tools for one episode and keeps the record of it. Safe to share between threads."""

    def __init__(
        self,
        tools: Mapping[str, RegisteredTool],
        *,
        id_prefix: str,
        capture_arguments: bool,
        clock: Callable[[], float],
        tape: EpisodeTape | None = None,
    ) -> None:
        """tape: where results are recorded or come from; None when the tools are simply called."""
        self._tools = tools
        self._id_prefix = id_prefix
        self._capture = capture_arguments
        self._clock = clock
        self._entries: list[_Entry] = []
        self._news: list[_Entry] = []
        self._final: tuple[ToolCall, ...] | None = None
        self._lock = threading.Lock()
        self._tape = tape
        self.unrecorded = 0  # calls that a recording had no result for
        self.troubles: list[str] = []  # why calls were rejected or failed, for the log only: no record has the text

    async def call(self, name: str, /, **arguments: Any) -> Any:
        """The raw result of a tool; a plain function runs in a worker thread.

        Raises: ToolExecutionError when the call is rejected, fails, or comes after the end of the episode.
        """
        entry = self._record(name, arguments)
        tool, accepted = self._admit(entry, name)
        if self._tape is None:
            return self._settle(entry, await _execute(tool, accepted))
        taped = self._tape.call(tool.spec.name, str(entry.request.arguments_hash))
        return self._settle(entry, await taped.answer(functools.partial(_execute, tool, accepted)))

    def call_sync(self, name: str, /, **arguments: Any) -> Any:
        """`call` for plain adapters: blocks this thread until the tool is done.

        Raises: ToolExecutionError as `call` does; AgentContractError inside an event loop, which it would hold.
        """
        if _in_event_loop():
            raise AgentContractError("call_sync inside an event loop would hold it; await context.tools.call(...)")
        entry = self._record(name, arguments)
        tool, accepted = self._admit(entry, name)
        if self._tape is None:
            return self._settle(entry, _execute_sync(tool, accepted))
        taped = self._tape.call(tool.spec.name, str(entry.request.arguments_hash))
        return self._settle(entry, taped.answer_sync(functools.partial(_execute_sync, tool, accepted)))

    @property
    def is_taped(self) -> bool:
        """Whether results are recorded or come from a recording: a call may give another value than the tool did."""
        return self._tape is not None

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """Every requested call in request order; one still running has the state `requested`."""
        with self._lock:
            if self._final is not None:
                return self._final
            entries = list(self._entries)
        return tuple(map(self._tool_call, entries))

    def news(self) -> dict[int, ToolCall]:
        """By their places, the calls that were requested or have ended since this was asked before."""
        with self._lock:
            entries, self._news = self._news, []
        return {entry.index: self._tool_call(entry) for entry in entries}

    def trajectory(self) -> Trajectory:
        """The calls so far; `observed_empty` when there are none."""
        return Trajectory.of(self.calls)

    def close(self) -> None:
        """Ends the record: later calls are refused, and what still runs stays `requested`."""
        calls = self.calls
        with self._lock:
            if self._final is None:
                self._final = calls
        if self._tape is not None:
            self._tape.close()

    def _record(self, name: object, arguments: dict[str, Any]) -> _Entry:
        request, started = requested(name, arguments, self._capture), self._clock()
        with self._lock:
            if self._final is not None:
                raise ToolExecutionError("the tool session is closed: the episode has ended before this call")
            entry = _Entry(len(self._entries), request, started)
            self._entries.append(entry)
            self._news.append(entry)
        return entry

    def _admit(self, entry: _Entry, name: object) -> tuple[RegisteredTool, dict[str, Any]]:
        """The tool and its own copy of the arguments, when the call is allowed."""
        request = entry.request
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None:
            known = ", ".join(sorted(self._tools)) or "none"
            self._reject(entry, ChannelState.UNAVAILABLE, f"unknown tool {request.name!r}; registered: {known}")
        if request.arguments is None:
            self._reject(entry, ChannelState.MALFORMED, f"tool {request.name!r}: {request.problem}")
        try:
            tool.spec.validate_arguments(request.arguments)
        except ValidationError as problem:
            self._reject(entry, ChannelState.MALFORMED, str(problem))
        return tool, request.arguments

    def _reject(self, entry: _Entry, result_state: ChannelState, message: str) -> NoReturn:
        self._finish(entry, ToolExecutionState.REJECTED, result_state)
        self._fail(message)

    def _settle(self, entry: _Entry, outcome: functions.Outcome) -> Any:
        """The raw result, recorded by its digest."""
        name = entry.request.name
        if isinstance(outcome, functions.Raised):
            self._finish(entry, ToolExecutionState.ERROR, ChannelState.MALFORMED)
            if isinstance(outcome.problem, NotRecordedError):
                self.unrecorded += 1
                self.troubles.append(str(outcome.problem))
                raise outcome.problem
            text, told = text_of(outcome.problem), f"tool {name!r} failed: {type(outcome.problem).__name__}"
            self.troubles.append(f"{told}: {text}" if text else told)
            raise ToolExecutionError(told) from outcome.problem
        try:
            payload = canonical_bytes(outcome.value)
        except Exception as problem:  # noqa: BLE001 - the value is the user's object, with methods of its own
            self._finish(entry, ToolExecutionState.ERROR, ChannelState.MALFORMED)
            found = str(problem) if isinstance(problem, ValidationError) else type(problem).__name__
            found = outcome.value.why if type(outcome.value) is Unreadable else found
            self._fail(f"tool {name!r} returned no JSON value: {found}")
        state = ChannelState.OBSERVED_EMPTY if payload in EMPTY_RESULTS else ChannelState.OBSERVED_NONEMPTY
        self._finish(entry, ToolExecutionState.EXECUTED, state, digest_bytes(payload))
        return outcome.value

    def _fail(self, message: str) -> NoReturn:
        self.troubles.append(message)
        raise ToolExecutionError(message) from None

    def _finish(
        self,
        entry: _Entry,
        execution_state: ToolExecutionState,
        result_state: ChannelState,
        output_hash: str | None = None,
    ) -> None:
        with self._lock:
            entry.execution_state = execution_state
            entry.result_state = result_state
            entry.output_hash = output_hash
            entry.latency_ms = max(0.0, (self._clock() - entry.started) * 1000)
            self._news.append(entry)

    def _tool_call(self, entry: _Entry) -> ToolCall:
        request = entry.request
        return ToolCall(
            name=request.name,
            arguments=request.captured or {},
            arguments_hash=request.arguments_hash,
            arguments_redacted=request.captured is None,
            call_id=f"{self._id_prefix}-{entry.index:04d}",
            output_hash=entry.output_hash,
            result_state=entry.result_state,
            execution_state=entry.execution_state,
            latency_ms=entry.latency_ms,
        )


async def _execute(tool: RegisteredTool, arguments: dict[str, Any]) -> functions.Outcome:
    """How the tool ended; only a real cancellation of the caller escapes."""
    try:
        if tool.is_async:
            return functions.Returned(await tool.function(**arguments))
        outcome = await functions.in_thread(functools.partial(tool.function, **arguments), tool.patience)
        if isinstance(outcome, functions.Returned) and inspect.isawaitable(outcome.value):
            return functions.Returned(await outcome.value)
        return outcome
    except GeneratorExit:
        raise  # our own coroutine is being closed
    except asyncio.CancelledError as problem:
        if _being_cancelled():
            raise
        return functions.Raised(problem)
    except BaseException as problem:  # noqa: BLE001 - whatever a tool raises is the outcome of its call
        return functions.Raised(problem)


def _execute_sync(tool: RegisteredTool, arguments: dict[str, Any]) -> functions.Outcome:
    outcome = functions.outcome_of(functools.partial(tool.function, **arguments))
    if isinstance(outcome, functions.Returned) and inspect.isawaitable(outcome.value):
        return functions.outcome_of(functools.partial(asyncio.run, _awaited(outcome.value)))
    return outcome


async def _awaited(value: Any) -> Any:
    return await value


def _being_cancelled() -> bool:
    """Whether somebody asked the running task to stop, as opposed to a tool raising CancelledError by itself."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _in_event_loop() -> bool:
    return asyncio._get_running_loop() is not None
