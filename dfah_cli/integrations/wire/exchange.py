"""What one episode sent and received: filled by the tap, read by the seam when the episode is over."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from attrs import define, field, frozen

from dfah_cli.adapter.meter import Meter
from dfah_cli.canonical import canonical_bytes, digest_bytes
from dfah_cli.integrations.wire.pace import Pace
from dfah_cli.integrations.wire.reading import Reading, read

if TYPE_CHECKING:
    from dfah_cli.adapter.session import ToolSession


@frozen
class Sent:
    """One attempt to send a request. body: None when it was no JSON object."""

    url: str
    body: dict[str, Any] | None


@define
class Exchange:
    """The requests and answers of one episode, in order.

    session: its tool calls, None without registered tools. pace: when its requests may leave. meter: hears of waiting.
    changed: called after each thing that was recorded.
    """

    session: ToolSession | None = None
    pace: Pace = field(factory=Pace)
    meter: Meter = field(factory=Meter)
    changed: Callable[[Exchange], None] | None = None
    sent: list[Sent] = field(factory=list)
    answers: list[Reading] = field(factory=list)
    # Statuses of answers that are none: 429, 500, …
    failures: list[int] = field(factory=list)
    _lock: threading.Lock = field(factory=threading.Lock, eq=False, repr=False)

    def note_sent(self, url: str, payload: bytes) -> None:
        """Records one attempt."""
        try:
            body = json.loads(payload)
        except ValueError:
            body = None
        with self._lock:
            self.sent.append(Sent(url, body if isinstance(body, dict) else None))
        self._tell()

    def note_failure(self, status: int) -> None:
        """Records an answer that is a failure."""
        with self._lock:
            self.failures.append(status)
        self._tell()

    def note_answer(self, payload: bytes) -> None:
        """Records a whole answer."""
        with self._lock:
            self.answers.append(read(payload))
        self._tell()

    def _tell(self) -> None:
        if self.changed is not None:
            self.changed(self)

    @property
    def unmetered(self) -> int:
        """Requests that may have cost something that nobody told: unanswered, or answered without a usage."""
        told = sum(bool(answer.input_tokens or answer.output_tokens) for answer in self.answers)
        return max(0, len(self.sent) - len(self.failures) - told)

    @property
    def asked_again(self) -> int:
        """Requests that were answered before in this episode, word for word, and asked again all the same."""
        repeated = len(self.bodies) - len({digest_bytes(canonical_bytes(body)) for body in self.bodies})
        unanswered = len(self.sent) - len(self.answers)
        return max(0, repeated - unanswered)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The JSON requests, in order; a repeated attempt stands once for each time it was sent."""
        return [one.body for one in self.sent if one.body is not None]

    @property
    def refused(self) -> bool:
        """Whether the provider's last word was a refusal."""
        return bool(self.answers) and self.answers[-1].refused


CURRENT: ContextVar[Exchange | None] = ContextVar("dfah_exchange", default=None)


@contextmanager
def observed(exchange: Exchange) -> Iterator[Exchange]:
    """Inside the block, what watched clients send in this context belongs to the exchange."""
    token = CURRENT.set(exchange)
    try:
        yield exchange
    finally:
        CURRENT.reset(token)
