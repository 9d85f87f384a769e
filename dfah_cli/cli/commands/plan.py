"""`dfah plan`"""

from __future__ import annotations

from pathlib import Path

import click

from dfah_cli.cli.options import COMMON, option, stacked
from dfah_cli.cli.screen import Screen
from dfah_cli.errors import ConfigurationError


@click.group(name="plan")
def command() -> None:
    """Review frozen plans: what a configuration runs, and what a change of it re-runs and costs.

    \b
    dfah plan show suite=toy-risk replays=5
    dfah plan lock
    dfah plan diff main..HEAD
    """


@command.command(name="show")
@click.argument("what", nargs=-1, metavar="[CONFIG] [KEY=VALUE]...")
@stacked(option("--all", "every", is_flag=True, help="Every run config of the project."), COMMON)
def show(what: tuple[str, ...], every: bool, as_json: bool) -> int:
    """Show the frozen plan of a run config or of overrides.

    Nothing is dispatched.

    \b
    dfah plan show nightly
    dfah plan show suite=toy-risk replays=5
    dfah plan show --all --json
    """
    from dfah_cli.cli.show import show_plan
    from dfah_cli.config.named import check_config_name
    from dfah_cli.config.plans import planned

    screen = Screen(as_json=as_json)
    if every:
        if what:
            raise ConfigurationError("--all shows every run config; leave out the names and keys")
        _show_all(screen)
        return 0
    names = [text for text in what if "=" not in text]
    if len(names) > 1:
        raise ConfigurationError(f"one run config at a time, not {len(names)}; all of them: dfah plan show --all")
    _, plan = planned([text for text in what if "=" in text], check_config_name(names[0] if names else None))
    show_plan(plan, screen)
    screen.flush()
    return 0


def _show_all(screen: Screen) -> None:
    from dfah_cli.config.plans import named_plans
    from dfah_cli.workflow.plan_facts import facts_document

    plans = named_plans(tolerant=True)
    if screen.json:
        screen.document(facts_document(plans))
        return
    columns = ("config", "plan", "policy", "calls", "cost")
    rows = [
        (
            facts.name,
            facts.run_plan_sha256 or f"cannot be planned: {facts.error}",
            facts.policy_sha256 or "none",
            str(facts.calls),
            "unknown" if facts.cost_ceiling_usd is None else f"at most ${facts.cost_ceiling_usd:,.2f}",
        )
        for facts in plans
    ]
    screen.table(columns, rows)
    screen.flush()


@command.command(name="lock")
@COMMON
def lock(as_json: bool) -> int:
    """Write plans.lock: one line for each run config of the project. Commit it.

    \b
    dfah plan lock
    """
    from dfah_cli.config.plans import LOCK, named_plans
    from dfah_cli.workflow.export import write_export
    from dfah_cli.workflow.lockfile import lock_text

    plans = named_plans()
    write_export(Path(LOCK), lock_text(plans))
    screen = Screen(as_json=as_json)
    if screen.json:
        screen.document({"format": "dfah-lock-1", "file": LOCK, "plans": len(plans)})
    else:
        screen.fact(wrote=LOCK, plans=len(plans))
    screen.flush()
    return 0


@command.command(name="check")
@COMMON
def check(as_json: bool) -> int:
    """Fail (exit 2) when plans.lock is not what the run configs plan now.

    \b
    dfah plan check
    """
    from dfah_cli.config.plans import LOCK, named_plans
    from dfah_cli.loading.files import read_source
    from dfah_cli.workflow.lockfile import parse_lock, stale_lines

    if not Path(LOCK).exists():
        raise ConfigurationError(f"{LOCK}: no such file; write it with: dfah plan lock")
    plans = named_plans()
    stale = stale_lines(parse_lock(read_source(LOCK).text, LOCK), plans, LOCK)
    screen = Screen(as_json=as_json)
    if screen.json:
        screen.document({"format": "dfah-lock-check-1", "up_to_date": not stale, "differences": stale})
        screen.flush()
        return 2 if stale else 0
    if stale:
        raise ConfigurationError("\n".join([*stale, f"{LOCK} is stale; run `dfah plan lock` and review its diff"]))
    screen.fact(up_to_date=LOCK, plans=len(plans))
    screen.flush()
    return 0


@command.command(name="diff", short_help="Explain what changes between two sets of plans.")
@click.argument("before", metavar="A")
@click.argument("after", metavar="[B]", required=False)
@stacked(
    option("--markdown", is_flag=True, help="A table for a pull-request comment."),
    COMMON,
)
def diff(before: str, after: str | None, markdown: bool, as_json: bool) -> int:
    """Explain what changes between two sets of plans: git revisions, JSON of `plan show --all`, or plans.lock files.

    \b
    dfah plan diff main..HEAD
    dfah plan diff main                      against the files as they are
    dfah plan diff plans.lock --markdown
    """
    from dfah_cli.config.plans import plans_of
    from dfah_cli.render.plan_diff import diff_document, markdown_lines, text_lines
    from dfah_cli.workflow.plan_diff import diff_plans

    if after is None and ".." in before and not Path(before).exists():
        before, _, after = before.partition("..")
        before, after = before or "HEAD", after.removeprefix(".") or "HEAD"
    changes = diff_plans(plans_of(before), plans_of(after))
    screen = Screen(as_json=as_json)
    if screen.json:
        screen.document(diff_document(changes))
    else:
        screen.lines(markdown_lines(changes) if markdown else text_lines(changes))
    screen.flush()
    return 0
