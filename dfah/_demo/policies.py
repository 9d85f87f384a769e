"""Triage rules of the packaged suites. A policy asks for tool results and ends with a label; who asks is left open."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from attrs import frozen

from dfah import Case

Policy = Callable[[Case], Generator["Step", Any, str]]


@frozen
class Step:
    """One tool call of a path."""

    tool: str
    arguments: dict[str, Any]


@frozen
class Path:
    """What a policy does on a case when nothing goes wrong."""

    steps: tuple[Step, ...]
    label: str


def walk(policy: Policy, case: Case, tools: dict[str, Callable[..., Any]]) -> Path:
    """The path of a policy, found by calling the tools directly."""
    asked: list[Step] = []
    going = policy(case)
    try:
        step = next(going)
        while True:
            asked.append(step)
            step = going.send(tools[step.tool](**step.arguments))
    except StopIteration as end:
        return Path(tuple(asked), end.value)


def toy_policy(case: Case) -> Generator[Step, Any, str]:
    """toy-risk: the tier decides."""
    tier = yield Step("read_risk_tier", {"risk_tier": case.input["risk_tier"]})
    return "escalate" if tier == "high" else "dismiss"


def compliance_policy(case: Case) -> Generator[Step, Any, str]:
    """compliance-triage: two tasks, one rule each."""
    rule = sanctions_rule if case.task == "sanctions" else kyc_rule
    return (yield from rule(case.input))


def sanctions_rule(alert: dict[str, Any]) -> Generator[Step, Any, str]:
    """Screens the name; payments are looked at only when the name could be a match."""
    customer = yield Step("lookup_customer", {"customer_id": alert["customer_id"]})
    lists = (
        ["sanctions", "adverse_media"] if customer["risk_rating"] == "low" else ["sanctions", "pep", "adverse_media"]
    )
    hits = yield Step("screen_name", {"name": alert["screened_name"], "lists": lists})
    best = max((hit["score"] for hit in hits if hit["list"] == "sanctions"), default=0.0)
    if best < 0.6:
        return "dismiss"
    window = 90 if best >= 0.9 else 30
    payments = yield Step("transaction_history", {"account_id": alert["account_id"], "window_days": window})
    return "escalate" if best >= 0.9 and payments["high_risk_share"] > 0.2 else "investigate"


def kyc_rule(review: dict[str, Any]) -> Generator[Step, Any, str]:
    """Checks documents; a politically exposed customer is screened as well."""
    customer = yield Step("lookup_customer", {"customer_id": review["customer_id"]})
    wanted = ["identity", "address"] if customer["segment"] == "retail" else ["identity", "address", "ownership"]
    papers = yield Step(
        "check_documents", {"customer_id": review["customer_id"], "document_types": [*wanted, "source_of_funds"]}
    )
    confirmed = False
    if customer["politically_exposed"]:
        hits = yield Step("screen_name", {"name": review["screened_name"], "lists": ["pep"]})
        confirmed = any(hit["score"] >= 0.85 for hit in hits)
    if papers["missing"] and confirmed:
        return "escalate"
    return "investigate" if papers["missing"] or papers["expired"] or confirmed else "dismiss"


def dataops_policy(case: Case) -> Generator[Step, Any, str]:
    """dataops-exceptions: two tasks, one rule each."""
    rule = pipeline_rule if case.task == "pipeline" else quality_rule
    return (yield from rule(case.input))


def pipeline_rule(event: dict[str, Any]) -> Generator[Step, Any, str]:
    """A failed job: the error class and the remaining retries decide."""
    job = yield Step("job_status", {"job_id": event["job_id"]})
    log = yield Step("read_log_tail", {"job_id": event["job_id"], "lines": 20 if event["attempt"] > 1 else 50})
    if any(word in log[-1] for word in ("column_missing", "type_changed")):
        schema = yield Step("compare_schema", {"dataset": event["dataset"]})
        return "repair" if schema["removed"] or schema["retyped"] else "rerun"
    return "rerun" if job["retries_left"] > 0 else "page"


def quality_rule(event: dict[str, Any]) -> Generator[Step, Any, str]:
    """A failed check: a changed schema is repaired; of the row counts the drop decides."""
    schema = yield Step("compare_schema", {"dataset": event["dataset"]})
    if schema["removed"] or schema["retyped"]:
        return "repair"
    counts = yield Step("row_counts", {"dataset": event["dataset"], "days": 7 if event["check"] == "row_count" else 3})
    yield Step("job_status", {"job_id": event["job_id"]})
    return "page" if counts[-1] < counts[0] / 2 else "rerun"
