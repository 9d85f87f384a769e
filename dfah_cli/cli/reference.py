"""The command-line reference as Markdown, made of the help texts themselves, so that it cannot differ from them."""

from __future__ import annotations

from collections.abc import Iterator

import click

from dfah_cli.cli.edge import EXIT_CODES
from dfah_cli.cli.main import COMMANDS, dfah

HELP = ["-h", "--help"]
HEAD = """\
# Command line

This page is made from the help texts (`make golden`); a test compares the two.

`dfah` takes options; [`dfah-run`](#dfah-run) does the same over YAML. Results are on standard output, progress and
logs on standard error. On a terminal there are tables; in a pipe, or with `CI=true`, one fact a line; with `--json`,
one JSON document. `NO_COLOR` and `FORCE_COLOR` are honoured. Every option is also read from `DFAH_<OPTION>`, for
example `DFAH_REPLAYS=5`. There is no telemetry.

## Exit codes

| code | meaning |
| --- | --- |
"""
AFTER = """
Of several jobs of a sweep the most serious counts: 70, 3, 5, 2, 4, 1, 0. `DFAH_GATE_EXIT_CODE` replaces 1 by a number
from 1 to 125. `dfah gate` always blocks; `dfah analyze` of a run that is not complete exits 4.
"""


def reference() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield HEAD + "\n".join(f"| {code} | {meaning} |" for code, meaning in EXIT_CODES)
    yield AFTER
    root = click.Context(dfah, info_name="dfah", help_option_names=HELP)
    for name in COMMANDS:
        command = dfah.get_command(root, name)
        assert command is not None  # the table names only commands that exist
        yield from _command(command, name, root)
    yield from _dfah_run()


def _command(command: click.Command, name: str, parent: click.Context) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=parent, help_option_names=HELP)
    depth = "##" if parent.parent is None else "###"
    yield f"{depth} {context.command_path}\n"
    yield f"```text\n{help_of(command, context)}\n```\n"
    if isinstance(command, click.Group):
        for sub in command.list_commands(context):
            found = command.get_command(context, sub)
            assert found is not None
            yield from _command(found, sub, context)


def help_of(command: click.Command, context: click.Context) -> str:
    """The help text, 88 columns wide whatever the terminal is."""
    formatter = click.HelpFormatter(width=88, max_width=88)
    command.format_help(context, formatter)
    return "\n".join(line.rstrip() for line in formatter.getvalue().rstrip().split("\n"))


def _dfah_run() -> Iterator[str]:
    from dfah_cli.cli.hydra_args import help_text

    yield "## dfah-run\n"
    yield f"```text\n{help_text().rstrip()}\n```"
