"""`dfah inspect`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dfah_cli.cli.options import COMMON, Number, Whole, option, stacked
from dfah_cli.cli.screen import Screen
from dfah_cli.errors import ConfigurationError

if TYPE_CHECKING:
    from dfah_cli.report.diagnosis import DiagnosisTable

SPARE = ("kind", "task", "status")
HEADINGS = {"paths": "same_path", "paths_partial_order": "parallel"}


@click.command(name="inspect")
@click.argument("run", metavar="RUN")
@stacked(
    option("--case", "case_id", metavar="ID", default=None, help="All replays of this case, side by side."),
    option("--all", "everything", is_flag=True, help="Also the cases that need no review."),
    option("--minutes-per-case", type=Number(min=0), default=10.0, show_default=True,
           help="Review time of one case, for the estimate of the load."),
    option("--volume", type=Whole(min=1), default=None, help="Cases a month, for the estimate of the load."),
    COMMON,
)  # fmt: skip
def command(run: str, case_id: str | None, as_json: bool, **queue: Any) -> int:
    """Replays of a case side by side; without --case, the cases to review, those that need it most first.

    \b
    dfah inspect .dfah/runs/first
    dfah inspect .dfah/runs/first --case CASE-001
    """
    from dfah_cli.report.details import case_details
    from dfah_cli.report.view import observed_facts
    from dfah_cli.workflow.analyze import analyze

    found = analyze(run, keep_examples=True)
    details = list(case_details(found.verified.table))
    screen = Screen(as_json=as_json)
    if not screen.json:
        for name, value in observed_facts(found.report):
            screen.fact(**{name.replace(" ", "_"): value})
    if case_id is None:
        _queue(found, details, screen, **queue)
    else:
        detail = next((one for one in details if one.case_id == case_id), None)
        if detail is None:
            raise ConfigurationError(f"--case: {run} has no case of that id; `dfah inspect {run} --all` lists them")
        _case(found, detail, screen)
    screen.flush()
    return 0


def _case(found: Any, detail: Any, screen: Screen) -> None:
    from dfah_cli.render import inspection

    case = next((c for c in found.report.case_reports if c.case_id == detail.case_id), None)
    if screen.json:
        screen.document(inspection.case_document(detail, case))
    elif screen.tables:
        screen.lines(inspection.case_lines(detail, case, screen.width))
    else:
        screen.lines(inspection.case_facts(detail, case))


def _diagnosed(table: DiagnosisTable, screen: Screen) -> None:
    if screen.tables:
        screen.line()
        screen.prose(table.title)
    else:
        screen.fact(diagnosis=table.key, says=table.title)
    screen.table(table.columns, table.rows)
    if table.rest and screen.tables:
        screen.prose(f"… {table.rest} more with --json")
    elif table.rest:
        screen.fact(diagnosis=table.key, more=table.rest)


def _queue(
    found: Any, details: Any, screen: Screen, *, everything: bool, minutes_per_case: float, volume: int | None
) -> None:
    from dfah_cli.cli.show import view_with
    from dfah_cli.render import inspection
    from dfah_cli.report.diagnosis import diagnosis

    view = view_with(found.report, None, details)
    rows = view.cases if everything else view.cases[: view.attention]
    load = inspection.review_load(found.report, minutes_per_case, volume)
    why = diagnosis(found.verified.table, found.measurement)
    if screen.json:
        cases = [inspection.queue_row(row) for row in rows]
        screen.document({"format": "dfah-queue-1", "cases": cases, "load": load, "diagnosis": why.document})
        return
    names = HEADINGS if screen.tables else {}
    queue = [{key: told for key, told in inspection.queue_row(row).items() if told is not None} for row in rows]
    if queue:
        screen.table([names.get(key, key) for key in queue[0]], [tuple(row.values()) for row in queue], SPARE)
    elif screen.tables:
        screen.prose(f"Nothing to review. {view.sentence}")
    judged = {case.case_id for case in found.report.case_reports}
    lost = [detail for detail in details if detail.case_id not in judged]
    if lost:
        screen.table(("not_judged", "task", "statuses"), [inspection.lost_row(detail) for detail in lost])
    if screen.tables:
        screen.line()
        screen.prose(inspection.load_sentence(load))
    else:
        screen.fact(**load)
    for table in why.tables:
        _diagnosed(table, screen)
