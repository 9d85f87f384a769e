"""Measure replays recorded elsewhere, without running anything. Such evidence is `external`: no gate takes it.

The documents are what `dfah measure` prints; their keys are listed in docs/replay-jsonl.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen

from dfah_cli.loading.replays.collect import Configuration, Selection, collect
from dfah_cli.loading.replays.formats import AUTO, read
from dfah_cli.loading.replays.recorded import Recording
from dfah_cli.metrics.intervals import Interval
from dfah_cli.metrics.measure import RunMeasurement, measure
from dfah_cli.metrics.partial_order import relaxed
from dfah_cli.metrics.rows import CaseMeasurement, TaskMeasurement
from dfah_cli.metrics.uncertainty import Confidence
from dfah_cli.records.enums import REFINEMENT, PathMode, PathVariationKind
from dfah_cli.workflow.measure_beside import backends_object, intervals, partial_shares, spread_object
from dfah_cli.workflow.recorded_cases import CaseFacts, case_facts

EVIDENCE = "external"


@frozen(kw_only=True, eq=False)
class Measured:
    """One configuration with its numbers. loose: where parallel calls may swap; None when none are declared."""

    configuration: Configuration
    run: RunMeasurement
    loose: RunMeasurement | None = None


@frozen(kw_only=True, eq=False)
class ExternalMeasurement:
    """What was read, and one measurement per configuration."""

    sources: tuple[Recording, ...]
    configurations: tuple[Measured, ...]


def measure_files(
    paths: Sequence[Path],
    *,
    format_name: str = AUTO,
    by: str = "configuration_id",
    wanted: Selection | None = None,
) -> ExternalMeasurement:
    """Read files and run directories and measure them together; all or nothing.

    Raises: ConfigurationError, ValidationError (naming the line), ArtifactError, OptionalDependencyError.
    """
    recordings = tuple(read(path, format_name) for path in paths)
    found = collect(recordings, by=by, wanted=wanted)
    return ExternalMeasurement(
        sources=recordings,
        configurations=tuple(map(_measured, found)),
    )


def _measured(found: Configuration) -> Measured:
    loose = relaxed(found.table)
    return Measured(
        configuration=found,
        run=measure(found.table, replays=found.expected),
        loose=None if loose is None else measure(loose, replays=found.expected),
    )


def document(result: ExternalMeasurement, *, confidence: Confidence | None = None) -> dict[str, Any]:
    """The JSON document: `configurations`, `tasks`, `cases`, and what was noticed on the way."""
    how = confidence or Confidence()
    each = result.configurations
    return {
        "format": "dfah-measurement-1",
        "evidence": EVIDENCE,
        "sources": [{"source": s.source, "format": s.format, "notes": list(s.notes)} for s in result.sources],
        "configurations": [configuration_row(item, how) for item in each],
        "tasks": [row for item in each for row in task_rows(item)],
        "cases": [row for item in each for row in case_rows(item)],
        "notices": [notice for item in each for notice in notices(item)],
    }


def configuration_row(item: Measured, how: Confidence) -> dict[str, Any]:
    """DAR, TAR and gap with equal task weight; flags pooled over all eligible cases."""
    run, facts = item.run, list(_eligible_facts(item))
    return {
        "configuration_id": item.configuration.configuration_id,
        "providers": list(item.configuration.providers),
        "models": list(item.configuration.models),
        "tasks": len(run.tasks),
        "cases": run.groups_eligible,
        "cases_ineligible": run.groups_ineligible,
        "episodes": run.episodes,
        "episodes_eligible": run.episodes_eligible,
        "replays": replays_of(run),
        **_shares(run),
        "parallel": [list(names) for names in item.configuration.parallel],
        "tar_partial_order": partial_shares(item.loose),
        "flagged": run.flagged,
        "sequence_flagged": run.sequence_flagged,
        "flags_per_100": _number(run.flags_per_100),
        "sequence_flags_per_100": _number(run.sequence_flags_per_100),
        "unanimous": _decomposition(list(run.cases)),
        "leave_one_case_out": _leave_one_out(run),
        **_task_weighted(facts),
        "reasons": dict(run.reasons),
        "intervals": {name: interval_document(found) for name, found in intervals(item.run, item.loose, how).items()},
        "replay_spread": spread_object(item.configuration.table, item.run),
        "backends": backends_object(item.configuration.table, item.run),
    }


def task_rows(item: Measured) -> Iterator[dict[str, Any]]:
    """One row per represented task."""
    facts: dict[str, list[CaseFacts]] = {}
    for fact in _eligible_facts(item):
        facts.setdefault(fact.task, []).append(fact)
    loose = item.run.tasks if item.loose is None else item.loose.tasks
    for task, beside in zip(item.run.tasks, loose, strict=True):
        members = facts[task.task]
        yield {
            "configuration_id": item.configuration.configuration_id,
            "task": task.task,
            "cases": task.cases,
            "episodes": sum(fact.replays for fact in members),
            "replays": sorted({fact.replays for fact in members}),
            **_shares(task),
            "tar_partial_order": None if item.loose is None else partial_shares(beside),
            "flagged": task.flagged,
            "sequence_flagged": task.sequence_flagged,
            "sequence_flags_per_100": float(Fraction(100 * task.sequence_flagged, task.cases)),
            **_task_weighted(members),
            "modal_decisions": _tally(fact.modal_decision for fact in members),
        }


def case_rows(item: Measured) -> Iterator[dict[str, Any]]:
    """One row per case, the ineligible ones with their reasons and without numbers."""
    loose = item.run.groups if item.loose is None else item.loose.groups
    for case, beside, fact in zip(item.run.groups, loose, case_facts(item.configuration.table), strict=True):
        yield {
            "configuration_id": item.configuration.configuration_id,
            "task": case.task,
            "case_id": case.case_id,
            "replays": case.replays,
            "eligible": case.eligible,
            "reasons": list(case.reasons),
            **_shares(case),
            "tar_partial_order": None if item.loose is None else partial_shares(beside),
            "path_variation_kind": case.path_variation_kind,
            "unanimous_with_path_change": case.unanimous_with_path_change,
            "unanimous_with_sequence_change": case.unanimous_with_sequence_change,
            **fact.columns(),
        }


def notices(item: Measured) -> Iterator[str]:
    """What must not be averaged away silently: groups of unequal size, single replays, anything ineligible."""
    name, sizes = item.configuration.configuration_id, replays_of(item.run)
    if len(sizes) > 1:
        counts = ", ".join(f"{cases} cases x {replays}" for replays, cases in sizes.items())
        yield f"{name}: groups of unequal size ({counts}); agreement depends on the number of replays"
    for reason, cases in item.run.reasons:
        yield f"{name}: {cases} case{'' if cases == 1 else 's'} not counted: {reason}"


def replays_of(run: RunMeasurement) -> dict[str, int]:
    """Number of replays → eligible cases that have it, ascending."""
    sizes, counts = np.unique(run.columns.replays[run.columns.eligible], return_counts=True)
    return {str(size): int(count) for size, count in zip(sizes, counts, strict=True)}


def interval_document(interval: Interval) -> dict[str, Any]:
    """An interval as JSON."""
    return {
        "value": interval.value,
        "low": interval.low,
        "high": interval.high,
        "level": interval.level,
        "method": interval.method.value,
        "cases": interval.cases,
        "scope": interval.scope.value,
        "seed": interval.seed,
        "low_support": interval.low_support,
    }


def _eligible_facts(item: Measured) -> Iterator[CaseFacts]:
    eligible = item.run.columns.eligible
    return (fact for fact, counts in zip(case_facts(item.configuration.table), eligible, strict=True) if counts)


def _shares(row: RunMeasurement | TaskMeasurement | CaseMeasurement) -> dict[str, Any]:
    dar, tar = row.dar, row.tar
    return {
        "dar": _number(dar),
        "tar": {mode.value: _number(tar[mode]) for mode in REFINEMENT},
        "gap": _number(row.gap),
        "gap_bag": _difference(dar, tar[PathMode.BAG]),
        "gap_set": _difference(dar, tar[PathMode.SET]),
        "pairwise": {
            "decision": _number(row.pairwise_decision),
            "path": {mode.value: _number(row.pairwise_path[mode]) for mode in REFINEMENT},
        },
    }


def _task_weighted(facts: Sequence[CaseFacts]) -> dict[str, Any]:
    """Further means over tasks of means over cases; None without an eligible case."""
    by_task: dict[str, list[CaseFacts]] = {}
    for fact in facts:
        by_task.setdefault(fact.task, []).append(fact)
    columns = {
        "tool_run_rate": lambda fact: fact.tool_run_rate,
        "first_anchored_dar": lambda fact: fact.first_anchored_decision,
        "first_anchored_tar": lambda fact: fact.first_anchored_path,
    }
    return {name: _number(_mean_of_means(by_task, column)) for name, column in columns.items()}


def _mean_of_means(by_task: Mapping[str, Sequence[CaseFacts]], column: Any) -> Fraction | None:
    if not by_task:
        return None
    means = [sum((column(fact) for fact in facts), Fraction(0)) / len(facts) for facts in by_task.values()]
    return sum(means, Fraction(0)) / len(means)


def _decomposition(cases: Sequence[CaseMeasurement]) -> dict[str, Any]:
    """Unanimous cases by the coarsest level on which their tool names changed."""
    unanimous = [case for case in cases if case.dar == 1]
    kinds = [case.path_variation_kind for case in unanimous if case.unanimous_with_sequence_change]
    return {
        "cases": len(unanimous),
        "sequence_varying": len(kinds),
        "order_only": kinds.count(PathVariationKind.ORDER_ONLY),
        "multiplicity": kinds.count(PathVariationKind.MULTIPLICITY),
        "tool_set": kinds.count(PathVariationKind.TOOL_SET),
    }


def _leave_one_out(run: RunMeasurement) -> dict[str, Any]:
    """Range of the task-weighted gap when any one case is left out; None with a task of one case."""
    by_task: dict[str, list[Fraction]] = {}
    for case in run.cases:
        assert case.gap is not None
        by_task.setdefault(case.task, []).append(case.gap)
    if not by_task or min(map(len, by_task.values())) < 2:
        return {"gap_min": None, "gap_max": None}
    full = sum((sum(gaps, Fraction(0)) / len(gaps) for gaps in by_task.values()), Fraction(0))
    left = [
        (full - sum(gaps) / Fraction(len(gaps)) + (sum(gaps) - gap) / Fraction(len(gaps) - 1)) / len(by_task)
        for gaps in by_task.values()
        for gap in gaps
    ]
    return {"gap_min": float(min(left)), "gap_max": float(max(left))}


def _tally(values: Iterator[str | None]) -> dict[str, int]:
    found: dict[str, int] = {}
    for value in values:
        found[str(value)] = found.get(str(value), 0) + 1
    return dict(sorted(found.items()))


def _number(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


def _difference(left: Fraction | None, right: Fraction | None) -> float | None:
    return None if left is None or right is None else float(left - right)
