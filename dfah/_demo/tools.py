"""Local tools of the packaged suites. They answer from the suite itself, so they need neither network nor state.

A tool can be told to drift or to fail through context variables: what the agent passes stays what it would pass anyway,
and only the answer changes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from dfah import ConfigurationError, Suite, ToolRegistry

DRIFT: ContextVar[int | None] = ContextVar("dfah_demo_drift", default=None)
OUTAGE: ContextVar[bool] = ContextVar("dfah_demo_outage", default=False)

Tool = Callable[..., Any]


class ToolOutageError(RuntimeError):
    """A demonstration tool that was told to fail."""


def local_tools(suite: Suite) -> dict[str, Tool]:
    """The plain functions behind the tools of a packaged suite, by name.

    Raises: ConfigurationError for another suite.
    """
    build = BUILDERS.get(suite.suite_id)
    if build is None:
        known = ", ".join(sorted(BUILDERS))
        raise ConfigurationError(f"dfah.demo has no tools for suite {suite.suite_id!r}; it has them for {known}")
    return build(suite)


def registry_of(suite: Suite) -> ToolRegistry:
    """The suite's tools, registered; each can be made to drift or to fail."""
    functions = local_tools(suite)
    registry = ToolRegistry()
    for spec in suite.tools:
        registry.register(spec, unsteady(functions[spec.name]))
    return registry


def unsteady(tool: Tool) -> Tool:
    """The tool, obeying DRIFT and OUTAGE."""

    @functools.wraps(tool)
    def called(**arguments: Any) -> Any:
        if OUTAGE.get():
            raise ToolOutageError("the demonstration tool is down")
        answer = tool(**arguments)
        drift = DRIFT.get()
        return answer if drift is None else drifted(answer, drift)

    return called


def drifted(answer: Any, drift: int) -> Any:
    """Another answer of the same shape; different numbers give different answers."""
    if isinstance(answer, dict):
        return {**answer, "revision": drift}
    if isinstance(answer, list):
        return [*answer, {"revision": drift}]
    return f"{answer} (revision {drift})"


def toy_tools(suite: Suite) -> dict[str, Tool]:
    """toy-risk: the tool returns what it is given."""

    def read_risk_tier(*, risk_tier: str) -> str:
        return risk_tier

    return {"read_risk_tier": read_risk_tier}


def compliance_tools(suite: Suite) -> dict[str, Tool]:
    """compliance-triage: customers, lists, payments and documents from the cases' metadata."""
    by_customer = {case.input["customer_id"]: case.metadata for case in suite.cases}
    by_name = {case.input["screened_name"]: case.metadata["screening"] for case in suite.cases}
    by_account = {case.input["account_id"]: case.metadata["ledger"] for case in suite.cases}

    def lookup_customer(*, customer_id: str) -> dict[str, Any]:
        return dict(by_customer.get(customer_id, {}).get("customer", {}))

    def screen_name(*, name: str, lists: list[str]) -> list[dict[str, Any]]:
        hits = [hit for hit in by_name.get(name, []) if hit["list"] in lists]
        return sorted(hits, key=lambda hit: -float(hit["score"]))

    def transaction_history(*, account_id: str, window_days: int) -> dict[str, Any]:
        ledger = by_account.get(account_id, {"months": [], "high_risk_share": 0.0})
        months = ledger["months"][-max(1, window_days // 30) :]
        return {
            "payments": sum(count for count, _ in months),
            "volume": sum(volume for _, volume in months),
            "high_risk_share": ledger["high_risk_share"],
        }

    def check_documents(*, customer_id: str, document_types: list[str]) -> dict[str, Any]:
        papers = by_customer.get(customer_id, {}).get("documents", {"missing": [], "expired": []})
        return {state: [kind for kind in papers[state] if kind in document_types] for state in ("missing", "expired")}

    return {
        "lookup_customer": lookup_customer,
        "screen_name": screen_name,
        "transaction_history": transaction_history,
        "check_documents": check_documents,
    }


def dataops_tools(suite: Suite) -> dict[str, Tool]:
    """dataops-exceptions: jobs, logs, schemas and row counts from the cases' metadata."""
    by_job = {case.input["job_id"]: case.metadata for case in suite.cases}
    by_dataset = {case.input["dataset"]: case.metadata for case in suite.cases}

    def job_status(*, job_id: str) -> dict[str, Any]:
        return dict(by_job.get(job_id, {}).get("job", {}))

    def read_log_tail(*, job_id: str, lines: int) -> list[str]:
        return list(by_job.get(job_id, {}).get("log", []))[-lines:]

    def compare_schema(*, dataset: str) -> dict[str, Any]:
        return dict(by_dataset.get(dataset, {}).get("schema", {}))

    def row_counts(*, dataset: str, days: int) -> list[int]:
        return list(by_dataset.get(dataset, {}).get("row_counts", []))[-days:]

    return {
        "job_status": job_status,
        "read_log_tail": read_log_tail,
        "compare_schema": compare_schema,
        "row_counts": row_counts,
    }


BUILDERS: dict[str, Callable[[Suite], dict[str, Tool]]] = {
    "toy-risk": toy_tools,
    "compliance-triage": compliance_tools,
    "dataops-exceptions": dataops_tools,
}
