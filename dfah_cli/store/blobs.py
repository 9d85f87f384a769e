"""Long trajectories stand beside the log, under their digest; the record names them. Pure.

The record's own digest covers the name, so it covers the bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Any, NamedTuple

import orjson
from attrs import frozen

from dfah_cli.errors import ArtifactError, ValidationError
from dfah_cli.store.framing import FRAME, MAX_RECORD, Line, encode_body, frame, line_of
from dfah_cli.store.protocol import Body
from dfah_cli.store.vocabulary import check_fields

MEDIA = "application/json"
REFERENCE = {"sha256", "size"}

Fetch = Callable[[str], bytes]
"""Gives the bytes of an object by its digest. Raises: ArtifactError."""


@frozen
class Blob:
    """Bytes that must be durable before the record that names them."""

    sha256: str
    payload: bytes


class Encoded(NamedTuple):
    """One record ready to be written: what the log will hold, the objects that names, and bytes needed."""

    kind: str
    bodies: list[Body]
    lines: list[Line]
    blobs: list[Blob]
    size: int


def encode_record(body: Body) -> Encoded:
    """The record as written; two records (object, episode) when its trajectory is too long for a line.

    Raises: ArtifactError when the format has no such record; ValidationError when it has no canonical form or is
    too long even so.
    """
    if is_reference(body.get("trajectory")):
        raise ValidationError("trajectory: a mapping of sha256 and size alone is reserved for objects")
    kind = check_fields(body)
    raw = encode_body(body)
    if len(raw) <= MAX_RECORD or kind != "episode" or "trajectory" not in body:
        return Encoded(kind, [body], [line_of(raw)], [], len(raw) + FRAME)
    payload = encode_body(body["trajectory"])
    blob = Blob(sha256(payload).hexdigest(), payload)
    named = {"sha256": blob.sha256, "size": len(payload)}
    bodies: list[Body] = [{"t": "object", "media": MEDIA, **named}, {**body, "trajectory": named}]
    lines = [frame(short) for short in bodies]
    return Encoded(kind, bodies, lines, [blob], sum(len(line.raw) + FRAME for line in lines))


def is_reference(value: Any) -> bool:
    """Whether a recorded trajectory names an object."""
    return type(value) is dict and value.keys() == REFERENCE


def resolved(body: Body, fetch: Fetch) -> Body:
    """The episode with its trajectory in place of the name.

    Raises: ArtifactError when the object is missing, altered or not canonical JSON.
    """
    named = body["trajectory"]
    payload = fetch(named["sha256"])
    if len(payload) != named["size"] or sha256(payload).hexdigest() != named["sha256"]:
        raise ArtifactError("the object does not match the digest and size its record names")
    try:
        return {**body, "trajectory": orjson.loads(payload)}
    except orjson.JSONDecodeError:
        raise ArtifactError("the object is not JSON") from None
