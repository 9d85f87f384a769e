"""Credential shapes: what is found, what is left alone, and that nothing of a secret stays."""

from __future__ import annotations

import time

import pytest

from dfah_cli.redaction import (
    CREDENTIAL_SHAPES,
    MAX_ERROR_TEXT,
    REDACTED,
    credential_shape,
    redact,
    redact_json,
    strings_in,
    text_of,
)

# Put together here, so that no scanner takes this file for a leak.
TAIL = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0"
SECRETS = {
    "anthropic": "sk-" + "ant-api03-" + TAIL,
    "openai project": "sk-" + "proj-" + TAIL,
    "openai": "sk-" + TAIL,
    "aws key id": "AK" + "IAIOSFODNN7EXAMPLE",
    "aws secret": "aws_secret_access_key = " + TAIL,
    "google": "AI" + "za" + TAIL,
    "google oauth": "ya" + "29." + TAIL,
    "slack a": "xo" + "xa-2-" + "1234567890abcdef",
    "slack b": "xo" + "xb-" + "123456789012-abcdef",
    "slack p": "xo" + "xp-" + "123456789012-abcdef",
    "github": "gh" + "p_" + TAIL,
    "github app": "gh" + "s_" + TAIL,
    "github fine": "github" + "_pat_" + TAIL,
    "gitlab": "gl" + "pat-" + "xxxxYYYYzzzz12345678",
    "hugging face": "h" + "f_" + TAIL,
    "stripe": "sk" + "_live_" + TAIL,
    "jwt": "ey" + "JhbGciOiJIUzI1NiJ9." + "ey" + "JzdWIiOiIxMjM0In0." + "c2lnbmF0dXJlc2ln",
    "bearer": "Authorization: Bearer " + TAIL,
    "url": "https://user:" + "hunter2hunter2@example.org/x",
    "pem": "-----BEGIN " + "PRIVATE KEY-----\nMIIEvQIBADANBgkq\nAAAA\n-----END PRIVATE KEY-----",
    "rsa pem": "-----BEGIN " + "RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nMIIEvQIBAD",
}
HARMLESS = (
    "risk-assessment-of-something-2026",
    "task-force-investigation-4711",
    "sk-1",
    "DECISION: ESCALATE",
    "https://example.org/path?x=1",
    "2026-01-31T09:00:00Z",
    "f" * 64,
    "the bearer of bad news",
    "AKIA",
    "AIzawa",
    "",
)


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS.keys())
def test_a_credential_is_found_and_nothing_of_it_stays(secret: str) -> None:
    text = f"it failed with {secret}"
    assert credential_shape(text) in CREDENTIAL_SHAPES
    left = redact(text)
    assert left.startswith("it failed with ")
    assert REDACTED in left
    for part in ("a1B2c3D4", "hunter2", "MIIEvQ", "AAAA\n", "c2lnbmF0", "7EXAMPLE", "123456"):
        assert part not in left


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS.keys())
def test_what_was_redacted_is_not_found_again(secret: str) -> None:
    left = redact(f"({secret})")
    assert redact(left) == left


@pytest.mark.parametrize("text", HARMLESS)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert credential_shape(text) is None
    assert redact(text) == text


def test_text_around_a_key_block_stays() -> None:
    assert redact(f"before {SECRETS['pem']} after") == f"before {REDACTED} after"


def test_every_string_of_a_json_value_is_redacted_keys_included() -> None:
    secret = SECRETS["github"]
    found = redact_json({secret: [secret, 1, None, {"k": (secret,)}], "plain": "text"})
    assert secret not in str(found)
    assert found["plain"] == "text"


def test_strings_are_found_at_every_depth() -> None:
    assert sorted(strings_in({"a": ["b", ("c", {"d": 1})], "e": None})) == ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize("piece", ["a", "sk-", "https://", "-----BEGIN ", "eyJa.", "bearer ", "x:y@", " ", "AKIA"])
def test_the_search_is_linear(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    started = time.process_time()
    redact(text)
    credential_shape(text)
    assert time.process_time() - started < 2.0


class _Unreadable(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


def test_the_text_of_an_exception_is_redacted_before_it_is_cut() -> None:
    for padding in range(MAX_ERROR_TEXT - 30, MAX_ERROR_TEXT + 2):
        told = text_of(RuntimeError("x" * padding + " " + SECRETS["openai"]))
        assert "sk-" not in told
        assert len(told) <= MAX_ERROR_TEXT


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        (ValueError("no"), "no"),
        (ValueError(), ""),
        (_Unreadable(), "(its text could not be read)"),
        (ValueError("\ud800"), "?"),
    ],
)
def test_the_text_of_an_exception_can_always_be_written(problem: BaseException, told: str) -> None:
    assert text_of(problem) == told
