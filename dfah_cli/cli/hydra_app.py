"""`dfah-run`: Hydra composes, we run.

Hydra's own entry point ignores what a job returns (a failed gate would exit 0) and turns errors into tracebacks, so
this one checks the overrides first, composes through Hydra, freezes every plan before the first dispatch, and
computes the exit code from what the runs came to.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING, Any

from dfah_cli.cli.edge import guarded, leave_soon, replaced, tell
from dfah_cli.cli.hydra_args import Arguments, help_text, parse_arguments
from dfah_cli.cli.screen import Screen
from dfah_cli.errors import ExitCode
from dfah_cli.version import __version__

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

PROGRAM = "dfah-run"
# Hydra would write a log and its own configs beside the job; a run directory holds what it needs.
NO_LITTER = ("hydra.run.dir=.", "hydra.output_subdir=null", "hydra/job_logging=none", "hydra/hydra_logging=none")


def main(argv: list[str] | None = None) -> int:
    """The exit code of one command line."""
    if sys.platform == "win32":
        tell(PROGRAM, "Windows has no store yet; use Linux, macOS or WSL")
        return int(ExitCode.BAD_REQUEST)
    given = sys.argv[1:] if argv is None else argv
    if "--traceback" in given:
        os.environ["DFAH_TRACEBACK"] = "1"
    # Starting up only builds what stays; the collector would look through it a dozen times and free nothing.
    gc.disable()
    try:
        code = guarded(PROGRAM, lambda: replaced(ExitCode(run(parse_arguments(given)))))
    finally:
        gc.enable()
    return leave_soon(code) if argv is None else code


def run(arguments: Arguments) -> int:
    """Does what the arguments say."""
    if arguments.help or arguments.version:
        Screen().lines(help_text().splitlines() if arguments.help else [f"{PROGRAM} {__version__}"])
        return ExitCode.OK
    if "--shell-completion" in arguments.passed or "--hydra-help" in arguments.passed:
        return _hydra(arguments, list(arguments.overrides), litter_free=False)

    from dfah_cli.config.environment import environment_overrides, unread_variables
    from dfah_cli.config.overrides import check_overrides, for_hydra

    overrides = check_overrides(list(arguments.overrides), sweep=arguments.multirun)
    from_environment = environment_overrides(os.environ, [override.key_or_group for override in overrides])
    overrides += check_overrides(from_environment, sweep=False)
    for name in unread_variables(os.environ):
        tell(PROGRAM, f"{name} is not read here: a plan must not depend on the machine; write it on the command line")
    if arguments.passed:
        return _hydra(arguments, [for_hydra(override) for override in overrides])
    return _sweep(arguments, overrides) if arguments.multirun else _single(arguments, overrides)


def _single(arguments: Arguments, overrides: list[Override]) -> int:
    from dfah_cli.cli.show import run_and_show, show_plan
    from dfah_cli.config.compose import compose_run, hydra_session
    from dfah_cli.config.freeze import freeze
    from dfah_cli.config.overrides import for_hydra

    screen = Screen(as_json=arguments.json)
    with hydra_session():
        config = compose_run([for_hydra(override) for override in overrides], _config_name(arguments))
    request = freeze(config)
    if config.get("plan") == "only":
        from dfah_cli.workflow.freezing import plan_only

        show_plan(plan_only(request), screen)
        return ExitCode.OK
    gc.freeze()
    gc.enable()
    return run_and_show(request, screen, debug_log=arguments.debug_log)


def _sweep(arguments: Arguments, overrides: list[Override]) -> int:
    from dfah_cli.cli.hydra_sweep import freeze_jobs, run_jobs, show_outcomes, show_plans
    from dfah_cli.config.overrides import LAUNCHING

    gc.enable()
    screen = Screen(as_json=arguments.json)
    jobs = freeze_jobs(overrides, _config_name(arguments))
    if any(job.only_plan for job in jobs):
        show_plans(screen, jobs)
        return ExitCode.OK
    if any(override.key_or_group.startswith(LAUNCHING) for override in overrides):
        from dfah_cli.cli.hydra_launch import launch

        outcomes = launch(jobs, overrides, _config_name(arguments))
    else:
        outcomes = run_jobs(screen, jobs, debug_log=arguments.debug_log)
    return show_outcomes(screen, outcomes, len(jobs))


def _config_name(arguments: Arguments) -> str:
    from dfah_cli.config.named import check_config_name

    return check_config_name(arguments.config_name)


def _hydra(arguments: Arguments, overrides: list[str], *, litter_free: bool = True) -> ExitCode:
    """Hands a command that only shows something to Hydra itself."""
    from dfah_cli.config.compose import run_hydra

    fixed = list(NO_LITTER) if litter_free else []
    run_hydra([*arguments.passed, *overrides, *fixed], _config_name(arguments), _nothing_to_run)
    return ExitCode.OK


def _nothing_to_run(config: Any) -> None:
    raise AssertionError("Hydra ran a job although it was asked to show something")


if __name__ == "__main__":
    sys.exit(main())
