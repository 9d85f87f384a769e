"""What changes from one set of named plans to another, and what that costs. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from attrs import frozen

from dfah_cli.workflow.plan_facts import PlanFacts


class Effect(StrEnum):
    """What a change means for what is already recorded."""

    SAME = "same"
    POLICY_ONLY = "policy only"
    NEW_EXPERIMENT = "new experiment"
    ADDED = "added"
    REMOVED = "removed"
    BROKEN = "cannot be planned"


class Direction(StrEnum):
    """What a change of a threshold does."""

    TIGHTER = "tighter"
    LOOSER = "looser"
    DIFFERENT = "different"


@frozen(kw_only=True)
class FieldChange:
    """One field that differs. before, after: as shown. direction: of a threshold; None for identity."""

    field: str
    before: str
    after: str
    direction: Direction | None = None


@frozen(kw_only=True)
class PlanChange:
    """What becomes of one plan.

    reusable: committed episodes that stay valid; None when nothing was planned before.
    new_calls: at most so many calls. cost_ceiling_usd: for them; None when no estimate was given.
    """

    name: str
    effect: Effect
    identity: tuple[FieldChange, ...] = ()
    policy: tuple[FieldChange, ...] = ()
    reusable: int | None = None
    new_calls: int = 0
    cost_ceiling_usd: float | None = None
    why: str = ""


def diff_plans(before: Sequence[PlanFacts], after: Sequence[PlanFacts]) -> list[PlanChange]:
    """One entry for each plan of either side, by name."""
    old = {facts.name: facts for facts in before}
    new = {facts.name: facts for facts in after}
    return [_change(name, old.get(name), new.get(name)) for name in sorted({*old, *new})]


def _change(name: str, old: PlanFacts | None, new: PlanFacts | None) -> PlanChange:
    if new is None:
        return PlanChange(name=name, effect=Effect.REMOVED, why="its episodes stay where they are")
    if new.error is not None:
        return PlanChange(name=name, effect=Effect.BROKEN, why=new.error)
    if old is None or old.error is not None:
        why = "new" if old is None else "it could not be planned before"
        return _dispatching(new, Effect.ADDED, (), why, reusable=None)
    policy = tuple(policy_changes(old, new))
    if old.run_plan_sha256 == new.run_plan_sha256:
        effect = Effect.SAME if old.policy_sha256 == new.policy_sha256 else Effect.POLICY_ONLY
        return PlanChange(name=name, effect=effect, policy=policy, reusable=new.calls, why="the run plan is the same")
    identity = tuple(identity_changes(old, new))
    causes = ", ".join(dict.fromkeys(change.field.partition(".")[0] for change in identity)) or "the run plan"
    verb = "changed"
    return _dispatching(new, Effect.NEW_EXPERIMENT, identity, f"{causes} {verb}", reusable=0, policy=policy)


def _dispatching(
    new: PlanFacts,
    effect: Effect,
    identity: tuple[FieldChange, ...],
    why: str,
    *,
    reusable: int | None,
    policy: tuple[FieldChange, ...] = (),
) -> PlanChange:
    return PlanChange(
        name=new.name,
        effect=effect,
        identity=identity,
        policy=policy,
        reusable=reusable,
        new_calls=new.calls,
        cost_ceiling_usd=new.cost_ceiling_usd,
        why=why,
    )


# Digests of the plan that other lines explain better.
EXPLAINED = frozenset({"manifest_hash", "schedule_sha256", "fixture_hash", "tool_schema_hash", "case_tasks", "tools"})
# Fields of the manifest that only repeat the suite.
REPEATED = frozenset({"suite_id", "suite_version", "fixture_hash", "tool_schema_hash", "decision_ontology"})


def identity_changes(old: PlanFacts, new: PlanFacts) -> Iterator[FieldChange]:
    """The differing fields of identity, each where a person would change it."""
    if not old.plan or not new.plan:
        yield FieldChange(field="run_plan", before=_short(old.run_plan_sha256), after=_short(new.run_plan_sha256))
        return
    yield from _fields("", old.plan, new.plan, EXPLAINED)
    sources = [side.plan.get("tools") or {"mode": "live"} for side in (old, new)]
    yield from _fields("tools.", sources[0], sources[1], frozenset())
    yield from _fields("manifest.", old.manifest, new.manifest, REPEATED | {"request_parameters"})
    parameters = [side.manifest.get("request_parameters", {}) for side in (old, new)]
    yield from _fields("manifest.request_parameters.", parameters[0], parameters[1], frozenset())
    yield from _entries("suite.cases", old.cases, new.cases)
    yield from _entries("suite.tools", old.tools, new.tools)
    labels = [side.manifest.get("decision_ontology", []) for side in (old, new)]
    if labels[0] != labels[1]:
        yield FieldChange(field="suite.decisions", before=_shown(labels[0]), after=_shown(labels[1]))


def _fields(prefix: str, old: Mapping[str, Any], new: Mapping[str, Any], but: frozenset[str]) -> Iterator[FieldChange]:
    for name in sorted({*old, *new} - but):
        if old.get(name) != new.get(name):
            yield FieldChange(field=prefix + name, before=_shown(old.get(name)), after=_shown(new.get(name)))


def _entries(what: str, old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[FieldChange]:
    """Added, removed and changed entries; a line of a lock knows none."""
    changed = [name for name in old if name in new and old[name] != new[name]]
    for word, names in (
        ("added", [name for name in new if name not in old]),
        ("removed", [name for name in old if name not in new]),
        ("changed", changed),
    ):
        if names:
            shown = ", ".join(names[:3]) + (f", … {len(names) - 3} more" if len(names) > 3 else "")
            yield FieldChange(field=f"{what} {word}", before=str(len(old)), after=f"{len(new)}: {shown}")


def policy_changes(old: PlanFacts, new: PlanFacts) -> Iterator[FieldChange]:
    """The differing thresholds, each with its direction."""
    if old.policy_sha256 == new.policy_sha256:
        return
    if (not old.policy and old.policy_sha256) or (not new.policy and new.policy_sha256):
        yield FieldChange(field="policy", before=_short(old.policy_sha256), after=_short(new.policy_sha256))
        return
    tasks = [{task["task"]: task for task in side.policy.get("by_task", ())} for side in (old, new)]
    yield from _thresholds("", old.policy, new.policy)
    for task in sorted({*tasks[0], *tasks[1]}):
        yield from _thresholds(f"task[{task}].", tasks[0].get(task, {}), tasks[1].get(task, {}))


def _thresholds(prefix: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[FieldChange]:
    for name in sorted({*old, *new} - {"by_task", "schema_version", "task"}):
        before, after = old.get(name), new.get(name)
        if before != after:
            yield FieldChange(
                field=prefix + name,
                before=_shown(before),
                after=_shown(after),
                direction=direction(name, before, after),
            )


def direction(name: str, before: Any, after: Any) -> Direction:
    """Whether a threshold became harder to pass; None (not asked for) is the easiest."""
    if before in (None, False) or after in (None, False):
        return Direction.TIGHTER if before in (None, False) else Direction.LOOSER
    if name.startswith("min_"):
        return Direction.TIGHTER if after > before else Direction.LOOSER
    if name.startswith("max_"):
        return Direction.TIGHTER if after < before else Direction.LOOSER
    return Direction.DIFFERENT


def _short(digest: str | None) -> str:
    return f"{digest[:4]}…" if digest else "none"


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, str) and len(value) in (40, 64) and set(value) <= set("0123456789abcdef"):
        return _short(value)
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
