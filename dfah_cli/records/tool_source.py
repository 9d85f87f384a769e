"""Where the tool results of a run come from, as far as that changes what is observed. Pure."""

from __future__ import annotations

from attrs import field, frozen

from dfah_cli.errors import ValidationError
from dfah_cli.records import fields

LIVE, RECORD, REPLAY = "live", "record", "replay"
FIRST, OWN, NONE = "first", "own", "none"
MODES = (LIVE, RECORD, REPLAY)
RESULTS = (FIRST, OWN)
LATENCIES = (NONE, FIRST, OWN)
NOT_RECORDED = "tool_not_recorded"  # kind of the error of an episode that wanted more than was recorded


@frozen(kw_only=True)
class ToolSource:
    """Tools whose results are recorded or replayed; a run whose tools are simply called has none.

    recording_sha256: digest of the recording that is replayed; None while one is made, because it is not known yet.
    results: `first` gives every replay what the first recorded replay was given; `own` gives replay i what replay i was
    given. latency: how long an answer takes: `none` at once, else as long as the same choice of recorded call took.
    """

    mode: str = field(validator=fields.one_of(RECORD, REPLAY))
    recording_sha256: str | None = field(default=None, validator=fields.optional(fields.digest64))
    results: str = field(default=FIRST, validator=fields.one_of(*RESULTS))
    latency: str = field(default=NONE, validator=fields.one_of(*LATENCIES))

    def __attrs_post_init__(self) -> None:
        if (self.mode == REPLAY) != (self.recording_sha256 is not None):
            raise ValidationError("ToolSource.recording_sha256: expected in mode replay, and only there")


def told(source: ToolSource | None) -> str:
    """A source in words."""
    if source is None:
        return "live"
    if source.recording_sha256 is None:
        return "live, and recorded"
    whose = "the first recorded replay" if source.results == FIRST else "the same replay of the recording"
    time = {NONE: "at once", FIRST: "in the first recorded time", OWN: "in the replay's own recorded time"}
    return f"recorded ({source.recording_sha256[:12]}): results of {whose}, {time[source.latency]}"


def answering(source: ToolSource | None) -> ToolSource | None:
    """What a comparison must know: None when the tools themselves answered, recorded or not."""
    return source if source is not None and source.mode == REPLAY else None
