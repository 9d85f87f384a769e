"""One columnar form for everything that is measured, from our own runs and from imported replays. Pure.

A row is an episode; about 45 bytes each, so a million episodes take 45 MB. Rows may stand in any order; no
number depends on it.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import NamedTuple, TypeVar

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dfah_cli.metrics.partial_order import Parallel
from dfah_cli.metrics.paths import PathIds, PathInterner, StepLike
from dfah_cli.records.enums import REFINEMENT, EpisodeStatus, PathMode

Key = TypeVar("Key", bound=Hashable)
Scalar = TypeVar("Scalar", bound=np.generic)

STATUSES = tuple(EpisodeStatus)
VALID = STATUSES.index(EpisodeStatus.VALID)

_STATUS_INDEX = MappingProxyType({str(status): index for index, status in enumerate(STATUSES)})
_MODE_COLUMN = MappingProxyType({mode: index for index, mode in enumerate(REFINEMENT)})


class GroupKey(NamedTuple):
    """The replays of one case; `case_id` is the pseudonym."""

    task: str
    case_id: str


@frozen(kw_only=True, eq=False)
class EpisodeTable:
    """What is measured. Arrays have one entry per episode, shape (E,).

    groups: every group that was planned, also those without an episode. group: i32 index into `groups`.
    replay: i32. status: i8 index into `STATUSES`. decision: i32 index into `labels`, −1 = unavailable.
    path: i32 index into `path_ids`, −1 = unavailable. path_ids: i32, shape (P, 5), columns as
    `REFINEMENT`, −1 = this level is unavailable; relaxed_ids: the same where calls declared parallel may swap, None
    when none were declared. wire, endpoint: i32 interned, −1 = none recorded.
    cost_nusd, latency_us: i64. spread_us: i64, shape (G,): microseconds between the first and the last start of the
    replays of a group, −1 where starts were not recorded. backend: i32 index into `backends`, what served the episode,
    −1 = not recorded. examples: the steps of each distinct path by row of
    `path_ids`, only when the builder was asked to keep them.
    """

    groups: tuple[GroupKey, ...]
    labels: tuple[str, ...]
    group: NDArray[np.int32]
    replay: NDArray[np.int32]
    status: NDArray[np.int8]
    decision: NDArray[np.int32]
    path: NDArray[np.int32]
    path_ids: NDArray[np.int32]
    wire: NDArray[np.int32]
    endpoint: NDArray[np.int32]
    cost_nusd: NDArray[np.int64]
    latency_us: NDArray[np.int64]
    path_keys: Mapping[PathMode, tuple[Hashable, ...]] = field(factory=dict, repr=False)
    examples: tuple[tuple[StepLike, ...], ...] = field(default=(), repr=False)
    relaxed_ids: NDArray[np.int32] | None = field(default=None, repr=False)
    spread_us: NDArray[np.int64] = field(factory=lambda: np.zeros(0, dtype=np.int64), repr=False)
    backend: NDArray[np.int32] = field(factory=lambda: np.zeros(0, dtype=np.int32), repr=False)
    backends: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.group.size)

    def paths(self, mode: PathMode) -> NDArray[np.int32]:
        """Interned path identities on one level, shape (E,), −1 = unavailable."""
        if not len(self.path_ids):
            return np.full(len(self), -1, dtype=np.int32)
        column = self.path_ids[:, _MODE_COLUMN[mode]]
        return np.where(self.path >= 0, column[self.path], np.int32(-1))

    def order(self) -> NDArray[np.int64]:
        """Row numbers sorted by group, then replay, shape (E,)."""
        return np.lexsort((self.replay, self.group))


class TableBuilder:
    """Collects episodes one by one; `build` gives the table. Costs about a microsecond an episode."""

    def __init__(
        self,
        groups: Sequence[tuple[str, str]] = (),
        labels: Sequence[str] = (),
        *,
        keep_examples: bool = False,
        parallel: Parallel | None = None,
    ) -> None:
        self._groups: dict[GroupKey, int] = {}
        for task, case_id in groups:
            self.group(task, case_id)
        self._parallel = parallel
        self.paths = PathInterner(
            keep_examples=keep_examples, normal_form=None if parallel is None else parallel.normal_form
        )
        self._labels: dict[str, int] = {label: index for index, label in enumerate(labels)}
        self._wires: dict[str, int] = {}
        self._endpoints: dict[str | None, int] = {}
        self._group, self._replay, self._decision = array("i"), array("i"), array("i")
        self._path, self._wire, self._endpoint = array("i"), array("i"), array("i")
        self._status = array("b")
        self._cost, self._latency = array("q"), array("q")
        self._first, self._last, self._starts = array("q"), array("q"), array("i")
        self._backend = array("i")
        self._backends: dict[str, int] = {}

    def group(self, task: str, case_id: str) -> int:
        """The index of a group, made on first sight; groups given at the start have their position there."""
        return _number(self._groups, GroupKey(task, case_id))

    def add(
        self,
        group_index: int,
        replay: int,
        status: EpisodeStatus | str,
        decision: str | None,
        path: PathIds | None,
        wire: str | None,
        endpoint: str | None,
        cost_nusd: int,
        latency_us: int,
    ) -> None:
        """One episode.

        path: from `self.paths.intern(steps)`, None when the trajectory is unavailable or malformed. wire:
        payload hash, None when there is no wire echo; only then is a None `endpoint` "not recorded"
        instead of a value.
        """
        self._group.append(group_index)
        self._replay.append(replay)
        self._status.append(_STATUS_INDEX[status])
        self._decision.append(-1 if decision is None else _number(self._labels, decision))
        self._path.append(-1 if path is None else path.row)
        self._wire.append(-1 if wire is None else _number(self._wires, wire))
        self._endpoint.append(-1 if wire is None and endpoint is None else _number(self._endpoints, endpoint))
        self._cost.append(cost_nusd)
        self._latency.append(latency_us)
        self._backend.append(-1)

    def served_by(self, backend: str) -> None:
        """Names what served the episode added last."""
        self._backend[-1] = _number(self._backends, backend)

    def started(self, group_index: int, moment: datetime) -> None:
        """Notes when a replay of the group started; the moment names its offset from UTC."""
        at_us = (moment - _EPOCH) // _MICROSECOND
        while len(self._first) <= group_index:
            self._first.append(_NEVER)
            self._last.append(-_NEVER)
            self._starts.append(0)
        self._first[group_index] = min(self._first[group_index], at_us)
        self._last[group_index] = max(self._last[group_index], at_us)
        self._starts[group_index] += 1

    def build(self, *, growing: bool = False) -> EpisodeTable:
        """The table of everything added so far. Only with `growing`, which copies, may more be added afterwards."""
        path_ids = _identities(self.paths.rows())
        return EpisodeTable(
            groups=tuple(self._groups),
            labels=tuple(self._labels),
            group=_column(self._group, np.int32, growing),
            replay=_column(self._replay, np.int32, growing),
            status=_column(self._status, np.int8, growing),
            decision=_column(self._decision, np.int32, growing),
            path=_column(self._path, np.int32, growing),
            path_ids=path_ids,
            wire=_column(self._wire, np.int32, growing),
            endpoint=_column(self._endpoint, np.int32, growing),
            cost_nusd=_column(self._cost, np.int64, growing),
            latency_us=_column(self._latency, np.int64, growing),
            path_keys=self.paths.keys(),
            examples=tuple(self.paths.examples),
            spread_us=self._spread(),
            backend=_column(self._backend, np.int32, growing),
            backends=tuple(self._backends),
            relaxed_ids=None if self._parallel is None else _identities(self.paths.relaxed),
        )

    def _spread(self) -> NDArray[np.int64]:
        spread = np.full(len(self._groups), -1, dtype=np.int64)
        noted = len(self._starts)
        present = np.bincount(np.array(self._group, dtype=np.int64), minlength=len(self._groups))[:noted]
        # A group of which only some starts are known may be further apart than they are.
        whole = (present > 0) & (np.array(self._starts, dtype=np.int64) == present)
        apart = np.array(self._last, dtype=np.int64) - np.array(self._first, dtype=np.int64)
        spread[:noted] = np.where(whole, apart, -1)
        return spread


_NEVER = 2**62
_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)


def _identities(rows: Sequence[PathIds]) -> NDArray[np.int32]:
    return np.array([row[1:] for row in rows], dtype=np.int32).reshape(len(rows), len(REFINEMENT))


def _number(table: dict[Key, int], key: Key) -> int:
    found = table.get(key)
    if found is None:
        found = table[key] = len(table)
    return found


def _column(values: array[int], kind: type[Scalar], copied: bool) -> NDArray[Scalar]:
    # A view on the builder's buffer, which then cannot grow: no second copy at a million episodes.
    column = np.frombuffer(values, dtype=kind) if len(values) else np.zeros(0, dtype=kind)
    return column.copy() if copied else column
