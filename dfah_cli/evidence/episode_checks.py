"""What must hold of one terminal record. Pure; a table of small checks, each for one claim.

A check returns what it found wrong, or None. It names fields and shapes, never values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from operator import itemgetter
from typing import Any, NamedTuple

from attrs import field, frozen
from orjson import dumps

from dfah_cli.evidence import shapes
from dfah_cli.evidence.claims import Claim
from dfah_cli.records.enums import ChannelState, DispatchState, EpisodeStatus, ToolExecutionState
from dfah_cli.records.fields import HEX64
from dfah_cli.records.manifest import Manifest
from dfah_cli.records.tool_source import NOT_RECORDED
from dfah_cli.records.trajectory import Step
from dfah_cli.records.wire import parameters_digest

Body = Mapping[str, Any]

_STATUSES = frozenset(status.value for status in EpisodeStatus)
MAX_SOUND = 20_000  # beyond that, forgetting is cheaper than memory: contents repeat within a case
_EXECUTION_STATES = frozenset(state.value for state in ToolExecutionState)
_RESULT_STATES = frozenset(state.value for state in ChannelState)
_OBSERVED = frozenset(state.value for state in ChannelState if state.observed)
# Plain strings: comparing with an enum member costs several times as much, and this runs for every episode.
_VALID, _INTERRUPTED = EpisodeStatus.VALID.value, EpisodeStatus.INTERRUPTED.value
_CONTRACT_ERROR = EpisodeStatus.CONTRACT_ERROR.value
_NONEMPTY = ChannelState.OBSERVED_NONEMPTY.value
_EXECUTED, _REJECTED = ToolExecutionState.EXECUTED.value, ToolExecutionState.REJECTED.value
_COMPLETE, _UNKNOWN = DispatchState.COMPLETE.value, DispatchState.UNKNOWN_AFTER_DISPATCH.value
_ROUTING = (
    "provider", "model", "endpoint", "adapter", "adapter_version", "parameters_attested", "parameters_sha256"
)  # fmt: skip
_routing = itemgetter(*_ROUTING)
_identity = itemgetter("case_id", "task", "replay_index", "k")  # in the order of `Place`
_step = itemgetter("name", "arguments_hash", "output_hash", "result_state", "execution_state")


@frozen
class Expected:
    """What every episode of a run is compared with. sound_*: what was checked already, by content."""

    manifest_hash: str
    ontology: frozenset[str]
    routing: tuple[Any, ...]
    sound_steps: set[Step] = field(factory=set)
    sound_decisions: set[tuple[str, str | None, bytes]] = field(factory=set)

    @classmethod
    def of(cls, manifest: Manifest) -> Expected:
        """The expectations a manifest sets."""
        routed = [getattr(manifest, name) for name in _ROUTING[:5]]
        return cls(
            manifest.hash,
            frozenset(manifest.decision_ontology),
            (*routed, True, parameters_digest(manifest.request_parameters)),
        )


class Place(NamedTuple):
    """What the plan says of the slot of an episode."""

    case_id: str
    task: str
    replay_index: int
    key: str


def identity(body: Body, place: Place, expected: Expected) -> str | None:
    """Manifest, case, task, replay index and key are those of the slot."""
    if _identity(body) == place and body["manifest_hash"] == expected.manifest_hash:
        return None if type(body["replay_index"]) is int else "the replay index is not a whole number"
    if body["manifest_hash"] != expected.manifest_hash:
        return "manifest_hash is not the run's"
    if _identity(body)[:3] != place[:3]:
        return "case, task or replay index is not the slot's"
    return "the key is not the digest of manifest, case and replay index"


def metadata(body: Body, place: Place, expected: Expected) -> str | None:
    """Status, dispatch state, error and times go together."""
    status = body["status"]
    if status not in _STATUSES:
        return "unknown status"
    if body["dispatch_state"] != (_UNKNOWN if status == _INTERRUPTED else _COMPLETE):
        return "dispatch_state does not go with the status"
    if (status == _VALID) != (body["error"] is None):
        return "an error goes with every status but valid, and with that never"
    if body["error"] is not None and not shapes.is_error(body["error"]):
        return "the error cannot be read"
    if body["response"] is not None and not shapes.is_name(body["response"]):
        return "the response id cannot be read"
    timed = shapes.is_time(body["started_at"]) and shapes.is_time(body["ended_at"])
    return None if timed else "a time is not a UTC time"


def ontology(body: Body, place: Place, expected: Expected) -> str | None:
    """A valid episode has an accepted label of the ontology; no other has a decision."""
    parse, sound = body["parse"], expected.sound_decisions
    decided = body["status"], body["decision"], dumps(parse)
    if decided in sound:
        return None
    problem = _decision_problem(body, parse, expected.ontology)
    if problem is None:
        _remember(sound, decided)
    return problem


def _decision_problem(body: Body, parse: Body, labels: frozenset[str]) -> str | None:
    label = body["decision"]
    if not shapes.is_parse(parse):
        return "the parse provenance cannot be read"
    if body["status"] != _VALID:
        return None if label is None and not parse["accepted"] else "a decision on an episode that is not valid"
    if label not in labels:
        return "the decision is not in the ontology"
    if not parse["accepted"] or parse["fallback"] or parse["raw_span"] != f"DECISION: {label.upper()}":
        return "the parse provenance does not carry the decision"
    return None


def _remember(sound: set[Any], content: Any) -> None:
    if len(sound) >= MAX_SOUND:
        sound.clear()
    sound.add(content)


def trajectory(body: Body, place: Place, expected: Expected) -> str | None:
    """State and calls go together, and captured arguments have the digest beside them."""
    path = body["trajectory"]
    state, calls = path["state"], path["calls"]
    if len(path) != 2 or type(calls) is not list:
        return "it has other parts than state and calls"
    if state not in _RESULT_STATES or bool(calls) != (state == _NONEMPTY):
        return "state and calls do not go together"
    valid = body["status"] == _VALID
    if valid and state not in _OBSERVED:
        return "a valid episode without an observed trajectory"
    for call in calls:
        problem = _call_problem(call, expected.sound_steps)
        if problem is not None:
            return problem
        if valid and call["execution_state"] != _EXECUTED:
            return "a valid episode with a call that was not executed"
    return None


def _call_problem(call: Body, sound: set[Step]) -> str | None:
    step = _step(call)
    if step not in sound:
        problem = _step_problem(*step)
        if problem is not None:
            return problem
        _remember(sound, step)
    if not shapes.is_call(call):
        return "a call that cannot be read"
    text = call["arguments"]
    if text is not None and sha256(text.encode()).hexdigest() != call["arguments_hash"]:
        return "captured arguments do not have the digest beside them"
    return None


def steps_of(body: Body) -> list[Step]:
    """The path of an episode as metrics see it."""
    return list(map(_step, body["trajectory"]["calls"]))


def _step_problem(name: Any, arguments: Any, output: Any, result: Any, execution: Any) -> str | None:
    if execution not in _EXECUTION_STATES or result not in _RESULT_STATES or not shapes.is_name(name):
        return "a call with an unknown state or no name"
    if arguments is None:
        if execution != _REJECTED:
            return "a call without arguments_hash that was not rejected"
    elif not HEX64.fullmatch(arguments):
        return "arguments_hash is not a SHA-256"
    if execution == _EXECUTED and (output is None or result not in _OBSERVED):
        return "an executed call without an observed result"
    if output is not None and not HEX64.fullmatch(output):
        return "output_hash is not a SHA-256"
    return None


def wire(body: Body, place: Place, expected: Expected) -> str | None:
    """A valid episode echoes the manifest; only a contract error may differ from it."""
    echo = body["wire_request"]
    if echo is None:
        return "a valid episode without a wire echo" if body["status"] == _VALID else None
    if not HEX64.fullmatch(echo["payload_hash"]):
        return "payload_hash is not a SHA-256"
    if body["status"] == _CONTRACT_ERROR:
        return None if shapes.is_echo(echo) and HEX64.fullmatch(echo["parameters_sha256"]) else "it cannot be read"
    # `is`: 1 equals true and is no flag.
    attested = echo["parameters_attested"] is True
    same = attested and _routing(echo) == expected.routing and len(echo) == len(_ROUTING) + 1
    return None if same else "the wire echo differs from the manifest"


def cost(body: Body, place: Place, expected: Expected) -> str | None:
    """Nano-dollars and token counts are whole and not negative."""
    usage = body["usage"]
    whole = shapes.is_count(body["cost_nusd"]) and (usage is None or shapes.is_usage(usage))
    return None if whole else "not a whole number from 0"


def latency(body: Body, place: Place, expected: Expected) -> str | None:
    """Microseconds are whole and not negative."""
    return None if shapes.is_count(body["latency_us"]) else "not a whole number from 0"


def is_unrecorded(body: Body) -> bool:
    """Whether the episode failed because a replayed recording had no result for a call."""
    error = body.get("error")
    return type(error) is dict and error.get("kind") == NOT_RECORDED


Check = Callable[[Body, Place, Expected], str | None]

EPISODE_CHECKS: dict[Claim, Check] = {
    Claim.IDENTITY: identity,
    Claim.METADATA: metadata,
    Claim.ONTOLOGY: ontology,
    Claim.TRAJECTORY: trajectory,
    Claim.WIRE: wire,
    Claim.COST: cost,
    Claim.LATENCY: latency,
}


_CHECKS = tuple(EPISODE_CHECKS.items())


def problems(body: Body, place: Place, expected: Expected) -> list[tuple[Claim, str]]:
    """Every claim the record breaks; a field that is missing or of another type breaks the claim that needs it."""
    found = []
    for claim, check in _CHECKS:
        try:
            problem = check(body, place, expected)
        except (KeyError, TypeError, AttributeError, IndexError):
            problem = "a field is missing or has another type"
        if problem is not None:
            found.append((claim, problem))
    return found
