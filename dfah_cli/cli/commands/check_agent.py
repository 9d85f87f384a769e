"""`dfah check-agent`"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from dfah_cli.cli.options import (
    AGENT,
    BUDGET,
    COMMON,
    DEBUG_LOG,
    EPISODE_COST,
    SUITE,
    TIMEOUT,
    Whole,
    option,
    stacked,
)
from dfah_cli.cli.screen import Screen
from dfah_cli.errors import ConfigurationError, ExitCode
from dfah_cli.execution.events import EpisodeFinished


@click.command(name="check-agent")
@stacked(
    AGENT,
    SUITE,
    option("--max-cases", type=Whole(min=1), default=2, show_default=True, help="Cases to try, twice each."),
    option("--expect-tools", metavar="CASE=t1,t2", multiple=True, help="Tools a case must call, in order; repeatable."),
    BUDGET,
    EPISODE_COST,
    TIMEOUT,
    option("--out", metavar="DIR", default=None, help="Keep the episodes here; without it they are removed."),
    option("--deep", is_flag=True, help="More calls: does what surrounds the agent change what it does?"),
    DEBUG_LOG,
    COMMON,
)
def command(
    agent: str,
    as_json: bool,
    debug_log: str | None,
    deep: bool,
    expect_tools: tuple[str, ...],
    max_episode_cost_usd: float | None,
    **same: Any,
) -> int:
    """Does an adapter keep its contract? Two replays of a few cases, then the same again from the record.

    With --deep each case is called ten times more, in worker processes: after other cases instead of first, with
    another clock, hash seed, time zone and locale. The number of calls is said before the first of them.

    \b
    dfah check-agent --agent dfah.demo:toy_agent --episode-timeout-s 5
    dfah check-agent --agent acme.agents:triage --expect-tools CASE-001=lookup,score
    dfah check-agent --agent acme.agents:triage --deep --max-cases 1
    """
    from dfah_cli.adapter.reference import load_agent
    from dfah_cli.cli.logs import episode_log
    from dfah_cli.workflow.conformance import check_agent

    screen = Screen(as_json=as_json)
    with episode_log(screen, debug_log, quiet=False) as log:
        report = check_agent(
            load_agent(agent),
            deep=deep,
            reference=agent if deep else None,
            announce=_announcing(screen) if deep else None,
            expected_tools=_expected(expect_tools),
            estimated_max_episode_cost_usd=max_episode_cost_usd,
            observer=lambda event: log(event) if isinstance(event, EpisodeFinished) else None,
            **same,
        )
    if screen.json:
        from dfah_cli.records.codec import plain

        screen.document({"format": "dfah-conformance-1", "passed": report.passed, **plain(report)})
    else:
        _show(report, screen)
    screen.flush()
    return _code(report)


def _announcing(screen: Screen) -> Callable[[int, float | None], None]:
    def announce(calls: int, ceiling: float | None) -> None:
        cost = "no estimate of the cost (--max-episode-cost-usd)" if ceiling is None else f"at most ${ceiling:.2f}"
        screen.note(f"dfah check-agent --deep: at most {calls} agent calls, {cost}")

    return announce


def _code(report: Any) -> int:
    from dfah_cli.cli.edge import replaced

    return 0 if report.passed else replaced(ExitCode.NO)


def _expected(pairs: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    wanted: dict[str, tuple[str, ...]] = {}
    for pair in pairs:
        case_id, equals, names = pair.rpartition("=")
        if not equals or not case_id:
            raise ConfigurationError("--expect-tools: expected CASE=tool,tool (CASE= for a case that calls nothing)")
        wanted[case_id] = tuple(name for name in names.split(",") if name)
    return wanted


def _show(report: Any, screen: Screen) -> None:
    rows = [(c.name, str(c.status), c.detail, c.fix or "") for c in report.checks]
    screen.table(("check", "status", "observed", "to fix it"), rows)
    if screen.tables:
        screen.line()
    ceiling = report.estimated_cost_ceiling_usd
    screen.fact(
        conformance="pass" if report.passed else "fail",
        cases=report.cases_selected,
        calls=f"at most {report.episodes_planned}",
        cost="no estimate" if ceiling is None else f"at most ${ceiling:.2f}",
        statuses=", ".join(f"{name} {count}" for name, count in report.status_counts.items()) or None,
    )
    if report.passed and screen.tables:
        screen.prose("Passing two repetitions does not prove that nothing depends on the clock or on ambient state.")
