"""Whether instability coincides with a change of what served the replays: model and fingerprint, as recorded. Pure.

It shows coincidence, not cause. A replay whose backend was not recorded stays unknown; it is never "the same one".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import orjson
from attrs import frozen
from numpy.typing import NDArray

from dfah_cli.metrics.agreement import IntArray, group_counts
from dfah_cli.metrics.measure import RunMeasurement
from dfah_cli.metrics.table import EpisodeTable
from dfah_cli.records.enums import PathMode

MODELS = ("served_models", "served_model")
FINGERPRINTS = ("fingerprints", "system_fingerprint", "fingerprint")


@frozen(kw_only=True)
class PairsAgree:
    """Pairs of replays of one case, and how many of them agree. path: on tool sequences."""

    pairs: int
    decision: int
    path: int


@frozen(kw_only=True)
class BackendRow:
    """One backend. cases: eligible cases with a replay from it; within: pairs whose replays are both from it."""

    name: str
    replays: int
    cases: int
    within: PairsAgree


@frozen(kw_only=True)
class BackendTable:
    """Eligible cases by what served their replays. unknown: replays of eligible cases without a recorded backend.

    same, different: pairs of replays from one backend, from two; pairs with an unknown one are in neither.
    one, several: cases whose known replays are from one, from more backends; unstable_*: those among them with more
    than one decision or tool sequence. rows: most replays first.
    """

    rows: tuple[BackendRow, ...]
    unknown: int
    same: PairsAgree
    different: PairsAgree
    one: int
    unstable_one: int
    several: int
    unstable_several: int


def served_by(told: Mapping[str, Any]) -> str | None:
    """The backend that an adapter's usage names, as one text; None when it names none."""
    models, fingerprints = _texts(told, MODELS), _texts(told, FINGERPRINTS)
    if not models and not fingerprints:
        return None
    return " ".join([" + ".join(models) or "unknown model", *(f"[{one}]" for one in fingerprints)])


def served(provider_usage: str) -> str | None:
    """`served_by` of the JSON text of a record."""
    # Looked for in the text first: most records name no backend, and parsing them would cost every run.
    if not any(f'"{name}"' in provider_usage for name in (*MODELS, *FINGERPRINTS)):
        return None
    return served_by(orjson.loads(provider_usage))


def _texts(told: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    found: Any = next((told[name] for name in names if told.get(name)), [])
    values = found if isinstance(found, list) else [found]
    return sorted({value for value in values if isinstance(value, str) and value})


def backend_table(table: EpisodeTable, run: RunMeasurement) -> BackendTable | None:
    """The table; None when no replay of an eligible case has a recorded backend."""
    counted = run.columns.eligible[table.group]
    known = counted & (table.backend >= 0)
    if not known.any():
        return None
    groups = len(table.groups)
    group, backend = table.group[known], table.backend[known]
    decision, path = table.decision[known], table.paths(PathMode.SEQ)[known]
    distinct = group_counts(group, backend, groups).distinct()
    everything = _pairs(group, np.zeros_like(backend), decision, path, groups)
    same = _pairs(group, backend, decision, path, groups)
    unstable = np.zeros(groups, dtype=np.bool_)
    for values in (table.decision[counted], table.paths(PathMode.SEQ)[counted]):
        unstable |= group_counts(table.group[counted], values, groups).distinct() > 1
    return BackendTable(
        rows=_rows(table, known, groups),
        unknown=int((counted & (table.backend < 0)).sum()),
        same=_agree(same),
        different=_agree([whole - part for whole, part in zip(everything, same, strict=True)]),
        one=int((distinct == 1).sum()),
        unstable_one=int(((distinct == 1) & unstable).sum()),
        several=int((distinct > 1).sum()),
        unstable_several=int(((distinct > 1) & unstable).sum()),
    )


def _pairs(
    group: NDArray[np.int32],
    backend: NDArray[np.int32],
    decision: NDArray[np.int32],
    path: NDArray[np.int32],
    groups: int,
) -> list[IntArray]:
    """Ordered pairs of one backend per group: all, with one decision, with one path."""
    wide = backend.astype(np.int64)
    keys = [wide, *(wide * (int(values.max()) + 1) + values for values in (decision, path))]
    return [group_counts(group, key, groups).pairs() for key in keys]


def _agree(pairs: list[IntArray]) -> PairsAgree:
    whole, decision, path = (int(found.sum()) // 2 for found in pairs)
    return PairsAgree(pairs=whole, decision=decision, path=path)


def _rows(table: EpisodeTable, known: NDArray[np.bool_], groups: int) -> tuple[BackendRow, ...]:
    found = []
    sequences = table.paths(PathMode.SEQ)
    for number, name in enumerate(table.backends):
        mine = known & (table.backend == number)
        if mine.any():
            group = table.group[mine]
            pairs = _pairs(group, np.zeros_like(group), table.decision[mine], sequences[mine], groups)
            found.append(
                BackendRow(name=name, replays=int(mine.sum()), cases=len(np.unique(group)), within=_agree(pairs))
            )
    return tuple(sorted(found, key=lambda row: (-row.replays, row.name)))
