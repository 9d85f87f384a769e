"""One columnar form for everything that is measured, from our own runs and from imported replays. Pure.

A row is an episode; about 42 bytes each, so a million episodes take 42 MB. Rows may stand in any order; no
number depends on it.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from types import MappingProxyType
from typing import NamedTuple, TypeVar, overload

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dfah_cli.metrics.partial_order import Parallel
from dfah_cli.metrics.paths import PathInterner, StepLike
from dfah_cli.records.enums import REFINEMENT, EpisodeStatus, PathMode

Key = TypeVar("Key", bound=Hashable)
Scalar = TypeVar("Scalar", bound=np.generic)

STATUSES = tuple(EpisodeStatus)
DIGEST = 32
VALID = STATUSES.index(EpisodeStatus.VALID)

_STATUS_INDEX = MappingProxyType({str(status): index for index, status in enumerate(STATUSES)})
_MODE_COLUMN = MappingProxyType({mode: index for index, mode in enumerate(REFINEMENT)})


class GroupKey(NamedTuple):
    """The replays of one case; `case_id` is the pseudonym."""

    task: str
    case_id: str


class GroupKeys(Sequence[GroupKey]):
    """Keys of groups whose tasks and cases are held elsewhere already; made when they are looked at."""

    def __init__(self, tasks: Sequence[str], case_ids: Sequence[str]) -> None:
        assert len(tasks) == len(case_ids)
        self._tasks, self._case_ids = tasks, case_ids

    def __len__(self) -> int:
        return len(self._tasks)

    def __iter__(self) -> Iterator[GroupKey]:
        return map(GroupKey, self._tasks, self._case_ids)

    @overload
    def __getitem__(self, index: int) -> GroupKey: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[GroupKey]: ...
    def __getitem__(self, index: int | slice) -> GroupKey | Sequence[GroupKey]:
        if isinstance(index, slice):
            return GroupKeys(self._tasks[index], self._case_ids[index])
        return GroupKey(self._tasks[index], self._case_ids[index])


@frozen(kw_only=True, eq=False)
class EpisodeTable:
    """What is measured. Arrays have one entry per episode, shape (E,).

    groups: every group that was planned, also those without an episode. group: i32 index into `groups`.
    replay: i32. status: i8 index into `STATUSES`. decision: i32 index into `labels`, −1 = unavailable.
    path: i32 index into `path_ids`, −1 = unavailable. path_ids: i32, shape (P, 5), columns as
    `REFINEMENT`, −1 = this level is unavailable; relaxed_ids: the same where calls declared parallel may swap, None
    when none were declared. wire: i8, 0 = the payload of the first row of its group, 1 = another, −1 = none recorded.
    endpoint: i32 interned, −1 = none recorded.
    cost_nusd, latency_us: i64. spread_us: i64, shape (G,): microseconds between the first and the last start of the
    replays of a group, −1 where starts were not recorded. backend: i32 index into `backends`, what served the episode,
    −1 = not recorded. examples: the steps of each distinct path by row of
    `path_ids`, only when the builder was asked to keep them.
    """

    groups: Sequence[GroupKey]
    labels: tuple[str, ...]
    group: NDArray[np.int32]
    replay: NDArray[np.int32]
    status: NDArray[np.int8]
    decision: NDArray[np.int32]
    path: NDArray[np.int32]
    path_ids: NDArray[np.int32]
    wire: NDArray[np.int8]
    endpoint: NDArray[np.int32]
    cost_nusd: NDArray[np.int64]
    latency_us: NDArray[np.int64]
    path_keys: Mapping[PathMode, Sequence[Hashable]] = field(factory=dict, repr=False)
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
        groups: GroupKeys | Iterable[tuple[str, str]] = (),
        labels: Sequence[str] = (),
        *,
        keep_examples: bool = False,
        parallel: Parallel | None = None,
    ) -> None:
        self._groups: GroupKeys | list[GroupKey] = []
        self._index: dict[GroupKey, int] = {}
        if isinstance(groups, GroupKeys):
            self._groups = groups
        else:
            for task, case_id in groups:
                self.group(task, case_id)
        self.paths = PathInterner(
            keep_examples=keep_examples, normal_form=None if parallel is None else parallel.normal_form
        )
        self._labels: dict[str, int] = {label: index for index, label in enumerate(labels)}
        self._payloads = bytearray()  # digest of the first payload of each group
        self._endpoints: dict[str | None, int] = {}
        self._group, self._replay, self._decision = array("i"), array("i"), array("i")
        self._path, self._endpoint = array("i"), array("i")
        self._status, self._wire = array("b"), array("b")
        self._cost, self._latency = array("q"), array("q")
        self._first, self._last, self._starts = array("q"), array("q"), array("i")
        self._backend = array("i")
        self._backends: dict[str, int] = {}

    def group(self, task: str, case_id: str) -> int:
        """The index of a group, made on first sight; groups given at the start have their position there."""
        assert isinstance(self._groups, list), "all groups are known in advance"
        key = GroupKey(task, case_id)
        index = _number(self._index, key)
        if index == len(self._groups):
            self._groups.append(key)
        return index

    def add(
        self,
        group_index: int,
        replay: int,
        status: EpisodeStatus | str,
        decision: str | None,
        path: int | None,
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
        self._path.append(-1 if path is None else path)
        self._wire.append(-1 if wire is None else self._differs(group_index, wire))
        self._endpoint.append(-1 if wire is None and endpoint is None else _number(self._endpoints, endpoint))
        self._cost.append(cost_nusd)
        self._latency.append(latency_us)
        self._backend.append(-1)

    def _differs(self, group_index: int, payload: str) -> bool:
        """Whether a payload is not the first one of its group."""
        at, digest = DIGEST * group_index, sha256(payload.encode()).digest()
        if len(self._payloads) <= at:
            self._payloads.extend(bytes(at + DIGEST - len(self._payloads)))
        first = self._payloads[at : at + DIGEST]
        if first == digest:
            return False
        if first != _NO_PAYLOAD:
            return True
        self._payloads[at : at + DIGEST] = digest
        return False

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
        if at_us < self._first[group_index]:
            self._first[group_index] = at_us
        if at_us > self._last[group_index]:
            self._last[group_index] = at_us
        self._starts[group_index] += 1

    def build(self, *, growing: bool = False) -> EpisodeTable:
        """The table of everything added so far. Only with `growing`, which copies, may more be added afterwards."""
        return EpisodeTable(
            groups=self._groups if isinstance(self._groups, GroupKeys) else tuple(self._groups),
            labels=tuple(self._labels),
            group=_column(self._group, np.int32, growing),
            replay=_column(self._replay, np.int32, growing),
            status=_column(self._status, np.int8, growing),
            decision=_column(self._decision, np.int32, growing),
            path=_column(self._path, np.int32, growing),
            path_ids=self.paths.identities(),
            wire=_column(self._wire, np.int8, growing),
            endpoint=_column(self._endpoint, np.int32, growing),
            cost_nusd=_column(self._cost, np.int64, growing),
            latency_us=_column(self._latency, np.int64, growing),
            path_keys=self.paths.keys(),
            examples=tuple(self.paths.examples),
            spread_us=self._spread(),
            backend=_column(self._backend, np.int32, growing),
            backends=tuple(self._backends),
            relaxed_ids=self.paths.relaxed(),
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
_NO_PAYLOAD = bytes(DIGEST)
_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)


def _number(table: dict[Key, int], key: Key) -> int:
    found = table.get(key)
    if found is None:
        found = table[key] = len(table)
    return found


def _column(values: array[int], kind: type[Scalar], copied: bool) -> NDArray[Scalar]:
    # A view on the builder's buffer, which then cannot grow: no second copy at a million episodes.
    column = np.frombuffer(values, dtype=kind) if len(values) else np.zeros(0, dtype=kind)
    return column.copy() if copied else column
