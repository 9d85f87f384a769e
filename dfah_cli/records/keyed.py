"""Digests under an organisation's key: equal values stay equal, and nobody without the key can try values. Pure.

The keyed digest is HMAC-SHA256(key, label ‖ plain digest): it can be made of a plain digest whose value is gone.
Keyed are the digests of tool arguments, tool results and provider payloads; docs/store-format.md says what is not.
"""

from __future__ import annotations

# By name: an adapter that replaces functions of that module must not reach what is recorded.
from hmac import digest as mac

from attrs import evolve, field, frozen

from dfah_cli.errors import ConfigurationError
from dfah_cli.records.episode import Episode
from dfah_cli.records.trajectory import ToolCall
from dfah_cli.records.wire import WireRequest

ARGUMENTS, RESULT, PAYLOAD = b"dfah arguments v1\n", b"dfah result v1\n", b"dfah payload v1\n"
KEY_ID = b"dfah digest key id v1\n"
KEY_ID_LENGTH = 16
MIN_SECRET = 32


@frozen
class DigestKey:
    """The key. secret: at least 32 bytes; never recorded and never shown."""

    secret: bytes = field(repr=False)

    def __attrs_post_init__(self) -> None:
        if len(self.secret) < MIN_SECRET:
            raise ConfigurationError(
                f"digest key: found fewer than {MIN_SECRET} characters; expected a random key, "
                'such as `python -c "import secrets; print(secrets.token_hex(32))"` prints'
            )

    @property
    def id(self) -> str:
        """Names the key without telling anything else about it: 16 hex digits."""
        return self._mac(KEY_ID, b"")[:KEY_ID_LENGTH]

    def digest(self, label: bytes, plain: str) -> str:
        """The keyed digest that stands for a plain one; 64 hex digits."""
        return self._mac(label, bytes.fromhex(plain))

    def _mac(self, label: bytes, message: bytes) -> str:
        return mac(self.secret, label + message, "sha256").hex()


def keyed_episode(episode: Episode, key: DigestKey) -> Episode:
    """The episode as it is recorded under a key; captured arguments must not be in it."""
    calls = tuple(_keyed_call(call, key) for call in episode.trajectory.tool_calls)
    return evolve(
        episode,
        trajectory=evolve(episode.trajectory, tool_calls=calls),
        wire_request=_keyed_echo(episode.wire_request, key),
    )


def _keyed_call(call: ToolCall, key: DigestKey) -> ToolCall:
    assert call.arguments_redacted, "captured arguments beside a keyed digest of them"
    return evolve(
        call,
        arguments_hash=_keyed(call.arguments_hash, ARGUMENTS, key),
        output_hash=_keyed(call.output_hash, RESULT, key),
    )


def _keyed_echo(echo: WireRequest | None, key: DigestKey) -> WireRequest | None:
    return None if echo is None else evolve(echo, payload_hash=key.digest(PAYLOAD, echo.payload_hash))


def _keyed(plain: str | None, label: bytes, key: DigestKey) -> str | None:
    return None if plain is None else key.digest(label, plain)
