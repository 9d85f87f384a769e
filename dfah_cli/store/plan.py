"""The few facts of a run plan that the store itself checks."""

from __future__ import annotations

from hashlib import sha256

import orjson
from attrs import frozen

from dfah_cli.errors import ArtifactError

PLAN = "plan.json"
MANIFEST = "manifest.json"


@frozen(kw_only=True)
class PlanFacts:
    """plan_sha256: the run plan digest, which is the run id. manifest_hash: what every episode must carry."""

    plan_bytes: bytes
    manifest_bytes: bytes
    plan_sha256: str
    manifest_hash: str
    episodes_planned: int


def plan_facts(plan_bytes: bytes, manifest_bytes: bytes) -> PlanFacts:
    """The facts, checked against each other.

    Raises: ArtifactError when the plan is no JSON object with `episodes_planned` and `manifest_hash`, or
    when the manifest does not have that digest.
    """
    try:
        plan = orjson.loads(plan_bytes)
    except orjson.JSONDecodeError:
        raise ArtifactError("plan.json is not JSON. Restore the run directory or use a new --out.", part=PLAN) from None
    planned = plan.get("episodes_planned") if isinstance(plan, dict) else None
    if type(planned) is not int or not 0 <= planned < 2**32:
        raise ArtifactError("plan.json does not state episodes_planned as a whole number", part=PLAN)
    manifest_hash = sha256(manifest_bytes).hexdigest()
    if plan.get("manifest_hash") != manifest_hash:
        raise ArtifactError("manifest.json does not have the manifest_hash that plan.json states", part=MANIFEST)
    return PlanFacts(
        plan_bytes=plan_bytes,
        manifest_bytes=manifest_bytes,
        plan_sha256=sha256(plan_bytes).hexdigest(),
        manifest_hash=manifest_hash,
        episodes_planned=planned,
    )
