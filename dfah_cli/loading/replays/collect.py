"""Recorded replays -> one table per configuration. Runs of different agents are refused as replays of one case."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType

from attrs import field, frozen

from dfah_cli.errors import ConfigurationError
from dfah_cli.loading.replays.recorded import RecordedReplay, Recording, refused
from dfah_cli.metrics.partial_order import Parallel
from dfah_cli.metrics.table import EpisodeTable, TableBuilder

BY: Mapping[str, Callable[[RecordedReplay], str]] = MappingProxyType(
    {
        "configuration_id": lambda replay: replay.configuration_id,
        "model": lambda replay: replay.model or "unknown model",
        "provider": lambda replay: replay.provider or "unknown provider",
    }
)
FIELDS: Mapping[str, Callable[[RecordedReplay], str | None]] = MappingProxyType(
    {**BY, "task": lambda replay: replay.task, "case_id": lambda replay: replay.case_id}
)


@frozen(kw_only=True)
class Selection:
    """Which replays count. only: field → values that are kept (every field must match); exclude: any match drops."""

    only: Mapping[str, frozenset[str]] = field(factory=dict)
    exclude: Mapping[str, frozenset[str]] = field(factory=dict)

    def admits(self, replay: RecordedReplay) -> bool:
        if any(FIELDS[name](replay) in values for name, values in self.exclude.items()):
            return False
        return all(FIELDS[name](replay) in values for name, values in self.only.items())


def selection(only: Iterable[str], exclude: Iterable[str]) -> Selection:
    """From words such as `task=portfolio`. Raises: ConfigurationError for an unknown field."""
    return Selection(only=_conditions(only), exclude=_conditions(exclude))


def _conditions(words: Iterable[str]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or name not in FIELDS:
            raise ConfigurationError(f"condition {word!r}: expected FIELD=VALUE, FIELD one of {', '.join(FIELDS)}")
        found[name] = found.get(name, frozenset()) | {value}
    return found


@frozen(kw_only=True, eq=False)
class Configuration:
    """All replays of one configuration. expected: replays its design fixed; None = any number from two on.

    providers, models: those recorded, sorted. parallel: sets of tools whose calls may swap; empty = none declared.
    """

    configuration_id: str
    table: EpisodeTable
    expected: int | None
    providers: tuple[str, ...]
    models: tuple[str, ...]
    parallel: tuple[tuple[str, ...], ...] = ()


def collect(
    recordings: Sequence[Recording], *, by: str = "configuration_id", wanted: Selection | None = None
) -> tuple[Configuration, ...]:
    """One table per value of `by`, sorted by that value.

    Raises: ValidationError when one case has replays of different agents; ConfigurationError when nothing
    is left.
    """
    if by not in BY:
        raise ConfigurationError(f"cannot group by {by!r}; expected one of {', '.join(BY)}")
    drafts: dict[str, _Draft] = {}
    for recording in recordings:
        _add(recording, drafts, BY[by], wanted or Selection())
    if not drafts:
        raise ConfigurationError("no replay is left to measure; loosen --only and --exclude, or check the files")
    return tuple(drafts[name].finish(name) for name in sorted(drafts))


def _add(
    recording: Recording, drafts: dict[str, _Draft], by: Callable[[RecordedReplay], str], wanted: Selection
) -> None:
    touched: set[str] = set()
    for replay in recording.replays:
        if wanted.admits(replay):
            name = by(replay)
            touched.add(name)
            if name not in drafts:
                drafts[name] = _Draft(replay.parallel)
            drafts[name].add(replay)
    for name in touched:
        drafts[name].plan(recording)


class _Draft:
    """A configuration while its replays are read."""

    def __init__(self, parallel: tuple[tuple[str, ...], ...]) -> None:
        self._parallel = parallel
        self._builder = TableBuilder(keep_examples=True, parallel=Parallel.of(parallel) if parallel else None)
        self._agents: dict[int, tuple[tuple[Hashable, ...], str]] = {}
        self._count: dict[int, int] = {}
        self._designs: set[int | None] = set()
        self._providers: set[str] = set()
        self._models: set[str] = set()

    def add(self, replay: RecordedReplay) -> None:
        group = self._builder.group(replay.task, replay.case_id)
        agent, first = self._agents.setdefault(group, (replay.agent, replay.where))
        if agent != replay.agent:
            raise refused(replay.where, f"another agent or model than the replay of the same case at {first}")
        if replay.parallel != self._parallel:
            raise refused(replay.where, "parallel: other sets of tools than the first replay of its configuration has")
        index = self._count.get(group, 0) if replay.replay_index is None else replay.replay_index
        self._count[group] = self._count.get(group, 0) + 1
        self._providers.update([replay.provider] if replay.provider else [])
        self._models.update([replay.model] if replay.model else [])
        self._builder.add(
            group,
            index,
            replay.status,
            replay.decision,
            None if replay.steps is None else self._builder.paths.intern(replay.steps),
            replay.wire,
            replay.endpoint,
            replay.cost_nusd,
            replay.latency_us,
        )
        if replay.backend is not None:
            self._builder.served_by(replay.backend)
        if replay.started_at is not None:
            self._builder.started(group, replay.started_at)

    def plan(self, recording: Recording) -> None:
        self._designs.add(recording.expected)
        for task, case_id in recording.planned:
            self._builder.group(task, case_id)

    def finish(self, name: str) -> Configuration:
        return Configuration(
            configuration_id=name,
            table=self._builder.build(),
            expected=next(iter(self._designs)) if len(self._designs) == 1 else None,
            providers=tuple(sorted(self._providers)),
            models=tuple(sorted(self._models)),
            parallel=self._parallel,
        )
