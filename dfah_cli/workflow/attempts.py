"""Keeps a look that `dfah gate` takes at a run as an attempt in the run itself, as `dfah run` does with its gate.

A run that cannot be written to (read-only, held by another writer, a stale lease) is judged all the same; that the look
was not kept is said.
"""

from __future__ import annotations

from attrs import frozen

from dfah_cli.canonical import canonical_bytes
from dfah_cli.errors import ConfigurationError, LeaseError, StorageError
from dfah_cli.execution.clock import Clock
from dfah_cli.gate.evaluate import GateResult
from dfah_cli.gate.grounds import Grounds
from dfah_cli.gate.record import gate_record
from dfah_cli.records.codec import plain
from dfah_cli.records.journal import time_text
from dfah_cli.records.policy import GatePolicy
from dfah_cli.store.opening import open_store
from dfah_cli.store.places import place_of
from dfah_cli.workflow.analyze import Analysis
from dfah_cli.workflow.publishing import known_gate, publish, published_report


@frozen(kw_only=True)
class Attempt:
    """ordinal: of the gate record in the run; None when it was not kept, and then `why` says why.

    number: 1 for the first gate applied to the run. attempts: recorded in the run afterwards.
    """

    ordinal: int | None
    number: int
    attempts: int
    why: str | None = None


def keep_attempt(found: Analysis, policy: GatePolicy, result: GateResult, grounds: Grounds, clock: Clock) -> Attempt:
    """The look as it is recorded; the same verdict on the same report by the same policy is one attempt."""
    verified, before = found.verified, len(found.verified.gates)
    record = gate_record(found.report, policy, result, at=clock.now(), attempt=before + 1, grounds=grounds)
    ordinal = published_report(verified, found.report)
    known = None if ordinal is None else known_gate(verified, record, ordinal)
    if known is not None:
        number = next(body["attempt"] for body in verified.gates if body["ordinal"] == known)
        return Attempt(ordinal=known, number=number, attempts=before)
    try:
        with open_store(place_of(found.path)).open_writer(
            plan_bytes=verified.plan.encoded,
            manifest_bytes=canonical_bytes(plain(verified.manifest)),
            clock=lambda: time_text(clock.now()),
        ) as writer:
            told = writer.unfinished()
            if told is not None:
                return Attempt(ordinal=None, number=before + 1, attempts=before, why=told)
            _, kept = publish(writer, verified, found.report, record)
    except (LeaseError, StorageError, ConfigurationError, OSError) as problem:
        return Attempt(ordinal=None, number=before + 1, attempts=before, why=str(problem))
    return Attempt(ordinal=kept, number=before + 1, attempts=before + 1)
