"""A comparison of two runs as JSON values. Pure."""

from __future__ import annotations

from typing import Any

from attrs import asdict

from dfah_cli.metrics.intervals import outward
from dfah_cli.metrics.versus import Comparison
from dfah_cli.report.against import Against


def against_object(against: Against) -> dict[str, Any]:
    """A run held against its baseline; `moves` are of the cases eligible in both, flags per 100."""
    found = against.found
    return {
        "base": against.base.report_sha256[:32],
        "base_name": against.base_name,
        "refused": against.refused,
        "moves": [asdict(move) for move in against.moves],
        "tasks": [asdict(task) for task in against.tasks],
        "found": None if found is None else comparison_object(found),
    }


def comparison_object(found: Comparison) -> dict[str, Any]:
    """What moved between two runs; shares are not per 100, p values are exact tests."""
    return {
        "cases": len(found.pairing.cases),
        "replays": found.pairing.replays,
        "rarefied": found.pairing.rarefied,
        "only_base": [list(key) for key in found.pairing.only_base],
        "only_candidate": [list(key) for key in found.pairing.only_candidate],
        "differences": [_interval(one) for one in found.differences],
        "drift": {level: {"mean": float(test.mean), "p": test.p} for level, test in found.drift.items()},
        "alarms": [asdict(alarm) for alarm in found.alarms],
        "flips": [
            {
                "task": flip.task,
                "case_id": flip.case_id,
                "base": " | ".join(flip.old),
                "candidate": " | ".join(flip.new),
                "drift": float(flip.drift),
            }
            for flip in found.flips
        ],
        "newly_flagged": [key.case_id for key in found.newly_flagged],
        "no_longer_flagged": [key.case_id for key in found.no_longer_flagged],
        "flags_p": found.flags_p,
    }


def _interval(one: Any) -> dict[str, Any]:
    low, high = outward(one.interval)
    return {
        "metric": one.metric,
        "value": one.interval.value,
        "low": low,
        "high": high,
        "level": one.interval.level,
        "method": str(one.interval.method),
        "n": one.interval.cases,
        "scope": str(one.interval.scope),
        "rose": one.rose,
        "same": one.same,
        "fell": one.fell,
    }
