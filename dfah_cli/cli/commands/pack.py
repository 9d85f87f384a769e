"""`dfah pack`"""

from __future__ import annotations

import click

from dfah_cli.cli.commands.copy import shown
from dfah_cli.cli.options import COMMON, option, stacked
from dfah_cli.cli.screen import Screen


@click.command(name="pack")
@click.argument("run", metavar="URL")
@stacked(
    option("--remove-small", is_flag=True, help="Then remove the objects that the packed ones replace."),
    COMMON,
)
def command(run: str, remove_small: bool, as_json: bool) -> int:
    """Pack the log of a finished run in an object storage: one object a segment (up to 256 MiB) instead of one a batch.

    Reading it then takes few requests. What the run says does not change; it is verified before and after.

    \b
    dfah pack s3://acme-evidence/runs/first
    dfah pack s3://acme-evidence/runs/first --remove-small
    """
    from dfah_cli.workflow.copying import pack_run

    screen = Screen(as_json=as_json)
    packed = pack_run(run, remove_small=remove_small, progress=shown(screen))
    facts = {"run": run, "segments": packed.segments, "bytes": packed.bytes, "removed": packed.removed}
    if screen.json:
        screen.document({"format": "dfah-pack-1", **facts})
    else:
        screen.fact(**facts)
    screen.flush()
    return 0
