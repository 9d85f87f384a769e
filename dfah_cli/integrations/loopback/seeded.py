"""How the provider behaves when nobody scripts it: a fixed policy, disturbed at known rates. Pure.

Every disturbance is drawn from the seed and the place of the answer (opening, visit, turn), never from time or
order of arrival, so two sessions with equal settings see the same provider.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from dfah_cli.canonical import digest
from dfah_cli.integrations.loopback.conversation import Answer, Conversation, Fault, Opening, ToolUse
from dfah_cli.records import fields

RATE = fields.real(0.0, 1.0)
LABELS = re.compile(r"one of:?\s+((?:[A-Za-z]\w*(?:\s*,\s*(?:or\s+)?|\s*\|\s*|\s+or\s+)?)+)", re.IGNORECASE)
FALLBACK_LABELS = ("YES", "NO")
REFUSAL = "I cannot help with this case."


def _rate() -> float:
    value: float = field(default=0.0, converter=fields.to_float, validator=RATE)
    return value


@frozen(kw_only=True)
class Seeded:
    """Calls every offered tool, then answers with a label; the rates are shares of answers (faults: of requests).

    labels: used where the prompt names none after the words "one of". parallel: ask for all tools at once.
    flip_rate: another label. order_swap_rate: tools in another order. skip_rate: the last tool left out.
    argument_jitter_rate: another text argument. no_decision_rate: an answer without a decision line.
    """

    seed: int = field(default=42, validator=fields.integer(0))
    labels: tuple[str, ...] = field(default=(), converter=fields.to_tuple)
    parallel: bool = field(default=False, validator=fields.flag)
    flip_rate: float = _rate()
    order_swap_rate: float = _rate()
    skip_rate: float = _rate()
    argument_jitter_rate: float = _rate()
    no_decision_rate: float = _rate()
    refusal_rate: float = _rate()
    rate_limit_rate: float = _rate()
    server_error_rate: float = _rate()
    reset_rate: float = _rate()
    malformed_rate: float = _rate()
    timeout_rate: float = _rate()
    retry_after_s: float = field(default=0.05, converter=fields.to_float, validator=fields.real(0.0, 3600.0))
    timeout_s: float = field(default=30.0, converter=fields.to_float, validator=fields.real(0.0, 3600.0))

    def __call__(self, conversation: Conversation) -> Answer | Fault:
        """The answer, or the failure, of one request."""
        return self._fault(conversation) or self._answer(conversation)

    def _fault(self, conversation: Conversation) -> Fault | None:
        for kind, rate in (
            ("rate_limit", self.rate_limit_rate),
            ("server_error", self.server_error_rate),
            ("reset", self.reset_rate),
            ("malformed", self.malformed_rate),
            ("timeout", self.timeout_rate),
        ):
            # The attempt, not the visit: a retry of the same request has a chance of its own.
            if self._draw(conversation.opening, conversation.attempt, kind) < rate:
                return Fault(kind=kind, retry_after_s=self.retry_after_s, seconds=self.timeout_s)
        return None

    def _answer(self, conversation: Conversation) -> Answer:
        if self._happens(conversation, "refusal", self.refusal_rate):
            return Answer(refusal=REFUSAL)
        path = self._path(conversation)
        made = len(conversation.opening.answers)
        if made < len(path):
            return Answer(calls=tuple(path[made:] if self.parallel else path[made : made + 1]))
        label = self._label(conversation)
        if self._happens(conversation, "no_decision", self.no_decision_rate):
            return Answer(text=f"The case looks like {label.lower()}, I would say.")
        return Answer(text=f"Looked at {made} answers.\nDECISION: {label}")

    def _path(self, conversation: Conversation) -> list[ToolUse]:
        opening = conversation.opening
        names = sorted(opening.schemas)
        if self._happens(conversation, "order_swap", self.order_swap_rate):
            names.reverse()
        if self._happens(conversation, "skip", self.skip_rate):
            names = names[:-1]
        jitter = self._happens(conversation, "argument_jitter", self.argument_jitter_rate)
        return [ToolUse(name, example(opening.schemas[name], opening.user, jitter=jitter)) for name in names]

    def _label(self, conversation: Conversation) -> str:
        opening = conversation.opening
        labels = self.labels or offered_labels(f"{opening.system}\n{opening.user}")
        steady = int(digest(["label", opening.user])[:8], 16) % len(labels)
        if not self._happens(conversation, "flip", self.flip_rate):
            return labels[steady]
        others = [label for index, label in enumerate(labels) if index != steady]
        return others[int(self._draw(opening, conversation.visit, "which") * len(others))] if others else labels[0]

    def _happens(self, conversation: Conversation, what: str, rate: float) -> bool:
        return self._draw(conversation.opening, conversation.visit, what) < rate

    def _draw(self, opening: Opening, number: int, what: str) -> float:
        return random.Random(f"{self.seed}|{opening.key}|{number}|{what}").random()


def offered_labels(prompt: str) -> tuple[str, ...]:
    """The labels a prompt names after the words "one of"; YES and NO where it names none."""
    found = LABELS.findall(prompt)
    words = re.findall(r"[A-Za-z]\w*", found[-1]) if found else []
    labels = tuple(word.upper() for word in words if word.lower() != "or")
    return labels or FALLBACK_LABELS


def example(schema: Mapping[str, Any], user: str, *, jitter: bool = False) -> dict[str, Any]:
    """Arguments that satisfy a plain object schema; values of the same name in the user's JSON are used."""
    known = _known(user)
    properties = schema.get("properties", {})
    wanted = schema.get("required", list(properties))
    arguments = {name: known.get(name, _value(properties.get(name, {}))) for name in wanted}
    first_text = next((name for name, value in arguments.items() if isinstance(value, str)), None)
    if jitter and first_text is not None and "enum" not in properties.get(first_text, {}):
        arguments[first_text] = f"{arguments[first_text]} "
    return arguments


def _known(user: str) -> dict[str, Any]:
    start, end = user.find("{"), user.rfind("}")
    try:
        found = json.loads(user[start : end + 1]) if start >= 0 else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


EXAMPLES: dict[str, Any] = {"string": "x", "integer": 1, "number": 1.0, "boolean": True, "object": {}, "null": None}


def _value(schema: Mapping[str, Any]) -> Any:
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    if schema.get("enum"):
        return schema["enum"][0]
    if schema.get("type") == "array":
        return [_value(schema.get("items", {}))]
    if schema.get("type") == "object":
        return example(schema, "")
    kind = schema.get("type", "string")
    return schema.get("minimum", EXAMPLES.get(kind if isinstance(kind, str) else "string", "x"))
