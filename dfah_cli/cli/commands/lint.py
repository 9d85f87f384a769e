"""`dfah lint`"""

from __future__ import annotations

from pathlib import Path

import click

from dfah_cli.cli.options import COMMON
from dfah_cli.cli.screen import Screen
from dfah_cli.errors import ConfigurationError

USUAL = ("configs", "suites", "plans.lock")


@click.command(name="lint")
@click.argument("paths", nargs=-1, metavar="[FILE|FOLDER]...")
@COMMON
def command(paths: tuple[str, ...], as_json: bool) -> int:
    """Check configs and suites: strict YAML and JSON Schema, every problem with its line. Composes and imports nothing.

    \b
    dfah lint                     configs, suites and plans.lock of this folder
    dfah lint suites/acme-kyc.yaml
    """
    from dfah_cli.config.lint import files_in, refusals

    given = list(paths) or [name for name in USUAL if Path(name).exists()]
    if not given:
        raise ConfigurationError(
            "nothing to check here; name files or folders, or run it where configs/ and suites/ are"
        )
    files = files_in(given)
    told = [line for file in files for line in refusals(file)]
    screen = Screen(as_json=as_json)
    if screen.json:
        screen.document({"format": "dfah-lint-1", "files": len(files), "problems": told})
        screen.flush()
        return 2 if told else 0
    if told:
        raise ConfigurationError("\n".join(told))
    if screen.tables:
        from dfah_cli.report.words import count

        screen.prose(f"{count(len(files), 'file')} read, nothing to object to")
    else:
        screen.fact(valid=len(files))
    screen.flush()
    return 0
