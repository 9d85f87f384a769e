"""The server: HTTP in, an answer or a failure out. Standard library only; listens on this machine only.

with LoopbackProvider(behaviour) as provider:
    client = OpenAI(base_url=provider.openai_url, api_key="any")
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from http.server import ThreadingHTTPServer
from types import TracebackType
from typing import Any

from attrs import frozen

from dfah_cli.integrations.loopback import chat, messages, responses
from dfah_cli.integrations.loopback.conversation import (
    JSON,
    Answer,
    Behaviour,
    Conversation,
    Fault,
    Minted,
    Opening,
    tokens_of,
)
from dfah_cli.integrations.loopback.seeded import Seeded

CALL_ID = "call"


@frozen
class Dialect:
    """One protocol."""

    read: Callable[[JSON], Opening]
    answer_json: Callable[[Opening, Answer, Minted], JSON]
    answer_events: Callable[[Opening, Answer, Minted], Iterator[str]]


PATHS = {
    "/v1/chat/completions": Dialect(chat.read, chat.answer_json, chat.answer_events),
    "/v1/responses": Dialect(responses.read, responses.answer_json, responses.answer_events),
    "/v1/messages": Dialect(messages.read, messages.answer_json, messages.answer_events),
}


@frozen(kw_only=True)
class Served:
    """One request and what it was given; for tests to look at. headers: names in lower case."""

    path: str
    headers: dict[str, str]
    body: JSON
    given: Answer | Fault


class LoopbackProvider:
    """A provider on 127.0.0.1; as a context manager it listens inside the block.

    behaviour: decides each answer; a list is given out in order of arrival, its last item for ever.
    """

    def __init__(self, behaviour: Behaviour | Iterable[Answer | Fault] | None = None, *, port: int = 0) -> None:
        self._behaviour: Behaviour = (
            behaviour if callable(behaviour) else Seeded() if behaviour is None else _in_order(behaviour)
        )
        self._port = port
        self._lock = threading.Lock()
        self._visits: Counter[str] = Counter()
        self._attempts: Counter[str] = Counter()
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None
        self.served: list[Served] = []
        self.stopping = threading.Event()

    def __enter__(self) -> LoopbackProvider:
        from dfah_cli.integrations.loopback.http import Handler

        provider = self

        class Bound(Handler):
            def decide(self, path: str, headers: dict[str, str], body: JSON) -> tuple[Dialect, Opening, Any, Minted]:
                return provider.decide(path, headers, body)

            def pause(self, seconds: float) -> None:
                provider.stopping.wait(seconds)

        self.stopping.clear()
        self._server = _Server(("127.0.0.1", self._port), Bound)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, name="dfah-demo-provider", daemon=True
        )
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        assert self._thread is not None
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """What the messages protocol calls the base address: without a version."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def openai_url(self) -> str:
        """What OpenAI clients call the base address."""
        return f"{self.url}/v1"

    def decide(self, path: str, headers: dict[str, str], body: JSON) -> tuple[Dialect, Opening, Answer | Fault, Minted]:
        """What to answer, and with which ids.

        Raises: KeyError for an unknown path; whatever the reading of a malformed request raises.
        """
        dialect = PATHS[path]
        opening = dialect.read(body)
        with self._lock:
            self._attempts[opening.key] += 1
            number, attempt = sum(self._attempts.values()), self._attempts[opening.key] - 1
            visit = _visit_of(opening)
            visit = self._visits[opening.key] if visit is None else visit
            given = self._behaviour(Conversation(opening=opening, visit=visit, attempt=attempt))
            if isinstance(given, Answer) and not opening.turn:
                self._visits[opening.key] += 1
            self.served.append(Served(path=path, headers=headers, body=body, given=given))
        return dialect, opening, given, _minted(opening, given, visit, number)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512
    # Handlers that wait for a deadline must not keep the server from closing.
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no event."""


def _visit_of(opening: Opening) -> int | None:
    """The visit a conversation belongs to, from the ids minted in it; None before the first call."""
    for answer in opening.answers:
        parts = answer.call_id.split("_")
        if parts[0] == CALL_ID and len(parts) == 4:
            return int(parts[1])
    return None


def _minted(opening: Opening, given: Answer | Fault, visit: int, number: int) -> Minted:
    calls = given.calls if isinstance(given, Answer) else ()
    said = given.text + "".join(call.name for call in calls) if isinstance(given, Answer) else ""
    return Minted(
        response_id=f"loopback{number:06d}",
        call_ids=tuple(f"{CALL_ID}_{visit}_{opening.turn}_{index}" for index in range(len(calls))),
        input_tokens=tokens_of(json.dumps(opening.body, sort_keys=True)),
        output_tokens=tokens_of(said),
    )


def _in_order(script: Iterable[Answer | Fault]) -> Behaviour:
    steps = list(script)
    assert steps, "a script needs at least one step"

    def behave(_: Conversation) -> Answer | Fault:
        return steps.pop(0) if len(steps) > 1 else steps[0]

    return behave
