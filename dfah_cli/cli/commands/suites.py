"""`dfah suites`"""

from __future__ import annotations

from typing import Any

import click

from dfah_cli.cli.options import COMMON
from dfah_cli.cli.screen import Screen
from dfah_cli.errors import ConfigurationError


@click.group(name="suites")
def command() -> None:
    """List, validate and show suites.

    \b
    dfah suites list
    dfah suites validate suites/acme-kyc.yaml
    """


@command.command(name="list")
@COMMON
def list_(as_json: bool) -> int:
    """List the suites that have a name.

    The project's own hide packaged ones of the same name.

    \b
    dfah suites list
    """
    from dfah_cli.loading.suites import list_suites

    screen = Screen(as_json=as_json)
    rows = [(found.name, found.origin, *_summary(found.path)) for found in list_suites()]
    columns = ("suite", "origin", "version", "cases", "tasks", "tools", "state")
    if screen.json:
        screen.document({"format": "dfah-suites-1", "suites": [dict(zip(columns, row, strict=True)) for row in rows]})
    else:
        screen.table(columns, rows)
    screen.flush()
    return 0


def _summary(path: object) -> tuple[str, str, str, str, str]:
    from dfah_cli.records.suite import Suite

    try:
        suite = Suite.load(path)  # type: ignore[arg-type]
    except ConfigurationError:
        return "—", "—", "—", "—", "invalid"
    tasks = {case.task for case in suite.cases}
    return suite.suite_version, str(len(suite.cases)), str(len(tasks)), str(len(suite.tools)), "valid"


@command.command(name="validate")
@click.argument("source", metavar="NAME|FILE")
@COMMON
def validate(source: str, as_json: bool) -> int:
    """Load a suite strictly; problems come with line and column.

    \b
    dfah suites validate toy-risk
    """
    found = _identity(source)
    screen = Screen(as_json=as_json)
    if screen.json:
        screen.document({"format": "dfah-suite-1", "valid": True, **found})
    else:
        screen.fact(valid=f"{found['suite_id']} {found['suite_version']}", cases=found["cases"], tools=found["tools"])
        screen.fact(fixture_hash=found["fixture_hash"])
        screen.fact(tool_schema_hash=found["tool_schema_hash"])
    screen.flush()
    return 0


@command.command(name="show", short_help="Show what a suite asks: labels, tools, tasks, cases.")
@click.argument("source", metavar="NAME|FILE")
@COMMON
def show(source: str, as_json: bool) -> int:
    """Show what a suite asks: labels, tools, tasks and the pseudonyms of its cases. Inputs are not shown.

    \b
    dfah suites show toy-risk
    """
    from dfah_cli.records.suite import Suite

    suite = Suite.load(source)
    found = _identity(suite) | {
        "description": suite.description,
        "labels": list(suite.ontology),
        "tool_names": [tool.name for tool in suite.tools],
        "parallel": [list(names) for names in suite.parallel_sets],
        "case_ids": [case.effective_case_id for case in suite.cases],
    }
    screen = Screen(as_json=as_json)
    if screen.json:
        screen.document({"format": "dfah-suite-1", **found})
    else:
        screen.table(("field", "value"), [(name, _text(value)) for name, value in found.items()])
    screen.flush()
    return 0


def _identity(source: Any) -> dict[str, Any]:
    from dfah_cli.records.suite import Suite

    suite = Suite.load(source)
    return {
        "suite_id": suite.suite_id,
        "suite_version": suite.suite_version,
        "cases": len(suite.cases),
        "tasks": sorted({case.task for case in suite.cases}),
        "tools": len(suite.tools),
        "fixture_hash": suite.fixture_hash,
        "tool_schema_hash": suite.tool_schema_hash,
    }


def _text(value: object) -> str:
    if value in (None, "", []):
        return "none"
    if not isinstance(value, list):
        return str(value)
    return ", ".join(" + ".join(one) if isinstance(one, list) else str(one) for one in value)
