"""A run's tools on tape: from the first open slot of a session to the note that says what was recorded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from attrs import evolve

from dfah_cli.execution.clock import Clock
from dfah_cli.records.journal import note_body, time_text
from dfah_cli.store.protocol import RunWriter, SlotState

if TYPE_CHECKING:
    from dfah_cli.workflow.recording import Job

RECORDED = "tools:recorded"
"""Kind of the note whose digest is that of the recording at the end of a session."""


@contextmanager
def taped(job: Job, writer: RunWriter, clock: Clock) -> Iterator[Job]:
    """The job with its tools on tape and its digests under the key; nothing is opened when no episode is left.

    Raises: ConfigurationError, before anything is called, when the recording is not this run's to continue.
    """
    if all(state == SlotState.COMMITTED for state in writer.slots):
        yield job
        return
    started = any(state not in (SlotState.ABSENT, SlotState.PLANNED) for state in writer.slots)
    with job.observed.applied(job.settings, job.planned.plan, started=started) as (settings, recorder):
        yield evolve(job, settings=settings)
        if recorder.sha256 is not None:
            writer.commit_now([note_body(RECORDED, time_text(clock.now()), recorder.sha256)])
