"""`dfah init`"""

from __future__ import annotations

import re
from pathlib import Path

import click

from dfah_cli.cli.options import COMMON, option, stacked
from dfah_cli.cli.screen import Screen


@click.command(name="init")
@click.argument("folder", metavar="[FOLDER]", default=".")
@stacked(
    option("--name", default=None, help="Name of the suite and the run config; by default that of FOLDER."), COMMON
)
def command(folder: str, name: str | None, as_json: bool) -> int:
    """Write a small project that runs at once: configs, suite, adapter stub, test, Makefile and CI. Overwrites nothing.

    \b
    dfah init acme-kyc
    cd acme-kyc && dfah-run -cn acme-kyc
    """
    from dfah_cli.workflow.new_project import project_files, write_project

    place = Path(folder)
    chosen = name or name_of(place)
    files = project_files(chosen)
    write_project(place, files)
    screen = Screen(as_json=as_json)
    if screen.json:
        screen.document({"format": "dfah-init-1", "folder": folder, "name": chosen, "files": sorted(files)})
    else:
        screen.lines(f"{place / path}" for path in files)
        step = "" if folder == "." else f"cd {folder} && "
        screen.line(f"next: {step}dfah plan lock && dfah-run -cn {chosen}")
    screen.flush()
    return 0


def name_of(folder: Path) -> str:
    """A folder's name as the name of a suite."""
    words = re.findall(r"[a-z0-9]+", folder.resolve().name.lower())
    return "-".join(words).lstrip("0123456789-") or "my-suite"
