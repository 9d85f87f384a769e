"""`dfah manifest`"""

from __future__ import annotations

import click

from dfah_cli.cli.options import COMMON
from dfah_cli.cli.screen import Screen


@click.group(name="manifest")
def command() -> None:
    """The manifest a run is pinned to.

    \b
    dfah manifest show .dfah/runs/first
    """


@command.command(name="show")
@click.argument("run", metavar="RUN")
@COMMON
def show(run: str, as_json: bool) -> int:
    """Show the manifest of a verified run.

    \b
    dfah manifest show .dfah/runs/first --json
    """
    from dfah_cli.records.codec import plain
    from dfah_cli.workflow.analyze import analyze

    manifest = analyze(run).verified.manifest
    screen = Screen(as_json=as_json)
    if screen.json:
        screen.document({"format": "dfah-manifest-1", "hash": manifest.hash, "manifest": plain(manifest)})
    else:
        rows = [("hash", manifest.hash), *((name, _text(value)) for name, value in plain(manifest).items())]
        screen.table(("field", "value"), rows)
    screen.flush()
    return 0


def _text(value: object) -> str:
    from dfah_cli.canonical import canonical_bytes

    if value is None:
        return "—"
    return value if isinstance(value, str) else canonical_bytes(value).decode()
