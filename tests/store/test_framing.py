"""The bytes of the log: RFC 8785 at the encoder's speed, frames that name one body, batches on block boundaries."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import orjson
import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from dfah_cli.errors import ArtifactError, ValidationError
from dfah_cli.store import framing
from dfah_cli.store.framing import BLOCK, CommitMark, batch_bytes, encode_body, frame, padding, parse_commit, parse_line

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
KEYS = st.text(st.characters(max_codepoint=127), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(KEYS, VALUES, max_size=6))
def test_an_encoded_body_is_rfc_8785(body: dict[str, Any]) -> None:
    assert encode_body(body) == rfc8785.dumps(body)
    assert framing.decode_body(encode_body(body)) == body


@pytest.mark.parametrize(
    "raw", [b'{"a":1,"a":1}', b'{"b":1,"a":2}', b'{ "a":1}', b'{"a":1.0e0}', b"[1]", b"{", b'"\xff"']
)
def test_a_body_that_is_not_canonical_is_refused(raw: bytes) -> None:
    with pytest.raises(ArtifactError):
        framing.decode_body(raw)


def test_an_auditor_recomputes_the_digest_with_a_slice() -> None:
    line = frame({"t": "note", "kind": "x", "text_sha256": "é"}).framed()
    assert sha256(line[76:-2]).hexdigest().encode() == line[6:70]
    assert orjson.loads(line)["r"]["t"] == "note"


@given(st.integers(0, 20 * BLOCK))
def test_padding_ends_on_a_block_and_is_never_a_lone_line_feed(end: int) -> None:
    pad = padding(end)
    assert (end + len(pad)) % BLOCK == 0
    assert len(pad) != 1
    assert pad == b"" or pad == b" " * (len(pad) - 1) + b"\n"


@given(st.integers(0, 600), st.integers(0, 255))
def test_a_line_with_any_byte_changed_is_refused(position: int, byte: int) -> None:
    line = bytearray(frame({"t": "note", "kind": "x" * 500, "text_sha256": "0"}).framed())
    position %= len(line)
    if line[position] == byte:
        return
    line[position] = byte
    with pytest.raises(ArtifactError):
        parse_line(bytes(line))


def test_a_commit_line_comes_back() -> None:
    mark = CommitMark(3, 17, 8192, "ab" * 32)
    assert parse_commit(mark.line()) == mark
    assert framing.is_commit(mark.line())
    assert not framing.is_commit(frame({"t": "segment", "boot": "b"}).framed())
    assert len(batch_bytes([frame({"a": 1}).framed()], mark)) % BLOCK == 0


def test_a_record_beyond_the_limit_is_refused() -> None:
    with pytest.raises(ValidationError, match="262144"):
        frame({"t": "x" * 262_144})
