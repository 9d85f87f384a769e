"""`dfah version`"""

from __future__ import annotations

import click

from dfah_cli.cli.options import COMMON
from dfah_cli.cli.screen import Screen


@click.command(name="version")
@COMMON
def command(as_json: bool) -> int:
    """Print the version.

    \b
    dfah version --json
    """
    import platform

    from dfah_cli.version import __version__

    screen = Screen(as_json=as_json)
    if screen.json:
        screen.document({"format": "dfah-version-1", "version": __version__, "python": platform.python_version()})
    else:
        screen.line(f"dfah {__version__}")
    screen.flush()
    return 0
