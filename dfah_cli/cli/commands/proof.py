"""`dfah proof`"""

from __future__ import annotations

import click

from dfah_cli.cli.options import COMMON, option, stacked
from dfah_cli.cli.screen import Screen


@click.command(name="proof")
@click.argument("run", metavar="RUN")
@stacked(
    option("--episode", metavar="CASE/REPLAY|KEY", required=True, help="Which episode."),
    option("-o", "--output", metavar="FILE", default=None, help="Write the proof to FILE."),
    COMMON,
)
def command(run: str, episode: str, output: str | None, as_json: bool) -> int:
    """Prove that one episode is in the published commitment, without giving away the others.

    The proof is JSON; docs/proof.md has the check in 20 lines of Python.

    \b
    dfah proof .dfah/runs/first --episode CASE-001/0 -o proof.json
    """
    from dfah_cli.render.json import json_text
    from dfah_cli.workflow.export import write_export
    from dfah_cli.workflow.proofs import prove

    proof = prove(run, episode)
    screen = Screen(as_json=as_json)
    if output is not None:
        write_export(output, json_text(proof))
    if screen.json or output is None:
        screen.document(proof)
    else:
        screen.fact(proof=output, commitment=proof["commitment"], index=proof["index"], digests=len(proof["path"]))
    screen.flush()
    return 0
