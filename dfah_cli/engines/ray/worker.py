"""One actor, seen from the run."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from typing import Any

from dfah_cli.adapter.contract import RunContext
from dfah_cli.adapter.meter import Turns
from dfah_cli.adapter.reference import one_line
from dfah_cli.canonical import canonical_bytes, parse
from dfah_cli.engines.isolation.channel import Message
from dfah_cli.engines.isolation.dialogue import Dialogue
from dfah_cli.engines.ray.package import ray
from dfah_cli.errors import ConfigurationError
from dfah_cli.records.case import Case
from dfah_cli.version import __version__


async def value(reference: Any) -> Any:
    """What a call to an actor gave; giving up the wait does not disturb the call.

    Raises: what Ray raises.
    """
    return await asyncio.shield(asyncio.wrap_future(reference.future()))


def first_line(problem: BaseException) -> str:
    """An error of Ray's in one line."""
    text = next((line.strip() for line in str(problem).splitlines() if line.strip()), "")
    return f"{type(problem).__name__}: {one_line(text)}" if text else type(problem).__name__


class ActorLine:
    """The line of one episode to its actor. What comes from there is fetched by calls that wait for it."""

    def __init__(self, actor: Any, number: int) -> None:
        self._actor, self._number = actor, number
        self._fetching: Any = None
        self._heard: deque[Message] = deque()
        self.problem: str | None = None

    async def send(self, message: Message) -> None:
        """Sends one message; whether it arrived shows in what comes back."""
        payload = canonical_bytes(message)
        if message["t"] == "episode":
            self._fetching = self._actor.episode.remote(self._number, payload)
        else:
            self._actor.tell.remote(self._number, payload)

    async def receive(self) -> Message | None:
        """The next message; None when the actor is gone."""
        while not self._heard:
            fetching = self._fetching or self._actor.more.remote(self._number)
            self._fetching = None
            try:
                self._heard.extend(parse(line, "message of a worker") for line in await value(fetching))
            except Exception as problem:  # noqa: BLE001 - whatever it is: no end of the episode was heard
                self.problem = first_line(problem)
                return None
        return self._heard.popleft()


class RayWorker:
    """An actor that has loaded the agent. gone: done, with how, when it will never answer again."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor
        self.gone: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._watching = asyncio.ensure_future(self._watch())
        self.holds: set[int] = set()
        self.retired = False

    @classmethod
    async def start(cls, make: Callable[[], Any], load: Any, manifest_hash: str) -> RayWorker:
        """A worker that is ready. load: what it is told, or where in the cluster that lies.

        Raises: ConfigurationError when it cannot load the very agent of the run.
        """
        actor = make()
        try:
            answer = parse(await value(actor.load.remote(load)), "message of a worker")
            assert isinstance(answer, dict)
        except asyncio.CancelledError:
            _end(actor)
            raise
        except Exception as problem:
            raise ConfigurationError(
                f"engine ray: a worker could not be started: {first_line(problem)}; dfah-cli and the agent must be "
                "installed on every node, or be in engine.runtime_env"
            ) from problem
        worker = cls(actor)
        problem_found = _unfit(answer, manifest_hash)
        if problem_found is not None:
            await worker.kill()
            raise ConfigurationError(f"engine ray: {problem_found}")
        return worker

    async def episode(
        self, number: int, case: Case, context: RunContext, turns: Turns | None
    ) -> tuple[Message | None, str]:
        """How an episode ended, or None and what is known of the actor's end."""
        line = ActorLine(self._actor, number)
        self.holds.add(number)
        try:
            message = await Dialogue(line, turns).episode(case, context)
        finally:
            self.holds.discard(number)
        if message is None and not self.gone.done():
            # An actor that cannot be reached may still be running its episodes; it gets no others.
            self.gone.set_result(line.problem or "no answer")
        return message, line.problem or ""

    async def cancel(self, number: int, grace_s: float) -> bool:
        """Whether the actor has ended the episode within that time."""
        try:
            return bool(await asyncio.wait_for(value(self._actor.cancel.remote(number)), grace_s))
        except Exception:  # noqa: BLE001 - late or gone: either way it has not
            return False

    async def kill(self) -> None:
        """Ends the actor's process, whatever it is doing."""
        self._watching.cancel()
        _end(self._actor)

    async def _watch(self) -> None:
        try:
            await value(self._actor.until_gone.remote())
        except Exception as problem:  # noqa: BLE001 - of whatever kind
            if not self.gone.done():
                self.gone.set_result(first_line(problem))


def _end(actor: Any) -> None:
    with contextlib.suppress(Exception):
        ray().kill(actor, no_restart=True)


def _unfit(answer: Message, manifest_hash: str) -> str | None:
    """Why an actor cannot take episodes of this run; None when it can."""
    if answer["t"] != "ready":
        return f"a worker could not load the agent: {answer['message']}"
    if answer["version"] != __version__:
        return f"a worker has dfah-cli {answer['version']} and the run {__version__}; install the same on every node"
    if answer["manifest"] != manifest_hash:
        return "the agent of a worker has another manifest than that of the run; bring the nodes to the same code"
    return None
