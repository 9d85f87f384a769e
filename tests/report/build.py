"""Reports of hand-written replay groups, without a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dfah_cli.evidence.verify import VerifiedRun
from dfah_cli.metrics.measure import measure
from dfah_cli.records.enums import ReplayMode
from dfah_cli.records.manifest import Manifest
from dfah_cli.records.run_plan import RunPlan
from dfah_cli.report.record import Report
from dfah_cli.report.state import state_report
from tests.metrics.build import Replay, a_table

Groups = Mapping[tuple[str, str], Sequence[Replay]]

STABLE = [("escalate", "T U")] * 3
ORDER = [("escalate", "T U"), ("escalate", "U T"), ("escalate", "T U")]
ARGS = [("escalate", "k=x"), ("escalate", "k=y"), ("escalate", "k=x")]
TOOL_SET = [("escalate", "T U"), ("escalate", "T"), ("escalate", "T U")]
MULTIPLICITY = [("escalate", "T U"), ("escalate", "T T U"), ("escalate", "T U")]
FLIPPED = [("escalate", "T"), ("dismiss", "T"), ("escalate", "T")]

FLAGS: Groups = {
    ("risk", "A"): ORDER,
    ("risk", "B"): ARGS,
    ("kyc", "C"): STABLE,
    ("kyc", "D"): [("dismiss", "T"), ("escalate", "U"), ("escalate", "T")],
}


def a_manifest(suite_id: str = "toy-risk", model: str = "model-v1") -> Manifest:
    return Manifest(
        suite_id=suite_id,
        suite_version="1.0.0",
        decision_ontology=("escalate", "dismiss"),
        provider="provider",
        model=model,
        tool_schema_hash="1" * 64,
        fixture_hash="2" * 64,
        adapter="tests.adapter",
        library_version="0.0.0",
        implementation_hash="3" * 64,
    )


def a_run(
    groups: Groups = FLAGS,
    *,
    replays: int = 3,
    planned: int | None = None,
    status: Mapping[tuple[str, int], str] | None = None,
    stop_reason: str | None = None,
    last_at: str | None = "2026-01-31T09:00:00.000000Z",
    model: str = "model-v1",
    suite_id: str = "toy-risk",
    parallel: Sequence[Sequence[str]] = (),
) -> VerifiedRun:
    """A verified run of these groups; `planned` defaults to cases × replays."""
    manifest = a_manifest(suite_id, model)
    table = a_table(groups, status=status, parallel=parallel)
    plan = RunPlan(
        manifest_hash=manifest.hash,
        suite_id=suite_id,
        suite_version="1.0.0",
        fixture_hash="2" * 64,
        tool_schema_hash="1" * 64,
        replays=replays,
        seed=42,
        sample_rate=1.0,
        case_tasks={case_id: task for task, case_id in groups},
        schedule_sha256="4" * 64,
        suite_cases_total=len(groups),
        episodes_planned=planned or replays * len(groups),
        parallel=parallel,
    )
    return VerifiedRun(
        plan=plan,
        manifest=manifest,
        table=table,
        episodes=len(table),
        commitment="5" * 64,
        episode_root="6" * 64,
        log_n=9,
        last_at=last_at,
        stop_reason=stop_reason,
    )


def a_report(groups: Groups = FLAGS, *, mode: ReplayMode = ReplayMode.SHADOW, **differences: object) -> Report:
    """The report of these groups; `differences` as in `a_run`."""
    run = a_run(groups, **differences)  # type: ignore[arg-type]
    return state_report(run, measure(run.table, replays=run.plan.replays), mode=mode)
