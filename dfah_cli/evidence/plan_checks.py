"""Whether plan, manifest and schedule belong together. Pure."""

from __future__ import annotations

from hashlib import sha256

from dfah_cli.canonical import parse
from dfah_cli.errors import ValidationError
from dfah_cli.evidence.claims import Claim, Findings
from dfah_cli.planning.plan import plan_from_bytes
from dfah_cli.planning.schedule import Schedule
from dfah_cli.records.codec import record
from dfah_cli.records.manifest import Manifest
from dfah_cli.records.run_plan import RunPlan


def check_plan(payload: bytes, findings: Findings) -> RunPlan | None:
    """The plan, when the bytes are its canonical form."""
    findings.checked(Claim.RUN_PLAN)
    try:
        return plan_from_bytes(payload)
    except ValidationError as problem:
        findings.fail(Claim.RUN_PLAN, str(problem))
        return None


def check_manifest(payload: bytes, plan: RunPlan | None, findings: Findings) -> Manifest | None:
    """The manifest, when it can be read; whether it is the plan's is a finding."""
    findings.checked(Claim.MANIFEST)
    try:
        manifest = record(Manifest, parse(payload, "manifest.json"))
    except ValidationError as problem:
        findings.fail(Claim.MANIFEST, str(problem))
        return None
    if plan is None:
        return manifest
    if sha256(payload).hexdigest() != plan.manifest_hash or manifest.hash != plan.manifest_hash:
        findings.fail(Claim.MANIFEST, "manifest.json does not have the digest that the plan names")
    for name in ("suite_id", "suite_version", "fixture_hash", "tool_schema_hash"):
        if getattr(plan, name) != getattr(manifest, name):
            findings.fail(Claim.MANIFEST, f"plan and manifest differ in {name}")
    return manifest


def check_schedule(plan: RunPlan, findings: Findings) -> Schedule | None:
    """The schedule, when it is the one the plan names."""
    findings.checked(Claim.SCHEDULE)
    if plan.episodes_planned != len(plan.case_tasks) * plan.replays:
        findings.fail(Claim.SCHEDULE, "episodes_planned is not cases times replays")
        return None
    schedule = Schedule(plan.case_tasks, plan.replays, plan.seed, plan.schedule)
    if schedule.sha256() != plan.schedule_sha256:
        findings.fail(Claim.SCHEDULE, "the schedule shuffled from plan and seed has another digest")
        return None
    return schedule
