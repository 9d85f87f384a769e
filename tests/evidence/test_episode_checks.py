"""Every change of a recorded episode breaks a claim, or leaves a record that still reads and says the same."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from dfah_cli.errors import ArtifactError
from dfah_cli.evidence.claims import CheckStatus, Claim
from dfah_cli.evidence.verify import examine
from dfah_cli.records.journal import episode_from_body
from tests.builders import a_scripted_agent, believed, replayed

PATHS: dict[str, Any] = {
    "A": [("Y", "T k=x")],
    "B": [("maybe", "T")],
    "C": [lambda case, context: (_ for _ in ()).throw(RuntimeError())],
}
ODD: tuple[Any, ...] = (None, -1, 0, 1, True, "x", "", [], {}, ["x"], {"x": 1}, "0" * 64, 2**53)


@pytest.fixture
def recorded(in_memory: Any) -> Any:
    """A run of valid, unreadable and failed episodes, with captured arguments."""
    replayed(a_scripted_agent(PATHS, cost_usd=0.1), "run", replays=2, capture_tool_arguments=True)
    return in_memory["run"].open_reader()


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield (*path, key)
            yield from places(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield (*path, index)
            yield from places(item, (*path, index))


def changes(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path in places(body):
        for odd in (*ODD, "deleted", "extra"):
            changed = copy.deepcopy(body)
            holder = changed
            for part in path[:-1]:
                holder = holder[part]
            if odd == "deleted":
                del holder[path[-1]]
            elif odd == "extra":
                if not isinstance(holder[path[-1]], dict):
                    continue
                holder[path[-1]]["colour"] = "red"
            elif type(holder[path[-1]]) is type(odd) and holder[path[-1]] == odd:
                continue
            else:
                holder[path[-1]] = odd
            yield f"{path} = {odd!r}", changed


@pytest.mark.parametrize("status", ["valid", "parse_failure", "provider_error"])
def test_no_change_of_an_episode_is_believed_and_then_cannot_be_read(recorded: Any, status: str) -> None:
    records = list(recorded.records())
    at = next(n for n, (_, body) in enumerate(records) if body["t"] == "episode" and body["status"] == status)
    manifest = believed(recorded).manifest
    unread: list[str] = []
    for told, body in changes(records[at][1]):
        if "t" not in body or body["t"] != "episode" or type(body.get("i")) is not int or not 0 <= body["i"] < 6:
            continue
        stream = [*records[:at], (records[at][0], body), *records[at + 1 :]]
        try:
            found = examine(recorded.plan_bytes, recorded.manifest_bytes, stream)
        except ArtifactError:
            continue
        if found.run is None:
            assert any(check.status is CheckStatus.FAIL for check in found.checks)
            continue
        try:
            episode_from_body(body, manifest)
        except Exception as problem:
            unread.append(f"{told}: {type(problem).__name__}")
    assert unread == []


@pytest.mark.parametrize(
    ("path", "value", "claim"),
    [
        (("manifest_hash",), "0" * 64, Claim.IDENTITY),
        (("case_id",), "Z", Claim.IDENTITY),
        (("replay_index",), 9, Claim.IDENTITY),
        (("k",), "0" * 64, Claim.IDENTITY),
        (("status",), "fine", Claim.METADATA),
        (("dispatch_state",), "unknown_after_dispatch", Claim.METADATA),
        (("error",), {"kind": "x"}, Claim.METADATA),
        (("started_at",), "2026-01-31", Claim.METADATA),
        (("decision",), "z", Claim.ONTOLOGY),
        (("decision",), None, Claim.ONTOLOGY),
        (("parse", "accepted"), False, Claim.ONTOLOGY),
        (("parse", "fallback"), True, Claim.ONTOLOGY),
        (("parse", "raw_span"), "DECISION: N", Claim.ONTOLOGY),
        (("trajectory", "state"), "observed_empty", Claim.TRAJECTORY),
        (("trajectory", "calls"), [], Claim.TRAJECTORY),
        (("trajectory", "calls", 0, "execution_state"), "rejected", Claim.TRAJECTORY),
        (("trajectory", "calls", 0, "output_hash"), None, Claim.TRAJECTORY),
        (("trajectory", "calls", 1, "arguments"), '{"x":"other"}', Claim.TRAJECTORY),
        (("wire_request",), None, Claim.WIRE),
        (("wire_request", "model"), "other", Claim.WIRE),
        (("wire_request", "parameters_sha256"), "0" * 64, Claim.WIRE),
        (("wire_request", "parameters_attested"), False, Claim.WIRE),
        (("wire_request", "payload_hash"), "x", Claim.WIRE),
        (("cost_nusd",), -1, Claim.COST),
        (("cost_nusd",), True, Claim.COST),
        (("latency_us",), -1, Claim.LATENCY),
        (("latency_us",), "1", Claim.LATENCY),
    ],
)
def test_a_changed_field_of_a_valid_episode_breaks_the_claim_it_belongs_to(
    recorded: Any, path: tuple[Any, ...], value: Any, claim: Claim
) -> None:
    records = copy.deepcopy(list(recorded.records()))
    body = next(body for _, body in records if body["t"] == "episode" and body["status"] == "valid")
    holder = body
    for part in path[:-1]:
        holder = holder[part]
    holder[path[-1]] = value
    checks = examine(recorded.plan_bytes, recorded.manifest_bytes, records).checks
    assert claim in {check.claim for check in checks if check.status is CheckStatus.FAIL}


def test_an_untouched_run_is_believed(recorded: Any) -> None:
    run = believed(recorded)
    assert (run.episodes, run.complete) == (6, True)
    assert not [check for check in run.checks if check.status is CheckStatus.FAIL]


def test_a_slot_dispatched_twice_or_never_breaks_the_boundaries(recorded: Any) -> None:
    records = list(recorded.records())
    intent = next(one for one in records if one[1]["t"] == "dispatching")
    for stream in ([*records, intent], [one for one in records if one is not intent]):
        try:
            checks = examine(recorded.plan_bytes, recorded.manifest_bytes, stream).checks
        except ArtifactError:
            continue
        broken = {check.claim for check in checks if check.status is CheckStatus.FAIL}
        assert Claim.BOUNDARIES in broken
