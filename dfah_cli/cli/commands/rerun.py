"""`dfah rerun`"""

from __future__ import annotations

from typing import Any

import click

from dfah_cli.cli.commands.run import GATE
from dfah_cli.cli.options import BUDGET, COMMON, DEBUG_LOG, EPISODE_COST, SUITE, Whole, option, stacked
from dfah_cli.cli.placement import PLACEMENT, placed
from dfah_cli.cli.screen import Screen


@click.command(name="rerun")
@click.argument("run", metavar="RUN")
@stacked(
    option("--ineligible", is_flag=True, help="Over the cases that could not be judged (required: the only choice)."),
    option("--out", metavar="NEW", required=True, help="Run directory of the successor."),
    option("--agent", metavar="REF", default=None, help="Adapter; by default the one that RUN records."),
    SUITE,
    option("--tools-file", metavar="FILE", default=None,
           help="The recording that RUN replays; a new file where RUN records."),
    option("--tools-key-env", metavar="NAME", default=None, help="Variable with the key that encrypts the recording."),
    option("--digest-key-env", metavar="NAME", default=None, help="Variable with the key of RUN's digests."),
    GATE,
    option("--concurrency", type=Whole(min=1, max=100_000), default=1, show_default=True, help="Episodes in flight."),
    BUDGET,
    EPISODE_COST,
    PLACEMENT,
    option("--recover-stale-lease", is_flag=True, help="Take over NEW from a writer that is gone."),
    option("--dry-run", is_flag=True, help="Print the frozen plan and its lineage; dispatch nothing."),
    DEBUG_LOG,
    COMMON,
)  # fmt: skip
def command(
    run: str, ineligible: bool, out: str, dry_run: bool, debug_log: str | None, as_json: bool, **given: Any
) -> int:
    """Run the cases again that RUN could not judge, as a new experiment.

    What may have reached the provider is never sent again under the same identity: the successor has its own plan,
    directory and idempotency keys. Nothing is merged; its lineage is recorded (dfah log NEW). Running the same command
    again resumes it.

    Tools are recorded or replayed, and digests keyed, as in RUN; name the file and the variable again, because neither
    is recorded.

    \b
    dfah rerun .dfah/runs/first --ineligible --out .dfah/runs/first-again
    """
    if not ineligible:
        raise click.UsageError("say which cases: --ineligible")
    from dfah_cli.cli.show import show_plan
    from dfah_cli.render.text import escape
    from dfah_cli.workflow.run import plan_only

    found = _succession(run, out, **given)
    screen = Screen(as_json=as_json)
    plan, commitment = found.parent["run_plan_sha256"], found.parent["commitment"]
    count = len(found.cases)
    what = "1 case" if count == 1 else f"{count} cases"
    screen.note(f"successor of {escape(run)}: {what}; parent plan {plan}, commitment {commitment}")
    if dry_run:
        show_plan(plan_only(found.request), screen)
        screen.flush()
        return 0
    return _run(found, screen, debug_log)


def _succession(run: str, out: str, *, policy: str | None, **given: Any) -> Any:
    from dfah_cli.loading.policies import load_policy
    from dfah_cli.workflow.succession import succeed

    return succeed(run, out, policy=None if policy is None else load_policy(policy), **placed(given))


def _run(found: Any, screen: Screen, debug_log: str | None) -> int:
    from dfah_cli.cli.progress import watching
    from dfah_cli.cli.show import show_run
    from dfah_cli.workflow.run import execute

    with watching(screen, debug_log=debug_log) as observer:
        result = execute(found.request, observer, parent=found.parent)
    show_run(result, screen)
    screen.flush()
    return int(result.exit_code)
