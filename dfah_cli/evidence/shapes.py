"""Whether the parts of a terminal record can be read back at all. Pure; what passes here never fails to decode.

Parse provenance and errors have few distinct contents, so each is built once and remembered by content.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from dfah_cli.canonical import canonical_bytes, parse
from dfah_cli.errors import ValidationError
from dfah_cli.records.episode import EpisodeError
from dfah_cli.records.fields import check_printable
from dfah_cli.records.journal import parse_from_body
from dfah_cli.records.wire import WireRequest

USAGE = frozenset(("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens", "provider_usage"))
CALL = frozenset(
    ("name", "arguments_hash", "arguments", "call_id", "output_hash", "result_state", "execution_state", "latency_us")
)
PARSE = frozenset(("strategy", "raw_span", "accepted", "fallback", "confidence", "reason"))
ERROR = frozenset(("kind", "message", "retryable", "dispatch_state"))
ROUTING = ("provider", "model", "endpoint", "adapter", "adapter_version")
ECHO = frozenset((*ROUTING, "parameters_attested", "parameters_sha256", "payload_hash"))
MAX = 2**53
TIME_LENGTH = 27

Part = Mapping[str, Any]
Content = tuple[tuple[str, ...], tuple[Any, ...], tuple[type, ...]]


def is_error(part: Part) -> bool:
    """Whether an error can be read."""
    return part.keys() == ERROR and _reads(_error, _content(part))


def is_parse(part: Part) -> bool:
    """Whether a parse provenance can be read."""
    return part.keys() == PARSE and _reads(parse_from_body, _content(part))


def is_echo(part: Part) -> bool:
    """Whether a wire echo that differs from the manifest can be read."""
    return part.keys() == ECHO and _reads(_echo, _content(part))


def is_count(value: Any) -> bool:
    """Whether a value is a whole number from 0 that every reader keeps exact."""
    return type(value) is int and 0 <= value < MAX


def is_usage(part: Part) -> bool:
    """Whether token counts can be read."""
    counted = all(is_count(value) for name, value in part.items() if name != "provider_usage")
    return part.keys() == USAGE and counted and (part["provider_usage"] == "{}" or is_object(part["provider_usage"]))


def is_call(part: Part) -> bool:
    """Whether what a call says beside its step can be read."""
    latency, call_id, arguments = part["latency_us"], part["call_id"], part["arguments"]
    return (
        part.keys() == CALL
        and (latency is None or is_count(latency))
        and (call_id is None or is_name(call_id))
        and (arguments is None or is_object(arguments))
    )


def is_time(text: Any) -> bool:
    """Whether a value is a UTC time with microseconds, as all times here are written."""
    if type(text) is not str or len(text) != TIME_LENGTH or text[-1] != "Z":
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def is_name(value: Any) -> bool:
    """Whether a value can stand where something is named."""
    return type(value) is str and check_printable(value) is None


def is_object(text: Any) -> bool:
    """Whether a text is the canonical text of a JSON object."""
    try:
        value = parse(text) if type(text) is str else None
        return type(value) is dict and canonical_bytes(value).decode() == text
    except ValidationError:
        return False


def _content(part: Part) -> Content:
    # With the types: 1 and true are equal, and only one of them is a flag.
    values = tuple(part.values())
    return tuple(part), values, tuple(map(type, values))


@lru_cache(maxsize=4096)
def _reads(reader: Callable[[Part], Any], content: Content) -> bool:
    names, values, _ = content
    try:
        reader(dict(zip(names, values, strict=True)))
    except (ValidationError, TypeError, KeyError):
        return False
    return True


def _error(part: Part) -> EpisodeError:
    return EpisodeError(**part)


def _echo(part: Part) -> WireRequest:
    routed = {name: value for name, value in part.items() if name != "parameters_sha256"}
    return WireRequest(**routed)
