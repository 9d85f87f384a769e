"""The record types of log format 1, as a table; what is not in it is refused, written or read."""

from __future__ import annotations

from attrs import frozen

from dfah_cli.errors import ArtifactError, NewerVersionError
from dfah_cli.store.protocol import Body

FORMAT_VERSION = 1


@frozen
class RecordType:
    """The fields a record of one type must have and may have, besides `t`."""

    required: frozenset[str]
    allowed: frozenset[str]


def _fields(required: str, optional: str = "") -> RecordType:
    needed = frozenset(required.split()) | {"t"}
    return RecordType(needed, needed | frozenset(optional.split()))


RECORD_TYPES: dict[str, RecordType] = {
    "segment": _fields(
        "no v run w boot at prev_len prev_sha256 prev_torn prev_n prev_root salvaged",
    ),
    "session": _fields("w at provenance"),
    "planned": _fields("from to"),
    "dispatching": _fields("i k at", "reserved_nusd idem"),
    "episode": _fields(
        "i k manifest_hash case_id replay_index status dispatch_state",
        "task decision parse trajectory wire_request usage cost_nusd latency_us started_at ended_at error "
        "recovered_by confidence provider_usage response",
    ),
    "object": _fields("sha256 size media"),
    "note": _fields("kind text_sha256", "at"),
    "report": _fields("ordinal sha256 log_n log_root commitment"),
    "gate": _fields("ordinal report sha256 policy_sha256 verdict attempt"),
    "close": _fields("episodes episode_root log_n"),
}
"""Every record type but `commit`, which frames a batch and is never given out."""

AFTER_CLOSE = frozenset({"segment", "session", "report", "gate", "note"})
"""What may follow the close record: statements about the evidence, never more of it."""

_SEEN: set[tuple[object, ...]] = set()  # type and fields, in order, of records found right: most look alike

TIME_FIELDS = ("at", "ended_at")


def check_fields(body: Body) -> str:
    """The type of a record whose fields are the known ones.

    Raises: ArtifactError naming the unknown type, the unknown fields or the missing ones; NewerVersionError.
    """
    kind = body.get("t")
    if type(kind) is not str:
        raise ArtifactError("record without a type")
    if kind == "segment":
        _check_version(body.get("v"))
    shape = (kind, *body)
    if shape in _SEEN:
        return kind
    known = RECORD_TYPES.get(kind)
    if known is None:
        raise ArtifactError("record of an unknown type; log format 1 has " + ", ".join(sorted(RECORD_TYPES)))
    keys = body.keys()
    if not known.required <= keys:
        missing = ", ".join(sorted(known.required - keys))
        raise ArtifactError(f"record of type {kind} without the field {missing}")
    if not keys <= known.allowed:
        unknown = len(keys - known.allowed)
        raise ArtifactError(f"record of type {kind} with {unknown} field(s) that format 1 does not have")
    _SEEN.add(shape)
    return kind


def _check_version(found: object) -> None:
    # Before the fields: a later version may have others, and is no damage.
    if type(found) is int and found > FORMAT_VERSION:
        raise NewerVersionError("the log", found, FORMAT_VERSION)


def stated_time(body: Body) -> str | None:
    """The time a record states; None when it states none."""
    for field in TIME_FIELDS:
        stated = body.get(field)
        if type(stated) is str:
            return stated
    return None
