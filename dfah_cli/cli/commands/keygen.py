"""`dfah keygen`"""

from __future__ import annotations

import click

from dfah_cli.cli.options import COMMON
from dfah_cli.cli.screen import Screen


@click.command(name="keygen")
@click.argument("file", metavar="FILE")
@COMMON
def command(file: str, as_json: bool) -> int:
    """Make an Ed25519 key pair for signing runs: FILE (private, not encrypted) and FILE.pub.

    \b
    dfah keygen release
    """
    from dfah_cli.workflow.signing import make_keys

    private, public, key_id = make_keys(file)
    told = {"private": str(private), "public": str(public), "key": key_id}
    screen = Screen(as_json=as_json)
    screen.document({"format": "dfah-keygen-1", **told}) if screen.json else screen.fact(**told)
    screen.flush()
    return 0
