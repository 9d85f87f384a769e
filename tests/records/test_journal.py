"""Episodes as log bodies: integers, strings, booleans and null only, and the same episode back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from dfah_cli.canonical import digest
from dfah_cli.records.enums import EpisodeStatus
from dfah_cli.records.episode import Usage
from dfah_cli.records.journal import episode_body, episode_from_body, time_text
from dfah_cli.records.keys import SlotKeys
from dfah_cli.records.run_plan import episode_key, idempotency_key
from dfah_cli.records.trajectory import UNAVAILABLE, Trajectory
from dfah_cli.records.wire import parameters_digest
from tests.builders import a_call, a_manifest, an_episode

KEY = "ab" * 32


def body_of(episode: Any) -> dict[str, Any]:
    sha256 = parameters_digest(a_manifest().request_parameters)
    return episode_body(episode, ordinal=3, key=KEY, parameters_sha256=sha256)


def numbers_and_texts(value: Any) -> set[type]:
    if isinstance(value, dict):
        return set().union(*map(numbers_and_texts, value.values()), {type(key) for key in value})
    if isinstance(value, list):
        return set().union(*map(numbers_and_texts, value))
    return {type(value)}


ARGUMENTS = {"x": "1", "big": 10**30, "f": 0.1}
OPEN = Trajectory.of((a_call("T", ARGUMENTS, arguments_hash=digest(ARGUMENTS), latency_ms=1.5, call_id="c-0"),))
REDACTED = Trajectory.of((a_call(arguments_hash="c" * 64, arguments_redacted=True),))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"status": "parse_failure"},
        {"status": "refusal"},
        {"status": "tool_error"},
        {"status": "provider_error", "trajectory": UNAVAILABLE, "wire_request": None},
        {"status": "contract_error"},
        {"trajectory": Trajectory.of(())},
        {"trajectory": OPEN},
        {"usage": Usage(input_tokens=3, provider_usage={"f": 0.5, "big": 2**70})},
        {"cost_nusd": 2**53 - 1, "latency_us": 12345, "provider_response_id": "r-1"},
    ],
    ids=str,
)
def test_an_episode_comes_back_equal(changes: dict[str, Any]) -> None:
    values = {"status": "valid", "trajectory": REDACTED, **changes}
    episode = an_episode(episode_id=KEY[:32], **values)
    body = body_of(episode)
    assert numbers_and_texts(body) <= {int, str, bool, type(None)}
    assert episode_from_body(body, a_manifest()) == episode


def test_a_body_says_only_the_pseudonym_and_no_output_text() -> None:
    body = body_of(an_episode(EpisodeStatus.VALID))
    assert set(body) == {
        "t", "i", "k", "manifest_hash", "case_id", "task", "replay_index", "status", "dispatch_state", "decision",
        "parse", "trajectory", "wire_request", "usage", "cost_nusd", "latency_us", "started_at", "ended_at",
        "response", "error",
    }  # fmt: skip
    assert "payload" not in body["wire_request"]
    assert body["wire_request"]["payload_hash"] == digest(a_manifest().request_parameters)


def test_times_are_utc_with_microseconds() -> None:
    moment = datetime(2026, 1, 31, 10, 0, tzinfo=timezone(timedelta(hours=1)))
    assert time_text(moment) == "2026-01-31T09:00:00.000000Z"
    assert time_text(datetime(999, 1, 1, tzinfo=UTC)) == "0999-01-01T00:00:00.000000Z"


@pytest.mark.parametrize("case_id", ["A", 'quote " and \\', "é ✓ 😀", "\u2028"])
def test_fast_keys_are_the_defined_ones(case_id: str) -> None:
    keys = SlotKeys("f" * 64)
    assert keys.episode(case_id, 7) == episode_key("f" * 64, case_id, 7)
    assert keys.idempotency(case_id, 7) == idempotency_key("f" * 64, case_id, 7)
