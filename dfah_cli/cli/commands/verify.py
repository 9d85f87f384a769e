"""`dfah verify`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dfah_cli.cli.options import COMMON, option, stacked
from dfah_cli.cli.screen import Screen

if TYPE_CHECKING:
    from dfah_cli.workflow.verification import Verification


@click.command(name="verify")
@click.argument("run", metavar="RUN")
@stacked(
    option("--key", metavar="FILE", default=None, help="Public key (PEM) whose owner must have signed the run."),
    option("--attestation", metavar="FILE", default=None, help="The signed envelope, when it is not inside RUN."),
    COMMON,
)
def command(run: str, key: str | None, attestation: str | None, as_json: bool) -> int:
    """Decide every claim about a run directory again, offline and from its bytes alone.

    Never repairs and never writes; works on read-only media, on copies, and beside a live writer. Exits 3 when a claim
    is broken, 4 when all hold but the run is not complete.

    \b
    dfah verify .dfah/runs/first
    dfah verify .dfah/runs/first --key release.pub
    dfah verify .dfah/runs/first --json | jq '.checks[] | select(.status=="fail")'
    """
    from dfah_cli.workflow.verification import verify_run

    found = verify_run(run, key=key, attestation=attestation)
    screen = Screen(as_json=as_json)
    if screen.json:
        screen.document(_document(found))
    else:
        _show(found, screen)
    screen.flush()
    return int(found.exit_code)


def _document(found: Verification) -> dict[str, Any]:
    from dfah_cli.render.evidence import check_objects, run_facts

    facts: dict[str, Any] = {}
    if found.run is not None and found.report is not None and found.tail is not None:
        facts = {**run_facts(found.run, found.report), "log_n": found.tail.n, "log_root": found.tail.root}
        facts["sealed"] = found.tail.sealed
    return {
        "format": "dfah-verify-1",
        "run": str(found.path),
        "believed": not found.broken,
        "checks": check_objects(found.checks),
        "facts": facts,
        "ignored": list(found.ignored),
        "exit_code": int(found.exit_code),
    }


def _show(found: Verification, screen: Screen) -> None:
    from dfah_cli.render.evidence import COLUMNS, check_rows

    screen.table(COLUMNS, check_rows(found.checks))
    if screen.tables:
        screen.line()
    for name in found.ignored:
        screen.fact(ignored=name, why="no record of the log announces it")
    if found.broken:
        claims = ", ".join(check.claim.value for check in found.broken)
        screen.fact(evidence="refused", broken=claims, run=found.path, exit=int(found.exit_code))
        return
    assert found.run is not None
    assert found.report is not None
    assert found.tail is not None
    screen.fact(run=found.path, plan=found.run.plan.sha256, episodes=found.run.episodes, sealed=found.tail.sealed)
    screen.fact(commitment=found.run.commitment, log_n=found.tail.n, log_root=found.tail.root)
    screen.fact(evidence="verified", status=found.report.status, exit=int(found.exit_code))
