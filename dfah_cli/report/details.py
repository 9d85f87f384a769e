"""The replays of single cases, from the columns of a verified run: statuses, decisions and distinct paths. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
from attrs import frozen

from dfah_cli.metrics.paths import StepLike
from dfah_cli.metrics.table import STATUSES, EpisodeTable
from dfah_cli.records.enums import EpisodeStatus


@frozen(kw_only=True)
class ReplayCell:
    """One replay. decision: None when none was accepted. variant: index into `CaseDetail.variants`."""

    replay_index: int
    status: EpisodeStatus
    decision: str | None
    variant: int | None
    cost_nusd: int
    latency_us: int


@frozen(kw_only=True)
class Variant:
    """One distinct path and the replays that took it."""

    steps: tuple[StepLike, ...]
    replays: tuple[int, ...]


@frozen(kw_only=True)
class CaseDetail:
    """All recorded replays of one case. variants: most frequent first, then by their first replay."""

    task: str
    case_id: str
    replays: tuple[ReplayCell, ...]
    variants: tuple[Variant, ...]

    @property
    def decisions(self) -> tuple[tuple[str, int], ...]:
        """Accepted decisions with their counts, most frequent first, then by name."""
        counts = Counter(cell.decision for cell in self.replays if cell.decision is not None)
        return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def case_details(table: EpisodeTable, case_ids: Iterable[str] | None = None) -> Iterator[CaseDetail]:
    """Details of the named cases in table order; of all cases when None.

    The table must have been built with examples of its paths; without them every variant has no steps.
    """
    wanted = None if case_ids is None else frozenset(case_ids)
    order = table.order()
    bounds = np.searchsorted(table.group[order], np.arange(len(table.groups) + 1))
    for index, key in enumerate(table.groups):
        if wanted is None or key.case_id in wanted:
            rows = [int(row) for row in order[bounds[index] : bounds[index + 1]]]
            yield _detail(table, key.task, key.case_id, rows)


def _detail(table: EpisodeTable, task: str, case_id: str, rows: list[int]) -> CaseDetail:
    taken: dict[int, list[int]] = {}
    for row in rows:
        if table.path[row] >= 0:
            taken.setdefault(int(table.path[row]), []).append(int(table.replay[row]))
    ranked = sorted(taken.items(), key=lambda item: (-len(item[1]), item[1]))
    place = {path: number for number, (path, _) in enumerate(ranked)}
    return CaseDetail(
        task=task,
        case_id=case_id,
        replays=tuple(_cell(table, row, place) for row in rows),
        variants=tuple(Variant(steps=_steps(table, path), replays=tuple(replays)) for path, replays in ranked),
    )


def _cell(table: EpisodeTable, row: int, place: dict[int, int]) -> ReplayCell:
    decision = int(table.decision[row])
    return ReplayCell(
        replay_index=int(table.replay[row]),
        status=STATUSES[int(table.status[row])],
        decision=None if decision < 0 else table.labels[decision],
        variant=place.get(int(table.path[row])),
        cost_nusd=int(table.cost_nusd[row]),
        latency_us=int(table.latency_us[row]),
    )


def _steps(table: EpisodeTable, path: int) -> tuple[StepLike, ...]:
    return table.examples[path] if path < len(table.examples) else ()
