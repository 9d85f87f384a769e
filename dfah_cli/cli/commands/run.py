"""`dfah run`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dfah_cli.cli.options import (
    AGENT,
    BUDGET,
    COMMON,
    DEBUG_LOG,
    EPISODE_COST,
    REPORT_FILES,
    SUITE,
    TIMEOUT,
    Number,
    Seed,
    Whole,
    option,
    stacked,
)
from dfah_cli.cli.placement import PLACEMENT, placed
from dfah_cli.cli.screen import Screen

DESIGN = stacked(
    option("--replays", type=Whole(min=2, max=1_000_000), default=3, show_default=True, help="Replays of each case."),
    option("--seed", type=Seed(), default=42, show_default=True, help="Seed of the schedule and of the sampling."),
    option(
        "--sample-rate",
        type=Number(min=0, max=1, min_open=True),
        default=1.0,
        show_default=True,
        help="Share of the suite's cases to draw.",
    ),
    option("--case", "cases", metavar="ID", multiple=True, help="Only this case; repeatable."),
    option("--limit", type=Whole(min=1), default=None, help="Only the first so many cases."),
    option(
        "--schedule",
        type=click.Choice(["shuffled", "blocks"]),
        default="shuffled",
        show_default=True,
        help="blocks finishes whole cases early, for a policy that stops.",
    ),
    TIMEOUT,
)
TOOLS = stacked(
    option(
        "--tools",
        type=click.Choice(["live", "record", "replay"]),
        default="live",
        show_default=True,
        help="Call the tools, also record their results, or replay those.",
    ),
    option("--tools-file", metavar="FILE", default=None, help="The recording; never inside a run directory."),
    option("--tools-key-env", metavar="NAME", default=None, help="Variable with the key that encrypts the recording."),
    option(
        "--tools-results",
        type=click.Choice(["first", "own"]),
        default="first",
        show_default=True,
        help="Replay what the first recorded replay was given, or what the same one was.",
    ),
    option(
        "--tools-latency",
        type=click.Choice(["none", "first", "own"]),
        default="none",
        show_default=True,
        help="How long a replayed answer takes.",
    ),
    option("--digest-key-env", metavar="NAME", default=None, help="Variable with the key of recorded digests."),
)
GATE = stacked(
    option("--mode", type=click.Choice(["shadow", "blocking"]), default="shadow", show_default=True,
           help="Whether a failing gate only reports, or exits 1."),
    option("--policy", metavar="NAME|FILE", default=None, help="Thresholds of the gate."),
)  # fmt: skip
PLACES = stacked(
    option("--out", metavar="DIR|URL", default=None, help="Run directory; by default one named after the plan."),
    option(
        "--store",
        metavar="DIR|URL",
        default=".dfah/runs",
        show_default=True,
        help="Where default run directories are; s3://bucket/prefix for an object storage.",
    ),
    option(
        "--shards",
        type=Whole(min=1, max=9000),
        default=None,
        help="In an object storage: how many runners can share the run; fixed when it is made.",
    ),
    option("--recover-stale-lease", is_flag=True, help="Take over from a writer that is gone; be sure that it is."),
    option("--lease-token", metavar="TOKEN", default=None, help="Recover only the stale lease that has this token."),
)
LIMITS = stacked(
    option("--concurrency", type=Whole(min=1, max=100_000), default=1, show_default=True, help="Episodes in flight."),
    BUDGET,
    EPISODE_COST,
    PLACEMENT,
    option("--capture-tool-arguments", is_flag=True, help="Record tool arguments, not only their hashes."),
    option("--otel/--no-otel", default=False, help="Send OpenTelemetry spans to the endpoint of the OTEL_* variables."),
    option("--otel-file", metavar="FILE", default=None, help="Write OpenTelemetry spans, as OTLP JSON lines."),
    option("--dry-run", is_flag=True, help="Print the frozen plan and its digest; dispatch nothing."),
)  # fmt: skip


@click.command(name="run")
@stacked(AGENT, SUITE, DESIGN, TOOLS, GATE, PLACES, LIMITS, REPORT_FILES, DEBUG_LOG, COMMON)
def command(as_json: bool, debug_log: str | None, dry_run: bool, **given: Any) -> int:
    """Replay a suite against an adapter and record every episode.

    Running the same command again resumes, reuses what is committed and calls nobody twice.

    \b
    dfah run --agent dfah.demo:toy_agent --replays 3 --out .dfah/runs/first
    dfah run --agent acme.agents:triage --suite acme-kyc --policy strict --mode blocking
    """
    from dfah_cli.cli.show import run_and_show, show_plan
    from dfah_cli.workflow.run import plan_only

    request = _request(**given)
    screen = Screen(as_json=as_json)
    if dry_run:
        show_plan(plan_only(request), screen)
        screen.flush()
        return 0
    return run_and_show(request, screen, debug_log=debug_log)


def _request(agent: str, policy: str | None, outputs: tuple[str, ...], cases: tuple[str, ...], **given: Any) -> Any:
    from dfah_cli.loading.policies import load_policy
    from dfah_cli.workflow.rendering import format_of
    from dfah_cli.workflow.request import ReportFile, RunRequest

    return RunRequest(
        adapter=agent,
        case=cases,
        policy=None if policy is None else load_policy(policy),
        report=tuple(ReportFile(format=format_of(Path(name)), file=name) for name in outputs),
        **placed(given),
    )
