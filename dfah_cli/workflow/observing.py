"""What changes the observation itself: where tool results come from, and the key under which digests are recorded.

What is asked for names files and environment variables; what it comes to has read them. Neither a key nor the place of
a file is ever recorded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import evolve, field, frozen

from dfah_cli.errors import ConfigurationError
from dfah_cli.planning.plan import Design
from dfah_cli.records import fields
from dfah_cli.records.keyed import DigestKey
from dfah_cli.records.run_plan import RunPlan
from dfah_cli.records.tool_source import FIRST, LATENCIES, LIVE, MODES, NONE, RECORD, REPLAY, RESULTS, ToolSource

# A plan is shown without what makes recordings and plays them.
if TYPE_CHECKING:
    from dfah_cli.adapter.tape import Tapes
    from dfah_cli.execution.session import Settings
    from dfah_cli.workflow.tool_recording import Recording, RecordingFile

NAMED = fields.optional(fields.name)
# What would have no effect, and lets somebody believe that no tool is called: key, its default, the modes it is for.
NEEDS = (
    ("tools_file", None, (RECORD, REPLAY)),
    ("tools_key_env", None, (RECORD, REPLAY)),
    ("tools_results", FIRST, (REPLAY,)),
    ("tools_latency", NONE, (REPLAY,)),
)


def _text(value: object) -> object:
    return str(value) if isinstance(value, Path) else value


@frozen(kw_only=True)
class Observing:
    """What is asked for. tools: live, record or replay. tools_file: the recording; None while live.

    tools_key_env: variable with the key that encrypts the recording. tools_results, tools_latency: as in `ToolSource`,
    for a replay. digest_key_env: variable with the key of digests; None for plain digests.
    """

    tools: str = field(default=LIVE, validator=fields.one_of(*MODES))
    tools_file: str | None = field(default=None, converter=_text, validator=NAMED)
    tools_key_env: str | None = field(default=None, validator=NAMED)
    tools_results: str = field(default=FIRST, validator=fields.one_of(*RESULTS))
    tools_latency: str = field(default=NONE, validator=fields.one_of(*LATENCIES))
    digest_key_env: str | None = field(default=None, validator=NAMED)

    def __attrs_post_init__(self) -> None:
        if self.tools != LIVE and self.tools_file is None:
            raise ConfigurationError(f"tools: {self.tools} needs tools_file, a file outside the run directory")
        for key, default, modes in NEEDS:
            if getattr(self, key) != default and self.tools not in modes:
                needed = " or ".join(modes)
                raise ConfigurationError(f"{key} needs tools: {needed}; leave it out for tools: {self.tools}")

    def found(self, environment: Mapping[str, str] | None = None) -> Observed:
        """What it comes to.

        Raises: ConfigurationError for a variable that is not set, or a file that cannot be replayed; ArtifactError for
        one that was altered.
        """
        environment = os.environ if environment is None else environment
        secret = None if self.tools == LIVE else _variable("tools_key_env", self.tools_key_env, environment)
        organisation = _variable("digest_key_env", self.digest_key_env, environment)
        file = None if self.tools == LIVE or self.tools_file is None else Path(self.tools_file)
        recording, source = None, None
        if file is not None and self.tools == REPLAY:
            from dfah_cli.workflow.tool_recording import read_recording

            recording = read_recording(file, secret, self.tools_key_env)
            source = ToolSource(
                mode=REPLAY,
                recording_sha256=recording.sha256,
                results=self.tools_results,
                latency=self.tools_latency,
            )
        elif file is not None:
            source = ToolSource(mode=RECORD)
        return Observed(
            source=source,
            digest_key=None if organisation is None else DigestKey(organisation.encode()),
            recording=recording,
            file=file,
            secret=secret,
            key_env=self.tools_key_env,
        )


def _variable(key: str, name: str | None, environment: Mapping[str, str]) -> str | None:
    """The value of a named variable; None when none is named."""
    if name is None:
        return None
    if not environment.get(name):
        raise ConfigurationError(f"{key}: the environment has no {name}; set it to the key, which is never recorded")
    return environment[name]


@frozen(kw_only=True)
class Observed:
    """What was asked for, with files and variables read. source: None when the tools are simply called."""

    source: ToolSource | None = None
    digest_key: DigestKey | None = field(default=None, repr=False)
    recording: Recording | None = field(default=None, repr=False)
    file: Path | None = None
    secret: str | None = field(default=None, repr=False)
    key_env: str | None = None

    def design(self, design: Design) -> Design:
        """The design with what of this is identity."""
        key_id = None if self.digest_key is None else self.digest_key.id
        return evolve(design, tools=self.source, digest_key_id=key_id)

    def check(self, plan: RunPlan, run_dir: object, *, has_tools: bool) -> None:
        """Nothing, when the run may have its results from here.

        Raises: ConfigurationError.
        """
        if self.file is None:
            return
        if not has_tools:
            raise ConfigurationError(
                "tools: the agent has no tools registered with the harness, so there is nothing to record or replay"
            )
        if self.recording is not None:
            self.recording.check_suite(plan, f"tools_file {self.file}")
        elif not isinstance(run_dir, Path):
            raise ConfigurationError(
                "tools: record needs a run directory on this machine, because several runners of one run would each "
                "have a part of the recording; record in a local out, and replay anywhere"
            )
        else:
            from dfah_cli.workflow.tool_recording import check_new, outside_of

            outside_of(self.file, run_dir)
            check_new(self.file, run_dir, plan)

    @contextmanager
    def applied(self, settings: Settings, plan: RunPlan, *, started: bool) -> Iterator[tuple[Settings, Recorder]]:
        """The settings under which episodes are run, and what tells the digest of a recording that was made.

        started: whether the run has recorded something in an earlier session.
        """
        settings = evolve(settings, digest_key=self.digest_key)
        if self.source is None or self.file is None:
            yield settings, Recorder(None)
            return
        from dfah_cli.adapter.tape import RecordingTapes, ReplayingTapes

        if self.recording is not None:
            tapes: Tapes = ReplayingTapes(
                recorded=self.recording.answers, results=self.source.results, latency=self.source.latency
            )
            yield evolve(settings, tapes=tapes), Recorder(None)
        else:
            from dfah_cli.workflow.tool_recording import RecordingFile

            with RecordingFile(self.file, plan, self.secret, key_env=self.key_env, started=started) as kept:
                yield evolve(settings, tapes=RecordingTapes(kept)), Recorder(kept)


AS_IS = Observed()


@frozen
class Recorder:
    """file: what is being recorded into; None when nothing is."""

    file: RecordingFile | None

    @property
    def sha256(self) -> str | None:
        """Digest of the recording as it is now."""
        return None if self.file is None else self.file.sha256
