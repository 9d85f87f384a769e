"""Whether a run directory may be used for a plan, decided before anything is written or called."""

from __future__ import annotations

from typing import Any

from dfah_cli.errors import ArtifactError, DesignMismatchError, ValidationError
from dfah_cli.planning.plan import differing_fields, plan_from_bytes
from dfah_cli.records.run_plan import RunPlan
from dfah_cli.records.tool_source import told

SHOWN = (
    *("replays", "seed", "sample_rate", "episode_timeout_s", "schedule", "parallel"),
    *("suite_id", "suite_version", "suite_cases_total", "digest_key_id"),
)


def check_same_design(recorded: bytes | None, plan: RunPlan, where: str) -> None:
    """Nothing, when the directory is new or bound to the very plan.

    Raises: DesignMismatchError naming every differing field, with both values where they are not digests.
    """
    if recorded is None or recorded == plan.encoded:
        return
    try:
        there = plan_from_bytes(recorded)
    except ValidationError as problem:
        raise ArtifactError(f"{where}: {problem}. Restore the run directory or use a new --out.") from None
    told = [_difference(name, there, plan) for name in differing_fields(there, plan)]
    raise DesignMismatchError(
        f"{where} belongs to another design: {'; '.join(told)}. "
        "Use another --out, or the original command to resume it."
    )


def _difference(name: str, theirs: RunPlan, ours: RunPlan) -> str:
    one: Any = getattr(theirs, name)
    other: Any = getattr(ours, name)
    if name in SHOWN:
        there, here = ("none" if value is None else value for value in (one, other))
        return f"{name} is {there} there and {here} here"
    if name == "tools":
        return f"tool results are {told(one)} there and {told(other)} here"
    if name == "case_tasks":
        return f"{len(one)} selected cases there and {len(other)} here, or other tasks"
    return f"{name} {one[:12]}… there and {other[:12]}… here"
