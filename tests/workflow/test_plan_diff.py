"""What a change of plans re-runs, and whether a policy became harder to pass."""

from __future__ import annotations

from typing import Any

import pytest

from dfah_cli.errors import ValidationError
from dfah_cli.render.plan_diff import consequence, diff_document, headline, markdown_lines, text_lines
from dfah_cli.workflow.lockfile import lock_text, parse_lock, stale_lines
from dfah_cli.workflow.plan_diff import Direction, Effect, diff_plans, direction
from dfah_cli.workflow.plan_facts import PlanFacts, facts_document, facts_from

ONE, TWO = "1" * 64, "2" * 64


def facts(name: str = "acme", **fields: Any) -> PlanFacts:
    defaults: dict[str, Any] = {
        "run_plan_sha256": ONE,
        "policy_sha256": ONE,
        "calls": 30,
        "cost_ceiling_usd": 1.5,
        "plan": {"replays": 3, "manifest_hash": ONE},
        "manifest": {"model": "m", "implementation_hash": ONE, "request_parameters": {"temperature": 0.0}},
        "policy": {"min_dar": 0.9, "max_gap": None, "by_task": []},
        "cases": {"A": ONE, "B": ONE},
        "tools": {"look": ONE},
    }
    return PlanFacts(name=name, **{**defaults, **fields})


def test_a_changed_threshold_makes_no_new_call() -> None:
    new = facts(policy_sha256=TWO, policy={"min_dar": 0.95, "max_gap": 0.1, "by_task": []})
    (change,) = diff_plans([facts()], [new])
    assert change.effect is Effect.POLICY_ONLY
    assert (change.new_calls, change.reusable) == (0, 30)
    assert [(one.field, one.before, one.after, one.direction) for one in change.policy] == [
        ("max_gap", "none", "0.1", Direction.TIGHTER),
        ("min_dar", "0.9", "0.95", Direction.TIGHTER),
    ]
    assert consequence(change) == "0 new calls: all 30 committed episodes stay valid"


def test_a_changed_identity_names_its_fields_and_costs_every_call() -> None:
    new = facts(
        run_plan_sha256=TWO,
        plan={"replays": 5, "manifest_hash": TWO},
        manifest={"model": "m", "implementation_hash": TWO, "request_parameters": {"temperature": 0.5}},
        cases={"A": TWO, "C": ONE},
    )
    (change,) = diff_plans([facts()], [new])
    assert change.effect is Effect.NEW_EXPERIMENT
    assert (change.new_calls, change.reusable) == (30, 0)
    assert [(one.field, one.before, one.after) for one in change.identity] == [
        ("replays", "3", "5"),
        ("manifest.implementation_hash", "1111…", "2222…"),
        ("manifest.request_parameters.temperature", "0.0", "0.5"),
        ("suite.cases added", "2", "2: C"),
        ("suite.cases removed", "2", "2: B"),
        ("suite.cases changed", "2", "2: A"),
    ]
    assert "30 calls · at most $1.50 · nothing of the earlier run can be reused" in consequence(change)


def test_added_removed_and_broken_plans_are_told_apart() -> None:
    changes = diff_plans([facts("a"), facts("b")], [facts("b"), facts("c"), PlanFacts(name="d", error="no suite")])
    assert [(change.name, change.effect) for change in changes] == [
        ("a", Effect.REMOVED),
        ("b", Effect.SAME),
        ("c", Effect.ADDED),
        ("d", Effect.BROKEN),
    ]
    assert headline(changes) == "3 of 4 plans change: at most 30 new calls, at most $1.50"


def test_nothing_changes_between_a_plan_and_itself() -> None:
    changes = diff_plans([facts()], [facts()])
    assert list(text_lines(changes)) == ["no plan changes (1 compared)"]
    assert list(markdown_lines(changes)) == ["**no plan changes (1 compared)**"]
    assert diff_document(changes)["changed"] == 0


@pytest.mark.parametrize(
    ("name", "before", "after", "expected"),
    [
        ("min_dar", 0.9, 0.8, Direction.LOOSER),
        ("min_dar", None, 0.1, Direction.TIGHTER),
        ("min_dar", 0.1, None, Direction.LOOSER),
        ("max_gap", 0.2, 0.1, Direction.TIGHTER),
        ("max_gap", 0.1, 0.2, Direction.LOOSER),
        ("require_complete", True, False, Direction.LOOSER),
        ("require_complete", False, True, Direction.TIGHTER),
        ("required_replays", 3, 5, Direction.DIFFERENT),
    ],
)
def test_a_threshold_has_a_direction(name: str, before: Any, after: Any, expected: Direction) -> None:
    assert direction(name, before, after) is expected


def test_thresholds_of_tasks_are_compared_by_task() -> None:
    old = facts(policy={"by_task": [{"task": "t", "min_dar": 0.5}]})
    new = facts(policy_sha256=TWO, policy={"by_task": [{"task": "t", "min_dar": 0.6}, {"task": "u", "min_dar": 0.1}]})
    (change,) = diff_plans([old], [new])
    assert [(one.field, one.direction) for one in change.policy] == [
        ("task[t].min_dar", Direction.TIGHTER),
        ("task[u].min_dar", Direction.TIGHTER),
    ]


def test_a_name_cannot_leave_its_cell_of_the_table() -> None:
    text = "\n".join(markdown_lines(diff_plans([], [PlanFacts(name="d", error="a|b <script> `x` [y](z)\n# h")])))
    row = text.splitlines()[-1]
    assert row.count("|") - row.count("\\|") == 5
    assert "<script>" not in row


def test_plans_survive_their_json() -> None:
    plans = [facts(), PlanFacts(name="d", error="no suite")]
    assert facts_from(facts_document(plans), "x") == plans
    with pytest.raises(ValidationError, match=r"x: no plans; write them with: dfah plan show --all --json"):
        facts_from({"format": "other"}, "x")
    with pytest.raises(ValidationError, match="x: PlanFacts"):
        facts_from({"format": "dfah-plan-facts-1", "plans": [{"name": "a", "more": 1}]}, "x")


def test_a_lock_survives_its_text_and_is_sorted() -> None:
    plans = [facts("b"), facts("a", policy_sha256=None, cost_ceiling_usd=None)]
    text = lock_text(plans)
    assert [line.split()[0] for line in text.splitlines()[1:]] == ["a", "b"]
    assert lock_text(parse_lock(text, "plans.lock")) == text
    assert stale_lines(parse_lock(text, "plans.lock"), plans, "plans.lock") == []


def test_a_stale_lock_says_which_plan_and_what_it_costs() -> None:
    locked = parse_lock(lock_text([facts("a"), facts("b"), facts("gone")]), "plans.lock")
    now = [facts("a", run_plan_sha256=TWO), facts("b", policy_sha256=None), facts("new")]
    told = "\n".join(stale_lines(locked, now, "plans.lock"))
    assert "a: run plan 111111111111 in the lock, 222222222222 now: at most 30 new calls" in told
    assert "b: policy 111111111111 in the lock, none now: no new calls" in told
    assert "new: not in the lock" in told
    assert "gone: there is no such run config any more" in told


@pytest.mark.parametrize("line", ["a run=1", "a run=" + ONE + " policy=none calls=x cost_usd=1.00", "A b c"])
def test_a_line_that_is_none_of_ours_is_refused_with_its_place(line: str) -> None:
    with pytest.raises(ValidationError, match=r"plans\.lock:2:1: not a line of plans\.lock"):
        parse_lock(f"# x\n{line}\n", "plans.lock")
