"""A session that works on one part of the schedule after the other, as long as there is one that nobody works on."""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve

from dfah_cli.execution.session import Tally
from dfah_cli.store.protocol import RunWriter

OTHERS = "others"
"""Why a session ended whose run other runners are still working on, or have left."""


def every_part(writer: RunWriter, replay: Callable[[], Tally]) -> Tally:
    """What all parts came to together; a run directory is one part."""
    tally = replay()
    while tally.stop_reason is None and writer.next_part():
        tally = added(tally, replay())
    if tally.stop_reason is None and writer.unfinished() is not None:
        return evolve(tally, stop_reason=OTHERS)
    return tally


def added(before: Tally, after: Tally) -> Tally:
    """One session of two; `after` was surveyed later, so its spending includes the other's."""
    return Tally(
        reused=before.reused + after.reused,
        calls=before.calls + after.calls,
        failed=before.failed + after.failed,
        interrupted=before.interrupted + after.interrupted,
        spent_nusd=after.spent_nusd,
        stop_reason=after.stop_reason,
    )
