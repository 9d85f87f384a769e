"""What `dfah-run` shows of one run: its plan, or what it came to."""

from __future__ import annotations

from typing import Any

from dfah_cli.cli.screen import Screen
from dfah_cli.workflow.request import RunRequest
from dfah_cli.workflow.run import FrozenPlan, RunResult


def plan_facts(request: RunRequest, frozen: FrozenPlan) -> dict[str, Any]:
    """A frozen plan as a JSON value: its digests, what it runs, and what it may cost."""
    plan = frozen.plan
    return {
        "run_plan_sha256": plan.sha256,
        "policy_sha256": frozen.policy_sha256,
        "manifest_hash": plan.manifest_hash,
        "suite": request.suite,
        "suite_id": plan.suite_id,
        "suite_version": plan.suite_version,
        "fixture_hash": plan.fixture_hash,
        "tool_schema_hash": plan.tool_schema_hash,
        "adapter": request.adapter,
        "provider": frozen.manifest.provider,
        "model": frozen.manifest.model,
        "cases": len(plan.case_tasks),
        "suite_cases_total": plan.suite_cases_total,
        "replays": plan.replays,
        "seed": plan.seed,
        "sample_rate": plan.sample_rate,
        "episode_timeout_s": plan.episode_timeout_s,
        "schedule_sha256": plan.schedule_sha256,
        "calls": plan.episodes_planned,
        "cost_ceiling_usd": frozen.cost_ceiling_usd,
        "run_dir": str(frozen.run_dir),
    }


def show_plan(screen: Screen, request: RunRequest, frozen: FrozenPlan) -> None:
    """The frozen plan, as something a person reads in a pull request."""
    facts = plan_facts(request, frozen)
    if screen.json:
        screen.document({"format": "dfah-plan-1", **facts})
        return
    if screen.tables:
        screen.line(f"{headline(facts)}")
        screen.line("nothing was dispatched")
        screen.line()
    width = max(map(len, facts))
    for name, value in facts.items():
        shown = "none" if value is None else str(value)
        if screen.tables:
            screen.line(f"  {name:<{width}}  {shown}")
        else:
            screen.fact(**{name: shown})


def headline(facts: dict[str, Any]) -> str:
    """The plan in one line."""
    cost = facts["cost_ceiling_usd"]
    ceiling = "no cost estimate" if cost is None else f"at most ${cost:.2f}"
    calls = f"{facts['cases']} cases × {facts['replays']} replays = {facts['calls']} calls"
    return f"plan {facts['run_plan_sha256'][:12]} · {facts['suite_id']} {facts['suite_version']} · {calls} · {ceiling}"


def result_facts(result: RunResult) -> dict[str, Any]:
    """What a run came to, beside its report, as a JSON value."""
    return {
        "run_dir": str(result.run_dir),
        "calls_made": result.calls_made,
        "reused": result.reused,
        "stop_reason": result.stop_reason,
        "exit_code": int(result.exit_code),
        "why": result.outcome.why,
    }


def show_plans(screen: Screen, plans: list[tuple[str, RunRequest, FrozenPlan]]) -> None:
    """The frozen plans of a sweep, one line each."""
    facts = [{"job": label, **plan_facts(request, frozen)} for label, request, frozen in plans]
    if screen.json:
        screen.document({"format": "dfah-plans-1", "plans": facts})
        return
    columns = ("job", "run_plan_sha256", "policy_sha256", "calls", "cost_ceiling_usd", "run_dir")
    screen.table(columns, [[_cell(fact[name]) for name in columns] for fact in facts])


def _cell(value: Any) -> str:
    return "none" if value is None else str(value)


def show_result(screen: Screen, result: RunResult) -> None:
    """The report and its verdict."""
    from dfah_cli.workflow.rendering import prepare

    rendered = prepare(result.report, result.gate_result, result.verified, result.measurement)
    if screen.json:
        from dfah_cli.render.json import report_document

        screen.document(report_document(result.report, result.gate_result, result_facts(result)))
        return
    if screen.tables:
        from dfah_cli.render.terminal import report_renderables

        screen.show(report_renderables(rendered.view()))
        return
    from dfah_cli.render.plain import plain_lines

    screen.lines(plain_lines(rendered.view()))
    screen.fact(**{name: _cell(value) for name, value in result_facts(result).items()})
