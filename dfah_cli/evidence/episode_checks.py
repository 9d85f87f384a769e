"""What must hold of one terminal record. Pure; a table of small checks, each for one claim.

A check returns what it found wrong, or None. It names fields and shapes, never values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from attrs import frozen

from dfah_cli.evidence.claims import Claim
from dfah_cli.records.enums import ChannelState, DispatchState, EpisodeStatus, ToolExecutionState
from dfah_cli.records.manifest import Manifest
from dfah_cli.records.run_plan import Slot
from dfah_cli.records.wire import parameters_digest

Body = Mapping[str, Any]

_STATUSES = frozenset(status.value for status in EpisodeStatus)
_HEX64 = re.compile(r"[0-9a-f]{64}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
_MAX = 2**53
_EXECUTION_STATES = frozenset(state.value for state in ToolExecutionState)
_RESULT_STATES = frozenset(state.value for state in ChannelState)
_VALID = EpisodeStatus.VALID.value
_OBSERVED = frozenset(state.value for state in ChannelState if state.observed)


@frozen
class Expected:
    """What every episode of a run is compared with."""

    manifest_hash: str
    ontology: frozenset[str]
    wire: dict[str, Any]

    @classmethod
    def of(cls, manifest: Manifest) -> Expected:
        """The expectations a manifest sets."""
        wire = {
            name: getattr(manifest, name) for name in ("provider", "model", "endpoint", "adapter", "adapter_version")
        }
        wire["parameters_attested"] = True
        wire["parameters_sha256"] = parameters_digest(manifest.request_parameters)
        return cls(manifest.hash, frozenset(manifest.decision_ontology), wire)


def identity(body: Body, slot: Slot, key: str, expected: Expected) -> str | None:
    """Manifest, case, task, replay index and key are those of the slot."""
    if body["manifest_hash"] != expected.manifest_hash:
        return "manifest_hash is not the run's"
    if body["case_id"] != slot.case_id or body["task"] != slot.task or body["replay_index"] != slot.replay_index:
        return "case, task or replay index is not the slot's"
    return None if body["k"] == key else "the key is not the digest of manifest, case and replay index"


def metadata(body: Body, slot: Slot, key: str, expected: Expected) -> str | None:
    """Status, dispatch state, error and times go together."""
    status = body["status"]
    if status not in _STATUSES:
        return "unknown status"
    interrupted = status == EpisodeStatus.INTERRUPTED
    state = DispatchState.UNKNOWN_AFTER_DISPATCH if interrupted else DispatchState.COMPLETE
    if body["dispatch_state"] != state:
        return "dispatch_state does not go with the status"
    if (status == _VALID) != (body["error"] is None):
        return "an error goes with every status but valid, and with that never"
    started, ended = body["started_at"], body["ended_at"]
    if not (_TIME.fullmatch(started) and _TIME.fullmatch(ended)):
        return "started_at or ended_at is not a UTC time"
    return None


def ontology(body: Body, slot: Slot, key: str, expected: Expected) -> str | None:
    """A valid episode has an accepted label of the ontology; no other has a decision."""
    label, parse = body["decision"], body["parse"]
    if body["status"] != _VALID:
        return None if label is None and not parse["accepted"] else "a decision on an episode that is not valid"
    if label not in expected.ontology:
        return "the decision is not in the ontology"
    if not parse["accepted"] or parse["fallback"] or parse["raw_span"] != f"DECISION: {label.upper()}":
        return "the parse provenance does not carry the decision"
    return None


def trajectory(body: Body, slot: Slot, key: str, expected: Expected) -> str | None:
    """State and calls go together, and captured arguments have the digest beside them."""
    path = body["trajectory"]
    state, calls = path["state"], path["calls"]
    if state not in _RESULT_STATES or bool(calls) != (state == ChannelState.OBSERVED_NONEMPTY):
        return "state and calls do not go together"
    if body["status"] == _VALID and state not in _OBSERVED:
        return "a valid episode without an observed trajectory"
    for call in calls:
        problem = _call_problem(call)
        if problem:
            return problem
        if body["status"] == _VALID and call["execution_state"] != ToolExecutionState.EXECUTED:
            return "a valid episode with a call that was not executed"
    return None


def _call_problem(call: Body) -> str | None:
    execution, output, arguments = call["execution_state"], call["output_hash"], call["arguments_hash"]
    if (
        execution not in _EXECUTION_STATES
        or call["result_state"] not in _RESULT_STATES
        or type(call["name"]) is not str
    ):
        return "a call with an unknown state or no name"
    if arguments is None:
        if execution != ToolExecutionState.REJECTED:
            return "a call without arguments_hash that was not rejected"
    elif not _HEX64.fullmatch(arguments):
        return "arguments_hash is not a SHA-256"
    if execution == ToolExecutionState.EXECUTED and (output is None or call["result_state"] not in _OBSERVED):
        return "an executed call without an observed result"
    if output is not None and not _HEX64.fullmatch(output):
        return "output_hash is not a SHA-256"
    text = call["arguments"]
    if text is not None and sha256(text.encode()).hexdigest() != arguments:
        return "captured arguments do not have the digest beside them"
    return None


def wire(body: Body, slot: Slot, key: str, expected: Expected) -> str | None:
    """A valid episode echoes the manifest; only a contract error may differ from it."""
    echo = body["wire_request"]
    if echo is None:
        return "a valid episode without a wire echo" if body["status"] == _VALID else None
    if not _HEX64.fullmatch(echo["payload_hash"]):
        return "payload_hash is not a SHA-256"
    if body["status"] == EpisodeStatus.CONTRACT_ERROR:
        return None
    routed = {name: value for name, value in echo.items() if name != "payload_hash"}
    return None if routed == expected.wire else "the wire echo differs from the manifest"


def cost(body: Body, slot: Slot, key: str, expected: Expected) -> str | None:
    """Nano-dollars and token counts are whole and not negative."""
    usage = body["usage"]
    counts = [body["cost_nusd"]]
    if usage is not None:
        counts += [value for name, value in usage.items() if name != "provider_usage"]
    return None if all(type(value) is int and 0 <= value < _MAX for value in counts) else "not a whole number from 0"


def latency(body: Body, slot: Slot, key: str, expected: Expected) -> str | None:
    """Microseconds are whole and not negative."""
    value = body["latency_us"]
    return None if type(value) is int and 0 <= value < _MAX else "not a whole number from 0"


Check = Callable[[Body, Slot, str, Expected], str | None]

EPISODE_CHECKS: dict[Claim, Check] = {
    Claim.IDENTITY: identity,
    Claim.METADATA: metadata,
    Claim.ONTOLOGY: ontology,
    Claim.TRAJECTORY: trajectory,
    Claim.WIRE: wire,
    Claim.COST: cost,
    Claim.LATENCY: latency,
}


def run_check(check: Check, body: Body, slot: Slot, key: str, expected: Expected) -> str | None:
    """What the check found wrong; a field that is missing or of another type is a finding, not a crash."""
    try:
        return check(body, slot, key, expected)
    except (KeyError, TypeError, AttributeError, IndexError):
        return "a field is missing or has another type"
