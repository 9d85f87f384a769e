"""`dfah compare`"""

from __future__ import annotations

from typing import Any

import click

from dfah_cli.cli.options import COMMON, option, stacked
from dfah_cli.cli.screen import Screen


@click.command(name="compare")
@click.argument("base", metavar="BASE")
@click.argument("candidate", metavar="CANDIDATE")
@stacked(
    option("--allow-cross-manifest", is_flag=True, help="The runs may be of two different agents."),
    option("--allow-cross-version", is_flag=True, help="The runs may be of two suite versions."),
    option("--allow-partial", is_flag=True, help="The runs may be incomplete."),
    COMMON,
)
def command(base: str, candidate: str, as_json: bool, **allowed: bool) -> int:
    """What changed between two runs of one suite: the numbers, and the cases that flipped.

    \b
    dfah compare .dfah/runs/base .dfah/runs/candidate --allow-cross-manifest
    """
    from dfah_cli.workflow.analyze import analyze

    one, other = analyze(base), analyze(candidate)
    difference = other.report.compare(one.report, **allowed)
    flips = _flips(one, other)
    screen = Screen(as_json=as_json)
    if screen.json:
        screen.document(
            {
                "format": "dfah-comparison-1",
                "base": one.report.report_id,
                "candidate": other.report.report_id,
                "difference": dict(difference),
                "flips": [dict(zip(("case_id", "base", "candidate"), flip, strict=True)) for flip in flips],
            }
        )
    else:
        _show(one.report, other.report, difference, flips, screen)
    screen.flush()
    return 0


def _flips(one: Any, other: Any) -> list[tuple[str, str, str]]:
    """Cases whose most frequent decision differs: (pseudonym, base, candidate)."""
    from dfah_cli.report.details import case_details

    def modal(analysis: Any) -> dict[str, str]:
        details = case_details(analysis.verified.table)
        return {detail.case_id: detail.decisions[0][0] for detail in details if detail.decisions}

    before, after = modal(one), modal(other)
    return [
        (case, before[case], after[case]) for case in sorted(before) if case in after and before[case] != after[case]
    ]


def _show(one: Any, other: Any, difference: Any, flips: list[tuple[str, str, str]], screen: Screen) -> None:
    from dfah_cli.report.view import metric_rows

    rows = []
    for before, after in zip(metric_rows(one, ()), metric_rows(other, ()), strict=True):
        rows.append((before.label, before.value, after.value, f"{difference[before.key]:+.3f}"))
    screen.table(("metric", "base", "candidate", "change"), rows)
    if flips:
        if screen.tables:
            screen.line()
        screen.table(("flipped_case", "base", "candidate"), flips)
    else:
        screen.fact(flipped_cases=0)
