"""Bytes of the log: record lines, commit lines, padding. Pure; the same functions write and check.

line  = '{"h":"' HEX64 '","r":' BODY '}' LF     batch = record lines, one commit line, [spaces LF]
A batch ends on a 4096-byte boundary, because a disk that rewrites a block may damage bytes already synced in
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import orjson

from dfah_cli.errors import ArtifactError, ValidationError
from dfah_cli.store.protocol import Body

_EXACT = frozenset({str, int, bool, type(None)})

BLOCK = 4096
MAX_RECORD = 256 * 1024
MAX_BATCH = 8 * 1024 * 1024

PREFIX = b'{"h":"'
MIDDLE = b'","r":'
BODY_START = len(PREFIX) + 64 + len(MIDDLE)
FRAME = BODY_START + 2
"""Bytes of a line besides its body."""
COMMIT_START = b'{"b":'
COMMIT_FIELDS = {"b", "n", "off", "root", "t"}

# Integers beyond 2**53 and values that only Python knows are refused by the encoder itself.
_STRICT = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_STRICT_INTEGER
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
)


def encode_body(body: Any) -> bytes:
    """The RFC 8785 bytes of a record, or of a value in one.

    Raises: ValidationError for floats, keys that are not ASCII text, integers beyond 2**53, or more than JSON.
    """
    try:
        raw = orjson.dumps(body, option=_STRICT)
    except TypeError as error:  # orjson.JSONEncodeError is a TypeError; its text names types, not values
        raise ValidationError(f"record cannot be written as canonical JSON: {error}") from None
    _refuse_inexact(body, keys=not raw.isascii())
    return raw


def _refuse_inexact(value: Any, *, keys: bool) -> None:
    # Only here would the encoder's bytes differ from RFC 8785: floats, and keys outside ASCII.
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        if type(item) is dict:
            if keys and not all(map(str.isascii, item)):
                raise ValidationError("record with a key that is not ASCII text")
            stack += [inner for inner in item.values() if type(inner) not in _EXACT]
        elif isinstance(item, list | tuple):
            stack += [inner for inner in item if type(inner) not in _EXACT]
        elif isinstance(item, float):
            raise ValidationError("record with a float; numbers in records are integers of a named unit")


def decode_body(raw: bytes) -> Body:
    """The record that these bytes state, when they are its one canonical spelling.

    Raises: ArtifactError.
    """
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError:
        raise ArtifactError("body is not JSON") from None
    if type(body) is not dict or orjson.dumps(body, option=orjson.OPT_SORT_KEYS) != raw:
        raise ArtifactError("body is not a canonical JSON object")
    return body


class Line(NamedTuple):
    """One framed record: its content address (64 hex digits) and its body bytes."""

    h: str
    raw: bytes

    def framed(self) -> bytes:
        return b'{"h":"%b","r":%b}\n' % (self.h.encode("ascii"), self.raw)


def line_of(raw: bytes) -> Line:
    """The line of an encoded record. Raises: ValidationError when it exceeds 256 KiB."""
    if len(raw) > MAX_RECORD:
        raise ValidationError(f"record of {len(raw)} bytes; at most {MAX_RECORD} fit")
    return Line(sha256(raw).hexdigest(), raw)


def frame(body: Body) -> Line:
    """The line of a record. Raises: ValidationError."""
    return line_of(encode_body(body))


def parse_line(line: bytes) -> Line:
    """The framed record of one line (its LF included).

    Raises: ArtifactError when the frame or the digest is wrong.
    """
    raw = line[BODY_START:-2]
    h = sha256(raw).hexdigest()
    if line[:BODY_START] == b'{"h":"%b","r":' % h.encode() and line[-2:] == b"}\n":
        return Line(h, raw)
    if line[:6] != PREFIX or line[70:BODY_START] != MIDDLE or line[-2:] != b"}\n":
        raise ArtifactError("the line is not framed as a record")
    raise ArtifactError("the body does not match its digest")


def is_commit(line: bytes) -> bool:
    """Whether a framed line is a commit line (no other body sorts a field `b` first)."""
    return line[BODY_START : BODY_START + 5] == COMMIT_START


def padding(end: int) -> bytes:
    """Spaces and LF from offset `end` to the next block boundary; empty when it is one."""
    missing = -end % BLOCK
    if missing == 0:
        return b""
    if missing == 1:
        missing += BLOCK  # an LF alone would be an empty line, which line tools may drop
    return b"\n".rjust(missing)


class CommitMark(NamedTuple):
    """What a commit line states: batch number, records in the log, offset of its batch, hex root."""

    b: int
    n: int
    off: int
    root: str

    def line(self) -> bytes:
        raw = b'{"b":%d,"n":%d,"off":%d,"root":"%b","t":"commit"}' % (self.b, self.n, self.off, self.root.encode())
        return line_of(raw).framed()


def parse_commit(line: bytes) -> CommitMark:
    """The mark of one commit line. Raises: ArtifactError."""
    body = decode_body(parse_line(line).raw)
    if body.keys() != COMMIT_FIELDS or body["t"] != "commit":
        raise ArtifactError("commit line with other fields than b, n, off, root, t")
    numbers = (body["b"], body["n"], body["off"])
    if any(type(number) is not int for number in numbers) or type(body["root"]) is not str:
        raise ArtifactError("commit line with a field of another type")
    return CommitMark(*numbers, body["root"])


def batch_bytes(lines: Sequence[bytes], mark: CommitMark) -> bytes:
    """One whole batch: framed lines, commit line, padding."""
    payload = b"".join((*lines, mark.line()))
    return payload + padding(mark.off + len(payload))
