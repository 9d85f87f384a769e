"""Path identity: what of a tool path must be equal for two replays to agree. Pure.

A step is `(name, arguments_hash, output_hash, result_state, execution_state)`; a hash is None where it was
never captured. Call ids and latencies never take part.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from hashlib import blake2b
from types import MappingProxyType
from typing import NamedTuple

import orjson

from dfah_cli.records.enums import PathMode, ToolExecutionState


class Step(NamedTuple):
    """One tool call as far as its identity goes; a plain tuple of the same five values does as well."""

    name: str
    arguments_hash: str | None = None
    output_hash: str | None = None
    result_state: str = "observed_nonempty"
    execution_state: str = "executed"


StepLike = tuple[str, str | None, str | None, str, str]
NormalForm = Callable[[Sequence[StepLike]], Sequence[StepLike]]


class PathIds(NamedTuple):
    """Interned identities of one path, −1 where a level needs something that was not captured.

    row: identity of everything that is known about the path; never −1.
    """

    row: int
    set: int
    bag: int
    seq: int
    args: int
    strong: int


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
    """Gives every distinct path small integers, one per level, in order of first sight.

    Keeps a 16-byte digest per distinct path, not the path: a million different paths stay small. The paths
    themselves are kept only when `keep_examples` is set, for diagnosis.
    """

    def __init__(self, *, keep_examples: bool = False, normal_form: NormalForm | None = None) -> None:
        """normal_form: the one path that stands for all that count as this one; their identities go to `relaxed`."""
        self._rows: dict[bytes, PathIds] = {}
        self._sets: dict[Hashable, int] = {}
        self._bags: dict[Hashable, int] = {}
        self._args: dict[Hashable, int] = {}
        self._names: dict[tuple[str, ...], tuple[int, int, int]] = {}
        self._keep = keep_examples
        self.examples: list[tuple[StepLike, ...]] = []
        self._normal_form = normal_form
        self._normal = None if normal_form is None else PathInterner()
        self.relaxed: list[PathIds] = []

    def __len__(self) -> int:
        return len(self._rows)

    def intern(self, steps: Sequence[StepLike]) -> PathIds:
        """The identities of one path, equal for equal paths."""
        digest = _short(steps)
        found = self._rows.get(digest)
        if found is None:
            found = self._rows[digest] = self._new(steps)
        return found

    def rows(self) -> list[PathIds]:
        """All identities so far; the position is the `row`."""
        return list(self._rows.values())

    def keys(self) -> dict[PathMode, tuple[Hashable, ...]]:
        """What each interned identity stands for, comparable between tables; a digest on the two finest levels."""
        return {
            PathMode.SET: tuple(self._sets),
            PathMode.BAG: tuple(self._bags),
            PathMode.SEQ: tuple(self._names),
            PathMode.ARGS: tuple(self._args),
            PathMode.STRONG: tuple(self._rows),
        }

    def _new(self, steps: Sequence[StepLike]) -> PathIds:
        names = tuple(step[0] for step in steps)
        coarse = self._names.get(names)
        if coarse is None:
            coarse = self._names[names] = (
                _number(self._sets, set_key(steps)),
                _number(self._bags, bag_key(steps)),
                len(self._names),
            )
        row = len(self._rows)
        args = args_key(steps)
        args_id = -1 if args is None else _number(self._args, _short(args))
        if self._keep:
            self.examples.append(tuple(steps))
        if self._normal is not None and self._normal_form is not None:
            self.relaxed.append(self._normal.intern(self._normal_form(steps)))
        return PathIds(row, *coarse, args_id, row if all(map(_complete, steps)) else -1)


def _number(table: dict[Hashable, int], key: Hashable) -> int:
    return table.setdefault(key, len(table))


def _short(steps: Sequence[tuple[str | None, ...]]) -> bytes:
    # orjson refuses named tuples by itself; plain tuples never reach the hook.
    return blake2b(orjson.dumps(steps, default=tuple), digest_size=16).digest()
