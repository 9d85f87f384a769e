"""`dfah power`"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from dfah_cli.cli.options import COMMON, Number, Whole, option, stacked
from dfah_cli.cli.screen import Screen

SHARE = Number(0, 1, min_open=True, max_open=True)


@click.command(name="power", context_settings={"help_option_names": ["-h", "--help"]})
@stacked(
    option(
        "--max-flag-rate",
        type=Number(1e-9, 1, max_open=True),
        default=None,
        help="The flag rate a pass must exclude, as a share.",
    ),
    option(
        "--expect", type=Number(0, 1, max_open=True), default=None, help="The flag rate the agent is believed to have."
    ),
    option("--chance", type=SHARE, default=0.8, show_default=True, help="How often such an agent should pass."),
    option("--confidence", type=SHARE, default=0.95, show_default=True, help="Confidence of the exclusion."),
    option("--replays", type=Whole(min=2), default=3, show_default=True, help="Replays per case."),
    option("--budget-calls", type=Whole(min=2), default=None, help="What this many calls can show."),
    option("--pilot", metavar="RUN", default=None, help="Take the expected flag rate and the cost from a run."),
    COMMON,
)
def power(pilot: str | None, as_json: bool, **wishes: Any) -> int:
    """Cases, replays, calls and money that a claim about the flag rate needs. Runs nothing.

    \b
    dfah power --max-flag-rate 0.05 --expect 0.01
    dfah power --budget-calls 600
    dfah power --max-flag-rate 0.05 --pilot .dfah/runs/first
    """
    from dfah_cli.workflow.power import Wish, pilot_facts, plans

    if wishes["max_flag_rate"] is None and wishes["budget_calls"] is None:
        raise click.UsageError("say what is wanted: --max-flag-rate, --budget-calls or both")
    found = plans(Wish(**wishes), pilot_facts(pilot) if pilot else None)
    screen = Screen(as_json=as_json)
    if screen.json:
        screen.document({"format": "dfah-power-1", "plans": found})
    else:
        screen.prose(*map(sentence, found))
    screen.flush()
    return 0


command = power


def sentence(plan: Mapping[str, Any]) -> str:
    """One plan in words."""
    from dfah_cli.report.words import count

    calls = f"{count(plan['cases'], 'case')} × {plan['replays']} replays = {plan['calls']:,} calls"
    money = "" if plan["cost_usd"] is None else f", about ${plan['cost_usd']:,.2f}"
    allowed = "no flag" if plan["allowed"] == 0 else f"at most {count(plan['allowed'], 'flag')}"
    verb = "show" if plan["allowed"] > 1 else "shows"
    sure = f"{plan['level'] * 100:g} % confidence"
    shows = f"{allowed} {verb} a flag rate below {plan['certifies'] * 100:.2f} per 100 ({sure})"
    if plan["chance"] is None:
        return f"{calls}{money}: {shows}"
    passes = f"passes {_percent(plan['chance'])} of agents with a true rate of {plan['expected'] * 100:.1f} per 100"
    return f"{calls}{money}: {shows}; {passes}, {_percent(plan['chance_at_limit'], 1)} of agents at the limit"


def _percent(share: float, digits: int = 0) -> str:
    return f"{share * 100:.{digits}f} %"
