"""`dfah`. The commands are a literal table; a command's module is imported when it is called, and not before."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from dfah_cli.cli.edge import EXIT_CODES, guarded, leave_soon, tell
from dfah_cli.errors import ExitCode
from dfah_cli.version import __version__

COMMANDS = {
    "init": ("init", "Write a small project that runs at once."),
    "check-agent": ("check_agent", "Does an adapter keep its contract? At most a few calls."),
    "run": ("run", "Replay a suite against an adapter and record every episode."),
    "analyze": ("analyze", "Verify a run directory and show what it measured."),
    "verify": ("verify", "Decide every claim about a run directory again, offline."),
    "log": ("log", "What happened in a run, in order."),
    "ls": ("ls", "The runs below a directory."),
    "watch": ("watch", "Progress of runs that other processes are writing."),
    "copy": ("copy", "Copy a run between a directory and an object storage."),
    "pack": ("pack", "Pack a finished run in an object storage into few objects."),
    "proof": ("proof", "Prove that one episode is in the published commitment."),
    "rerun": ("rerun", "Run the cases that were not eligible again, as a new experiment."),
    "sign": ("sign", "Sign what a finished, gated run states."),
    "keygen": ("keygen", "Make a key pair for signing."),
    "inspect": ("inspect", "Replays of a case side by side, or the queue of cases to review."),
    "gate": ("gate", "Apply a policy to a run; a failing gate exits 1."),
    "compare": ("compare", "What changed between two runs of one suite."),
    "baseline": ("baseline", "Pin the run that later runs are held against."),
    "attribute": ("attribute", "Split instability into tools, scheduling and agent."),
    "measure": ("measure", "Measure replays that were recorded elsewhere."),
    "power": ("power", "Cases, replays, calls and money that a claim needs."),
    "report": ("report", "Write a run's report as HTML, Markdown, JSON or JUnit XML."),
    "export": ("export", "Write tables, spans (OTLP) or an Every Eval Ever record."),
    "plan": ("plan", "Show, lock, check and compare the frozen plans of run configs."),
    "lint": ("lint", "Check configs and suites: strict YAML and JSON Schema."),
    "suites": ("suites", "List, validate and show suites."),
    "manifest": ("manifest", "Show the manifest a run is pinned to."),
    "schema": ("schema", "Print the JSON Schema of what --json prints."),
    "doctor": ("doctor", "Check this installation, or say what state a run directory is in."),
    "demo-provider": ("demo_provider", "A provider on this machine to try an agent against."),
    "completion": ("completion", "Print the completion script of a shell."),
    "version": ("version", "Print the version."),
}


class CommandTable(click.Group):
    """A group whose commands are imported when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command = import_module(f"dfah_cli.cli.commands.{entry[0]}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], COMMANDS, 1)
            hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(COMMANDS)}"
            raise click.UsageError(f"no command {args[0]!r}{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, short) for name, (_, short) in COMMANDS.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), meaning) for code, meaning in EXIT_CODES])
        with formatter.section("Environment"):
            formatter.write_dl(
                [
                    ("DFAH_<OPTION>", "every option of every command, e.g. DFAH_REPLAYS=5"),
                    ("DFAH_GATE_EXIT_CODE", "replaces exit code 1 (1 to 125)"),
                    ("CI, NO_COLOR, FORCE_COLOR", "honoured"),
                ]
            )
        formatter.write_paragraph()
        formatter.write_text("dfah-run is the same over YAML: dfah-run suite=toy-risk replays=3")


CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(cls=CommandTable, context_settings=CONTEXT, no_args_is_help=True)
@click.version_option(__version__, "-V", "--version", prog_name="dfah", message="%(prog)s %(version)s")
def dfah() -> None:
    """Measures whether repeated runs of a tool-using agent reach the same decision by the same path.

    \b
    dfah check-agent --agent dfah.demo:toy_agent
    dfah run --agent dfah.demo:toy_agent --replays 3 --out .dfah/runs/first
    dfah analyze .dfah/runs/first --report report.html
    """


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code."""
    if sys.platform == "win32":
        tell("dfah", "Windows has no store yet; use Linux, macOS or WSL")
        return int(ExitCode.BAD_REQUEST)
    arguments = list(sys.argv[1:] if argv is None else argv)
    called = _called(arguments)
    code = guarded(called, lambda: _invoke(arguments, called))
    return leave_soon(code) if argv is None else code


def _called(arguments: Sequence[str]) -> str:
    return f"dfah {arguments[0]}" if arguments and arguments[0] in COMMANDS else "dfah"


def _invoke(arguments: list[str], called: str) -> int:
    try:
        # The documented way to print completions, without letting click end the process.
        code: Any = dfah.main(args=arguments, prog_name="dfah", complete_var="_DFAH_COMPLETE", standalone_mode=False)
    except click.exceptions.Exit as done:
        return int(done.exit_code)
    except click.Abort:
        raise KeyboardInterrupt from None
    except click.exceptions.NoArgsIsHelpError as problem:
        click.echo(problem.ctx.get_help() if problem.ctx else str(problem))
        return int(ExitCode.BAD_REQUEST)
    except click.ClickException as problem:
        tell(called, _usage(problem, called))
        return int(ExitCode.BAD_REQUEST)
    return int(code or 0)


def _usage(problem: click.ClickException, called: str) -> str:
    message = " ".join(problem.format_message().split())
    return message if "--help" in message else f"{message.rstrip('.')} ({called} --help)"


if __name__ == "__main__":
    sys.exit(main())
