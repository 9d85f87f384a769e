"""What runs in an actor: the agent, loaded by its reference, and the episodes it holds.

The agent has an event loop of its own in a thread of its own, so that what it does to its loop does not reach Ray's.
Messages are canonical JSON: no object of the user's is pickled in either direction.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections import deque
from collections.abc import Coroutine, Iterator
from importlib import import_module
from typing import Any, TypeVar

from dfah_cli.canonical import canonical_bytes, parse
from dfah_cli.engines.isolation.channel import Message
from dfah_cli.engines.isolation.dialogue import ENDS
from dfah_cli.engines.isolation.process import WORKER_MODULE
from dfah_cli.engines.staying import leave, staying
from dfah_cli.errors import DFAHError
from dfah_cli.execution.call import hidden
from dfah_cli.version import __version__

T = TypeVar("T")


class Mailbox:
    """The line of one episode, as the episode sees it; lives on the agent's loop."""

    def __init__(self) -> None:
        self.numbers: Iterator[int] = itertools.count()
        self._out: deque[bytes] = deque()
        self._in: asyncio.Queue[Message] = asyncio.Queue()
        self._posted = asyncio.Event()

    def post(self, message: Message) -> None:
        """Lays a message out for the run."""
        self._out.append(canonical_bytes(message))
        self._posted.set()

    async def send(self, message: Message) -> None:
        """The same: the run comes for it."""
        self.post(message)

    async def receive(self) -> Message | None:
        """The next message of the run's."""
        return await self._in.get()

    def put(self, message: Message) -> None:
        """Takes a message of the run's."""
        self._in.put_nowait(message)

    async def taken(self) -> list[bytes]:
        """What lies there for the run, at least one message."""
        await self._posted.wait()
        self._posted.clear()
        out = list(self._out)
        self._out.clear()
        return out


class EpisodeActor:
    """Holds an agent and runs the episodes that are sent to it, each number once."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._agent: Any = None
        self._worker = import_module(WORKER_MODULE)
        self._boxes: dict[int, Mailbox] = {}
        self._running: dict[int, asyncio.Task[None]] = {}
        self._begun: set[int] = set()
        threading.Thread(target=_work, args=(self._loop,), name="dfah-episodes", daemon=True).start()

    async def load(self, asked: bytes) -> bytes:
        """Loads the agent: a message `ready`, or `broken` with why not."""
        return await self._there(self._load(parse(asked, "message of a run")))

    async def episode(self, number: int, asked: bytes) -> list[bytes]:
        """Begins an episode; its first messages."""
        return await self._there(self._begin(number, parse(asked, "message of a run")))

    async def more(self, number: int) -> list[bytes]:
        """The next messages of an episode."""
        return await self._there(self._taken(number))

    async def tell(self, number: int, message: bytes) -> None:
        """A message of the run's for an episode; one that is over needs none."""
        await self._there(self._put(number, parse(message, "message of a run")))

    async def cancel(self, number: int) -> bool:
        """Ends an episode; returns when it has ended."""
        return await self._there(self._cancel(number))

    async def until_gone(self) -> None:
        """Never returns: whoever waits hears of the end of this process."""
        await asyncio.Event().wait()

    async def _there(self, work: Coroutine[Any, Any, T]) -> T:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_unseen(work), self._loop))

    async def _load(self, asked: Message) -> bytes:
        try:
            self._agent = self._worker.loaded(asked)
            return canonical_bytes({"t": "ready", "version": __version__, "manifest": self._agent.manifest.hash})
        except DFAHError as problem:
            return canonical_bytes({"t": "broken", "message": str(problem)})

    async def _begin(self, number: int, asked: Message) -> list[bytes]:
        # A message that arrives twice must not become a second call.
        assert number not in self._begun
        self._begun.add(number)
        box = self._boxes[number] = Mailbox()
        task = self._running[number] = hidden(asyncio.ensure_future(self._worker.episode(box, self._agent, asked)))
        task.add_done_callback(lambda _: self._running.pop(number))
        return await self._taken(number)

    async def _taken(self, number: int) -> list[bytes]:
        messages = await self._boxes[number].taken()
        if parse(messages[-1], "message of an episode")["t"] in ENDS:
            del self._boxes[number]
        return messages

    async def _put(self, number: int, message: Message) -> None:
        if number in self._boxes:
            self._boxes[number].put(message)

    async def _cancel(self, number: int) -> bool:
        task = self._running.get(number)
        if task is not None:
            task.cancel()
            await asyncio.wait({task})
        self._boxes.pop(number, None)
        return True


async def _unseen(work: Coroutine[Any, Any, T]) -> T:
    task = asyncio.current_task()
    if task is not None:
        hidden(task)
    return await work


def _work(loop: asyncio.AbstractEventLoop) -> None:
    """Runs the agent's loop for as long as there is one, whatever agents do to it."""
    asyncio.set_event_loop(loop)
    loop.set_exception_handler(lambda _loop, _context: None)
    with staying():
        while not loop.is_closed():
            try:
                loop.run_forever()
            except BaseException:  # noqa: BLE001 - raised by a task that an adapter started
                continue
        leave(1)
