"""What stands beside the numbers of recorded replays: partial order, time between replays, what served them. Pure."""

from __future__ import annotations

from typing import Any

from attrs import asdict

from dfah_cli.metrics.backends import backend_table
from dfah_cli.metrics.intervals import Interval
from dfah_cli.metrics.measure import RunMeasurement
from dfah_cli.metrics.rows import CaseMeasurement, TaskMeasurement
from dfah_cli.metrics.table import EpisodeTable
from dfah_cli.metrics.uncertainty import Confidence, run_intervals
from dfah_cli.records.enums import REFINEMENT
from dfah_cli.report.companions import SUFFIX, replay_spread


def intervals(run: RunMeasurement, loose: RunMeasurement | None, how: Confidence) -> dict[str, Interval]:
    """Interval per metric; with partial order, those of the sequence and of the strong path beside the strict ones."""
    found = dict(run_intervals(run, how))
    if loose is not None:
        beside = run_intervals(loose, how)
        found |= {name + SUFFIX: beside[name] for name in ("tar.seq", "tar.strong") if name in beside}
    return found


def partial_shares(row: RunMeasurement | TaskMeasurement | CaseMeasurement | None) -> dict[str, float | None] | None:
    """Trajectory agreement where calls declared parallel may swap; None when none are declared."""
    if row is None:
        return None
    return {mode.value: None if (share := row.tar[mode]) is None else float(share) for mode in REFINEMENT}


def spread_object(table: EpisodeTable, run: RunMeasurement) -> dict[str, int] | None:
    """How far apart the replays of a case started, in microseconds; None where starts were not recorded."""
    found = replay_spread(table, run)
    return None if found is None else asdict(found, filter=lambda name, _: name.name != "schema_version")


def backends_object(table: EpisodeTable, run: RunMeasurement) -> dict[str, Any] | None:
    """Agreement by what served the replays; None where nothing says so."""
    found = backend_table(table, run)
    return None if found is None else asdict(found)
