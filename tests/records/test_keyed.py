from __future__ import annotations

import hmac
from hashlib import sha256

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from dfah_cli.canonical import digest
from dfah_cli.errors import ConfigurationError
from dfah_cli.records.keyed import ARGUMENTS, PAYLOAD, RESULT, DigestKey, keyed_episode
from dfah_cli.records.trajectory import ToolCall, Trajectory
from tests.builders import a_call, an_episode

SECRETS = st.binary(min_size=32, max_size=80)
VALUES = st.dictionaries(st.text(max_size=4), st.integers() | st.text(max_size=6) | st.booleans(), max_size=3)


def redacted(call: ToolCall) -> ToolCall:
    return evolve(call, arguments={}, arguments_hash=call.argument_hash, arguments_redacted=True)


@settings(max_examples=40)
@given(SECRETS, VALUES, VALUES)
def test_equal_values_have_equal_digests_under_one_key_and_different_values_different_ones(
    secret: bytes, one: dict[str, object], other: dict[str, object]
) -> None:
    key = DigestKey(secret)
    same = digest(one) == digest(other)
    assert (key.digest(ARGUMENTS, digest(one)) == key.digest(ARGUMENTS, digest(other))) == same


@settings(max_examples=40)
@given(SECRETS, SECRETS, VALUES)
def test_another_key_gives_other_digests_and_another_id(one: bytes, other: bytes, value: dict[str, object]) -> None:
    # HMAC pads a key with zeros, so these would be one key.
    if one.rstrip(b"\0") == other.rstrip(b"\0"):
        return
    left, right = DigestKey(one), DigestKey(other)
    assert left.id != right.id
    assert left.digest(RESULT, digest(value)) != right.digest(RESULT, digest(value))


@settings(max_examples=40)
@given(SECRETS, VALUES)
def test_a_digest_is_neither_the_plain_one_nor_that_of_another_kind(secret: bytes, value: dict[str, object]) -> None:
    key, plain = DigestKey(secret), digest(value)
    kinds = {key.digest(label, plain) for label in (ARGUMENTS, RESULT, PAYLOAD)}
    assert len(kinds | {plain}) == 4


def test_an_auditor_can_make_the_digest_with_the_documented_recipe() -> None:
    secret, value = b"k" * 32, {"risk_tier": "high"}
    expected = hmac.new(secret, b"dfah arguments v1\n" + bytes.fromhex(digest(value)), sha256).hexdigest()
    assert DigestKey(secret).digest(ARGUMENTS, digest(value)) == expected
    assert DigestKey(secret).id == hmac.new(secret, b"dfah digest key id v1\n", sha256).hexdigest()[:16]


@pytest.mark.parametrize("length", [0, 1, 31])
def test_a_key_that_can_be_guessed_is_refused(length: int) -> None:
    with pytest.raises(ConfigurationError, match="fewer than 32 characters"):
        DigestKey(b"k" * length)


def test_a_key_is_not_shown() -> None:
    assert "kkk" not in repr(DigestKey(b"k" * 32))


def test_an_episode_keeps_everything_but_its_digests() -> None:
    key, call = DigestKey(b"k" * 32), redacted(a_call("T", {"x": "1"}))
    episode = an_episode(trajectory=Trajectory.of((call,)))
    keyed = keyed_episode(episode, key)
    assert keyed.wire_request is not None
    assert episode.wire_request is not None
    (made,) = keyed.trajectory.tool_calls
    assert made.arguments_hash == key.digest(ARGUMENTS, str(call.arguments_hash))
    assert made.output_hash == key.digest(RESULT, str(call.output_hash))
    assert keyed.wire_request.payload_hash == key.digest(PAYLOAD, episode.wire_request.payload_hash)
    back = evolve(
        keyed,
        trajectory=episode.trajectory,
        wire_request=evolve(keyed.wire_request, payload_hash=episode.wire_request.payload_hash),
    )
    assert back == episode
