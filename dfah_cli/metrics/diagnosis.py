"""Why a run is not stable: for the whole run, and for one case. Pure.

Needs a table that kept its distinct paths; without them only the ladder can be told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np
from attrs import frozen

from dfah_cli.errors import ConfigurationError
from dfah_cli.metrics.agreement import IntArray
from dfah_cli.metrics.alignment import Alignment, align
from dfah_cli.metrics.backends import BackendTable, backend_table
from dfah_cli.metrics.divergence import (
    FirstCause,
    PrefixNode,
    first_divergence,
    prefix_tree,
    tabulate_causes,
)
from dfah_cli.metrics.ladder import Ladder, ladder
from dfah_cli.metrics.measure import RunMeasurement
from dfah_cli.metrics.paths import StepLike
from dfah_cli.metrics.table import EpisodeTable
from dfah_cli.metrics.variants import Variant, leave_one_tool_out, medoid, position_entropy, variants

Path = tuple[StepLike, ...]


@frozen(kw_only=True)
class RunDiagnosis:
    """ladder, task_ladders: from task-weighted and per-task pairwise agreement. causes: over all replay pairs.

    blame: gain in sequence agreement (mean over eligible cases) if that tool were ignored. first_divergences:
    (position, cases) in order of position. variants: over all replays of eligible cases. backends: None when no adapter
    recorded what served a replay.
    """

    ladder: Ladder
    task_ladders: tuple[tuple[str, Ladder], ...]
    causes: tuple[tuple[FirstCause, int], ...]
    blame: Mapping[str, Fraction]
    first_divergences: tuple[tuple[int, int], ...]
    variants: tuple[Variant, ...]
    backends: BackendTable | None


@frozen(kw_only=True)
class CaseDiagnosis:
    """One case. paths: in replay order. reference: the medoid path. alignments: of each replay to the reference.

    variants: paths by tool names.
    """

    decisions: tuple[str | None, ...]
    paths: tuple[Path, ...]
    reference: Path
    variants: tuple[Variant, ...]
    ladder: Ladder | None
    first_divergence: int | None
    tree: PrefixNode
    alignments: tuple[Alignment, ...]
    entropy_bits: tuple[float, ...]


def diagnose_run(table: EpisodeTable, run: RunMeasurement) -> RunDiagnosis:
    """Where the whole run loses agreement. Only cases with more than one path cost time."""
    _require_paths(table)
    varied = [paths for _, _, paths in _replays(table, _varied(table, run))]
    positions = [position for paths in varied if (position := first_divergence(paths)) is not None]
    share = Fraction(len(varied), max(1, run.groups_eligible))
    return RunDiagnosis(
        ladder=Ladder(agreement=run.pairwise_path),
        task_ladders=tuple((task.task, Ladder(agreement=task.pairwise_path)) for task in run.tasks),
        causes=tabulate_causes(varied),
        blame={tool: gain * share for tool, gain in leave_one_tool_out(varied).items()},
        first_divergences=tuple((position, positions.count(position)) for position in sorted(set(positions))),
        variants=variants(_labelled(table, np.flatnonzero(run.columns.eligible))),
        backends=backend_table(table, run),
    )


def diagnose_case(table: EpisodeTable, group: int) -> CaseDiagnosis:
    """How the replays of one group differ. Replays without an observed trajectory are left out.

    Raises: ConfigurationError when the table did not keep its paths or the group has no observed trajectory.
    """
    _require_paths(table)
    found = list(_replays(table, np.array([group])))
    if not found:
        raise ConfigurationError("this case has no replay with an observed trajectory: nothing to diagnose")
    _, decisions, paths = found[0]
    return diagnose_paths(decisions, paths)


def diagnose_paths(decisions: Sequence[str | None], paths: Sequence[Path]) -> CaseDiagnosis:
    """How the replays of one case differ. decisions, paths: of each replay with an observed trajectory, one or more."""
    names = [tuple(step[0] for step in path) for path in paths]
    typical = medoid(names)
    alike = Counter(path for name, path in zip(names, paths, strict=True) if name == typical)
    ((reference, _),) = alike.most_common(1)
    aligned = {path: align(reference, path) for path in set(paths)}
    return CaseDiagnosis(
        decisions=tuple(decisions),
        paths=tuple(paths),
        reference=reference,
        variants=variants((0, decision, path) for decision, path in zip(decisions, paths, strict=True)),
        ladder=ladder(paths),
        first_divergence=first_divergence(paths),
        tree=prefix_tree(paths),
        alignments=tuple(aligned[path] for path in paths),
        entropy_bits=position_entropy(names),
    )


def _varied(table: EpisodeTable, run: RunMeasurement) -> IntArray:
    """Eligible groups whose replays did not all take one path."""
    first = np.full(len(table.groups), -1, dtype=np.int64)
    first[table.group] = table.path
    differs = np.zeros(len(table.groups), dtype=np.bool_)
    differs[table.group[table.path != first[table.group]]] = True
    return np.flatnonzero(differs & run.columns.eligible)


def _replays(table: EpisodeTable, groups: IntArray) -> Iterator[tuple[int, list[str | None], list[Path]]]:
    """(group, decisions, paths) in replay order, of replays with an observed trajectory."""
    chosen = np.zeros(len(table.groups), dtype=np.bool_)
    chosen[groups] = True
    rows = np.flatnonzero(chosen[table.group] & (table.path >= 0))
    rows = rows[np.lexsort((table.replay[rows], table.group[rows]))]
    _, starts = np.unique(table.group[rows], return_index=True)
    for part in np.split(rows, starts[1:]):
        if part.size:
            decisions = [table.labels[label] if label >= 0 else None for label in table.decision[part]]
            yield int(table.group[part[0]]), decisions, [table.examples[path] for path in table.path[part]]


def _labelled(table: EpisodeTable, groups: IntArray) -> Iterator[tuple[int, str | None, Path]]:
    for group, decisions, paths in _replays(table, groups):
        for decision, path in zip(decisions, paths, strict=True):
            yield group, decision, path


def _require_paths(table: EpisodeTable) -> None:
    if len(table.examples) != len(table.path_ids):
        raise ConfigurationError("diagnosis needs the paths themselves: build the table with keep_examples=True")
