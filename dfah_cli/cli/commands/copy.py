"""`dfah copy`"""

from __future__ import annotations

import time

import click

from dfah_cli.cli.options import COMMON
from dfah_cli.cli.screen import Screen, is_terminal

TERMINAL_S = 0.2
LINES_S = 10.0


@click.command(name="copy")
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="DST")
@COMMON
def command(source: str, target: str, as_json: bool) -> int:
    """Copy a run, every file with the same bytes, between directories and s3://bucket/prefix.

    The run is verified before and after. DST must not exist; a directory appears whole or not at all, and a copy to an
    object storage that was cut off goes on when it is repeated. Exits 5 while somebody writes SRC.

    \b
    dfah copy .dfah/runs/first s3://acme-evidence/runs/first
    dfah copy s3://acme-evidence/runs/first audit/first
    """
    from dfah_cli.workflow.copying import copy_run

    screen = Screen(as_json=as_json)
    copied = copy_run(source, target, shown(screen))
    if screen.json:
        screen.document(
            {
                "format": "dfah-copy-1",
                "source": str(copied.source),
                "target": str(copied.target),
                "files": copied.files,
                "bytes": copied.bytes,
                "sha256": copied.digest,
                "commitment": copied.commitment,
            }
        )
    else:
        screen.fact(copied=copied.target, files=copied.files, bytes=copied.bytes, sha256=copied.digest)
        screen.fact(commitment=copied.commitment, evidence="verified before and after")
    screen.flush()
    return 0


class shown:  # noqa: N801 - called like a function
    """Progress on standard error: in place on a terminal, a line now and then elsewhere."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._pace = TERMINAL_S if is_terminal(screen.err) else LINES_S
        self._told_at = time.monotonic()

    def __call__(self, name: str, done: int, whole: int) -> None:
        now = time.monotonic()
        if now - self._told_at < self._pace:
            return
        self._told_at = now
        self._screen.note(f"{done * 100 // max(whole, 1)} %  {done} of {whole} bytes  {name}")
