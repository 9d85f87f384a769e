"""A frozen plan as plain values that explain its digests: what two plans are compared by. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from dfah_cli.canonical import digest
from dfah_cli.errors import ValidationError
from dfah_cli.records.codec import plain
from dfah_cli.records.policy import GatePolicy

# A lock file is read without what makes plans.
if TYPE_CHECKING:
    from dfah_cli.workflow.freezing import FrozenPlan

FORMAT = "dfah-plan-facts-1"


@frozen(kw_only=True)
class PlanFacts:
    """One named plan. Empty mappings mean that only the digests are known (a line of plans.lock).

    plan, manifest, policy: fields of the records. cases, tools: digest by pseudonym, by name.
    cost_ceiling_usd: None when no estimate was given. error: why it could not be planned; then the rest is empty.
    """

    name: str
    run_plan_sha256: str = ""
    policy_sha256: str | None = None
    calls: int = 0
    cost_ceiling_usd: float | None = None
    plan: dict[str, Any] = field(factory=dict)
    manifest: dict[str, Any] = field(factory=dict)
    policy: dict[str, Any] = field(factory=dict)
    cases: dict[str, str] = field(factory=dict)
    tools: dict[str, str] = field(factory=dict)
    error: str | None = None


def plan_facts(name: str, frozen_plan: FrozenPlan, policy: GatePolicy | None) -> PlanFacts:
    """What there is to say about a plan."""
    return PlanFacts(
        name=name,
        run_plan_sha256=frozen_plan.plan.sha256,
        policy_sha256=frozen_plan.policy_sha256,
        calls=frozen_plan.plan.episodes_planned,
        cost_ceiling_usd=frozen_plan.cost_ceiling_usd,
        plan=_plain(frozen_plan.plan),
        manifest=_plain(frozen_plan.manifest),
        policy={} if policy is None else _plain(policy),
        cases={name: digest(plain(case)) for name, case in frozen_plan.planned.cases.items()},
        tools={tool.name: digest(plain(tool)) for tool in frozen_plan.suite.tools},
    )


def facts_document(plans: list[PlanFacts]) -> dict[str, Any]:
    """Plans as one JSON value."""
    return {"format": FORMAT, "plans": [plain(facts) for facts in plans]}


def facts_from(value: Any, where: str) -> list[PlanFacts]:
    """Plans from their JSON value.

    Raises: ValidationError when it is something else.
    """
    from dfah_cli.records.codec import record

    if not isinstance(value, dict) or value.get("format") != FORMAT or not isinstance(value.get("plans"), list):
        raise ValidationError(f"{where}: no plans; write them with: dfah plan show --all --json")
    try:
        return [record(PlanFacts, item) for item in value["plans"]]
    except ValidationError as problem:
        raise ValidationError(f"{where}: {problem}") from None


def _plain(record: Any) -> dict[str, Any]:
    value = plain(record)
    assert isinstance(value, dict)
    return value
