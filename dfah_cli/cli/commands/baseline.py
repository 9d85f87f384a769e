"""`dfah baseline`"""

from __future__ import annotations

import click

from dfah_cli.cli.options import COMMON, option, stacked
from dfah_cli.cli.screen import Screen


@click.group(name="baseline")
def command() -> None:
    """Pin the run that later runs are held against.

    \b
    dfah baseline accept .dfah/runs/release -o baselines/acme-kyc.json
    """


@command.command(name="accept", short_help="Write a verified run as a small file for review.")
@click.argument("run", metavar="RUN")
@stacked(
    option("-o", "--output", metavar="FILE", default=None, help="Where to write it; standard output without."),
    option("--allow-partial", is_flag=True, help="The run may be incomplete."),
    COMMON,
)
def accept(run: str, output: str | None, allow_partial: bool, as_json: bool) -> int:
    """Write a verified run as a small file for review: digests, metrics, decisions of its cases, no private data.

    It serves as BASE of `dfah compare` and as `non_inferiority.baseline` of a gate.

    \b
    dfah baseline accept .dfah/runs/release -o baselines/acme-kyc.json
    """
    from dfah_cli.workflow.baselines import accept as pin
    from dfah_cli.workflow.baselines import baseline_text
    from dfah_cli.workflow.export import write_export

    baseline = pin(run, allow_partial=allow_partial)
    text = baseline_text(baseline)
    screen = Screen(as_json=as_json)
    if output is None:
        screen.lines(text.splitlines())
    else:
        place = str(write_export(output, text))
        told = {"written": place, "baseline_sha256": baseline.sha256, "cases": len(baseline.cases)}
        if screen.json:
            screen.document({"format": "dfah-pinned-1", **told})
        else:
            screen.fact(**told)
    screen.flush()
    return 0
