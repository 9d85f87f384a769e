"""What one case and one task measure, made from the columns when it is looked at. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Generic, TypeVar, overload

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dfah_cli.metrics.agreement import IntArray
from dfah_cli.metrics.columns import CHANNELS, DECISION, KINDS, CaseColumns, Known
from dfah_cli.metrics.table import GroupKey
from dfah_cli.metrics.weighting import Weighting
from dfah_cli.records.enums import REFINEMENT, PathMode, PathVariationKind

Row = TypeVar("Row", covariant=True)
BLOCK = 4096


@frozen(kw_only=True)
class CaseMeasurement:
    """One replay group. Shares are exact; None when the group is not eligible or the channel was not
    captured.

    replays: episodes present. *_denominator: replays with that channel. gap = dar − tar[seq].
    signature: equal for cases with equal counts, so that what follows from them is worked out once.
    """

    task: str
    case_id: str
    replays: int
    eligible: bool
    reasons: tuple[str, ...]
    decision_denominator: int
    trajectory_denominator: int
    dar: Fraction | None
    tar: Mapping[PathMode, Fraction | None]
    gap: Fraction | None
    pairwise_decision: Fraction | None
    pairwise_path: Mapping[PathMode, Fraction | None]
    unanimous_with_path_change: bool | None
    unanimous_with_sequence_change: bool | None
    path_variation_kind: PathVariationKind | None
    signature: bytes = field(repr=False)


@frozen(kw_only=True)
class TaskMeasurement:
    """One represented task: plain means over its eligible cases; flagged groups among them."""

    task: str
    cases: int
    dar: Fraction
    tar: Mapping[PathMode, Fraction | None]
    gap: Fraction
    pairwise_decision: Fraction
    pairwise_path: Mapping[PathMode, Fraction | None]
    flagged: int | None
    sequence_flagged: int

    @property
    def unanimous_with_path_change_rate(self) -> Fraction | None:
        return None if self.flagged is None else Fraction(self.flagged, self.cases)


class Rows(Sequence[Row], Generic[Row]):
    """Rows made when they are looked at, so that a million cases cost nothing until then."""

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | Sequence[Row]:
        if isinstance(index, slice):
            return [self._row(position) for position in range(*index.indices(len(self)))]
        position = index + len(self) if index < 0 else index
        if not 0 <= position < len(self):
            raise IndexError(index)
        return self._row(position)

    def __iter__(self) -> Iterator[Row]:
        return (self._row(position) for position in range(len(self)))

    def _row(self, position: int) -> Row:
        raise NotImplementedError


class CaseRows(Rows[CaseMeasurement]):
    """The cases at `groups` of a table, in that order.

    Counts repeat: a hundred thousand cases have a few dozen different ones, and only those become fractions.
    """

    def __init__(self, keys: Sequence[GroupKey], columns: CaseColumns, groups: IntArray) -> None:
        self._keys, self._columns, self._groups = keys, columns, groups
        self._known: dict[bytes, dict[str, Any]] = {}
        self._block, self._signatures = -1, np.zeros((0, 0), dtype=np.int64)

    def __len__(self) -> int:
        return int(self._groups.size)

    def _signature(self, position: int) -> bytes:
        """All counts of a case. Made for a block of cases at once: for all of them it would be the largest array."""
        block, row = divmod(position, BLOCK)
        if block != self._block:
            self._block, self._signatures = block, self._counted(self._groups[block * BLOCK : (block + 1) * BLOCK])
        signature: bytes = self._signatures[row].tobytes()
        return signature

    def _counted(self, groups: IntArray) -> NDArray[np.int64]:
        """One row a case, shape (cases, columns)."""
        columns = self._columns
        counted = [
            *(columns.modal[channel] for channel in CHANNELS),
            *(columns.pairs[channel] for channel in CHANNELS),
            *(columns.available[channel] for channel in CHANNELS),
            *(columns.total[channel] for channel in CHANNELS),
            *(columns.replays, columns.eligible, columns.flag, columns.sequence_flag, columns.kind),
        ]
        return np.column_stack([column[groups].astype(np.int64) for column in counted])

    def _row(self, position: int) -> CaseMeasurement:
        group = int(self._groups[position])
        key, signature = self._keys[group], self._signature(position)
        counted = self._known.get(signature)
        if counted is None:
            counted = self._known[signature] = self._measure(group, signature)
        reasons = () if counted["eligible"] else self._columns.eligibility.reasons(group)
        return CaseMeasurement(task=key.task, case_id=key.case_id, reasons=reasons, **counted)

    def _measure(self, group: int, signature: bytes) -> dict[str, Any]:
        """Everything about a case that follows from its counts alone."""
        columns = self._columns
        replays, eligible = int(columns.replays[group]), bool(columns.eligible[group])
        shares = _shares(columns, columns.modal, group, replays)
        pairwise = _shares(columns, columns.pairs, group, replays * (replays - 1))
        dar, seq = shares[DECISION], shares[PathMode.SEQ]
        kind = int(columns.kind[group])
        return {
            "replays": replays,
            "eligible": eligible,
            "decision_denominator": int(columns.total[DECISION][group]),
            "trajectory_denominator": int(columns.total[PathMode.SET][group]),
            "dar": dar,
            "tar": {mode: shares[mode] for mode in REFINEMENT},
            "gap": None if dar is None or seq is None else dar - seq,
            "pairwise_decision": pairwise[DECISION],
            "pairwise_path": {mode: pairwise[mode] for mode in REFINEMENT},
            "unanimous_with_path_change": _known(int(columns.flag[group])) if eligible else None,
            "unanimous_with_sequence_change": _known(int(columns.sequence_flag[group])) if eligible else None,
            "path_variation_kind": KINDS[kind] if eligible and kind >= 0 else None,
            "signature": signature,
        }


class TaskRows(Rows[TaskMeasurement]):
    """The represented tasks, sorted by name."""

    def __init__(self, names: tuple[str, ...], columns: CaseColumns, weights: Weighting) -> None:
        self._names, self._columns, self._weights = names, columns, weights

    def __len__(self) -> int:
        return int(self._weights.tasks.size)

    def _row(self, position: int) -> TaskMeasurement:
        columns, weights = self._columns, self._weights
        start, size = int(weights.start[position]), int(weights.size[position])
        rows = weights.rows[start : start + size]
        present = columns.replays
        modal = self._means(position, columns.modal, present)
        pairs = self._means(position, columns.pairs, present * (present - 1))
        tar = {mode: modal[mode] for mode in REFINEMENT}
        dar, pairwise = modal[DECISION], pairs[DECISION]
        seq = tar[PathMode.SEQ]
        # An eligible group has a decision and an observed trajectory in every replay.
        assert dar is not None
        assert seq is not None
        assert pairwise is not None
        return TaskMeasurement(
            task=self._names[int(weights.tasks[position])],
            cases=size,
            dar=dar,
            tar=tar,
            gap=dar - seq,
            pairwise_decision=pairwise,
            pairwise_path={mode: pairs[mode] for mode in REFINEMENT},
            flagged=count_flagged(columns.flag[rows]),
            sequence_flagged=int((columns.sequence_flag[rows] == Known.YES).sum()),
        )

    def _means(
        self, position: int, counts: Mapping[str, IntArray], denominator: IntArray
    ) -> dict[str, Fraction | None]:
        start, size = int(self._weights.start[position]), int(self._weights.size[position])
        rows = self._weights.rows[start : start + size]
        return {
            channel: self._weights.task_mean(position, values, denominator)
            if self._columns.available[channel][rows].all()
            else None
            for channel, values in counts.items()
        }


def count_flagged(flags: NDArray[np.int8]) -> int | None:
    """Number of `Known.YES`; None when one of them is unknown."""
    return None if (flags == Known.UNKNOWN).any() else int((flags == Known.YES).sum())


def _shares(
    columns: CaseColumns, counts: Mapping[str, IntArray], group: int, denominator: int
) -> dict[str, Fraction | None]:
    usable = bool(columns.eligible[group])
    return {
        channel: Fraction(int(values[group]), denominator) if usable and columns.available[channel][group] else None
        for channel, values in counts.items()
    }


def _known(value: int) -> bool | None:
    return None if value == Known.UNKNOWN else value == Known.YES
