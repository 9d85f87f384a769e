"""Path identity: what of a tool path must be equal for two replays to agree. Pure.

A step is `(name, arguments_hash, output_hash, result_state, execution_state)`; a hash is None where it was
never captured. Call ids and latencies never take part.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Mapping, Sequence
from hashlib import blake2b
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from dfah_cli.metrics.digests import WIDTH, DigestNumbers
from dfah_cli.records.enums import REFINEMENT, PathMode, ToolExecutionState

MAX_RECENT = 1024


class Step(NamedTuple):
    """One tool call as far as its identity goes; a plain tuple of the same five values does as well."""

    name: str
    arguments_hash: str | None = None
    output_hash: str | None = None
    result_state: str = "observed_nonempty"
    execution_state: str = "executed"


StepLike = tuple[str, str | None, str | None, str, str]
NormalForm = Callable[[Sequence[StepLike]], Sequence[StepLike]]


def set_key(steps: Sequence[StepLike]) -> Hashable:
    """Which tools were called."""
    return frozenset(step[0] for step in steps)


def bag_key(steps: Sequence[StepLike]) -> Hashable:
    """Which tools were called, and how often each."""
    return tuple(sorted(step[0] for step in steps))


def seq_key(steps: Sequence[StepLike]) -> Hashable:
    """Which tools were called, in order."""
    return tuple(step[0] for step in steps)


def args_key(steps: Sequence[StepLike]) -> tuple[tuple[str, str | None], ...] | None:
    """Ordered tools with their arguments; None when an argument hash was not captured."""
    if any(step[1] is None for step in steps):
        return None
    return tuple((step[0], step[1]) for step in steps)


def strong_key(steps: Sequence[StepLike]) -> Hashable | None:
    """Everything that is compared; None when a hash that should exist was not captured."""
    if any(not _complete(step) for step in steps):
        return None
    return tuple(tuple(step) for step in steps)


def _complete(step: StepLike) -> bool:
    # Only an executed call has an output; a rejected one is complete without.
    return step[1] is not None and (step[2] is not None or step[4] != ToolExecutionState.EXECUTED)


PATH_KEYS: Mapping[PathMode, Callable[[Sequence[StepLike]], Hashable | None]] = MappingProxyType(
    {
        PathMode.SET: set_key,
        PathMode.BAG: bag_key,
        PathMode.SEQ: seq_key,
        PathMode.ARGS: args_key,
        PathMode.STRONG: strong_key,
    }
)


def path_key(steps: Sequence[StepLike], mode: PathMode | str = PathMode.SEQ) -> Hashable | None:
    """The value that must be equal for two paths to be one on this level; None when it cannot be known."""
    return PATH_KEYS[PathMode(mode)](steps)


class PathInterner:
    """Gives every distinct path a number, its row, and small integers, one per level, in order of first sight.

    Keeps a 16-byte digest per distinct path, not the path: a million different paths stay small. The paths
    themselves are kept only when `keep_examples` is set, for diagnosis.
    """

    def __init__(self, *, keep_examples: bool = False, normal_form: NormalForm | None = None) -> None:
        """normal_form: the one path that stands for all that count as this one; `relaxed` are its identities."""
        self._rows, self._args = DigestNumbers(), DigestNumbers()
        self._sets: dict[Hashable, int] = {}
        self._bags: dict[Hashable, int] = {}
        self._names: dict[tuple[str, ...], tuple[int, int, int]] = {}
        self._levels = array("i")  # a row of identities for each path, flat
        self._recent: dict[tuple[StepLike, ...], int] = {}  # most runs have few paths
        self._keep = keep_examples
        self.examples: list[tuple[StepLike, ...]] = []
        self._normal_form = normal_form
        self._normal = None if normal_form is None else PathInterner()
        self._normal_rows = array("i")

    def __len__(self) -> int:
        return len(self._rows)

    def intern(self, steps: Sequence[StepLike]) -> int:
        """The row of one path, equal for equal paths."""
        path = tuple(steps)
        row = self._recent.get(path)
        if row is None:
            known = len(self._rows)
            row = self._rows.number(_short(steps))
            if row == known:
                self._add(path)
            if len(self._recent) >= MAX_RECENT:
                self._recent.clear()
            self._recent[path] = row
        return row

    def identities(self) -> NDArray[np.int32]:
        """One row per path, one column per level as `REFINEMENT`; −1 where a level needs what was not captured."""
        return np.array(self._levels, dtype=np.int32).reshape(len(self), len(REFINEMENT))

    def relaxed(self) -> NDArray[np.int32] | None:
        """The identities of what stands for each path; None when every path stands for itself."""
        if self._normal is None:
            return None
        return self._normal.identities()[np.array(self._normal_rows, dtype=np.int32)]

    def keys(self) -> dict[PathMode, Sequence[Hashable]]:
        """What each interned identity stands for, comparable between tables; a digest on the two finest levels."""
        return {
            PathMode.SET: tuple(self._sets),
            PathMode.BAG: tuple(self._bags),
            PathMode.SEQ: tuple(self._names),
            PathMode.ARGS: self._args.seen(),
            PathMode.STRONG: self._rows.seen(),
        }

    def _add(self, steps: tuple[StepLike, ...]) -> None:
        names = tuple(step[0] for step in steps)
        coarse = self._names.get(names)
        if coarse is None:
            coarse = self._names[names] = (
                _number(self._sets, set_key(steps)),
                _number(self._bags, bag_key(steps)),
                len(self._names),
            )
        args = args_key(steps)
        args_id = -1 if args is None else self._args.number(_short(args))
        row = len(self._rows) - 1
        self._levels.extend((*coarse, args_id, row if all(map(_complete, steps)) else -1))
        if self._keep:
            self.examples.append(steps)
        if self._normal is not None and self._normal_form is not None:
            self._normal_rows.append(self._normal.intern(self._normal_form(steps)))


def _number(table: dict[Hashable, int], key: Hashable) -> int:
    return table.setdefault(key, len(table))


def _short(steps: Sequence[tuple[str | None, ...]]) -> bytes:
    # orjson refuses named tuples by itself; plain tuples never reach the hook.
    return blake2b(orjson.dumps(steps, default=tuple), digest_size=WIDTH).digest()
