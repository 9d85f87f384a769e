"""What a request asks and what the provider answers, whichever protocol carries them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import field, frozen

from dfah_cli.canonical import digest

JSON = dict[str, Any]


@frozen
class ToolUse:
    """A tool call the provider asks for."""

    name: str
    arguments: Mapping[str, Any]


@frozen
class ToolAnswer:
    """A tool call that was made earlier in the conversation; output: as text."""

    call_id: str
    name: str
    arguments: Any
    output: str


@frozen(kw_only=True)
class Opening:
    """A parsed request, in the words of no protocol. user: the first text of the user's."""

    dialect: str
    model: str
    system: str
    user: str
    schemas: Mapping[str, Mapping[str, Any]]
    answers: tuple[ToolAnswer, ...]
    turn: int
    stream: bool
    stream_usage: bool = True
    body: JSON = field(repr=False)

    @property
    def key(self) -> str:
        """Equal for every turn of every replay of one case."""
        return digest([self.dialect, self.model, self.system, self.user, sorted(self.schemas)])


@frozen(kw_only=True)
class Conversation:
    """A request with its place among those the provider has seen.

    visit: how many conversations began with the same opening before this one; what the provider sees of a replay.
    turn: answers given in it so far. attempt: requests seen with this opening so far, failed ones included.
    """

    opening: Opening
    visit: int
    attempt: int

    @property
    def turn(self) -> int:
        """Answers given in this conversation so far."""
        return self.opening.turn


@frozen(kw_only=True)
class Answer:
    """What the provider says: text, tool calls (several at once are parallel calls), or a refusal."""

    text: str = ""
    calls: tuple[ToolUse, ...] = ()
    refusal: str | None = None
    # Sent in place of the encoded arguments of the first call, to see what becomes of arguments that are no JSON.
    raw_arguments: str | None = None


@frozen(kw_only=True)
class Fault:
    """A failure of the transport.

    kind: rate_limit, server_error, reset, malformed, timeout, cut (the connection ends within the answer).
    retry_after_s: for rate_limit. seconds: for timeout, how long nothing is sent.
    """

    kind: str
    retry_after_s: float = 0.0
    seconds: float = 30.0


Behaviour = Callable[[Conversation], Answer | Fault]


@frozen(kw_only=True)
class Minted:
    """The ids and the numbers of one answer."""

    response_id: str
    call_ids: tuple[str, ...]
    input_tokens: int
    output_tokens: int


def tokens_of(text: str) -> int:
    """A count that is the same for the same text: a quarter of its characters, at least 1."""
    return max(1, len(text) // 4)
