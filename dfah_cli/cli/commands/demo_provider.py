"""`dfah demo-provider`"""

from __future__ import annotations

import time
from typing import Any

import click

from dfah_cli.cli.options import AS_JSON, TRACEBACK, Number, Whole, option, stacked
from dfah_cli.cli.screen import Screen

# Each becomes an option --NAME-rate; what they disturb is told in docs/bring-your-own-agent.md.
RATES = {
    "flip": "Another label.",
    "order-swap": "Tools in another order.",
    "skip": "The last tool left out.",
    "argument-jitter": "Another argument.",
    "no-decision": "An answer without a decision line.",
    "refusal": "A refusal.",
    "rate-limit": "Status 429 with Retry-After.",
    "server-error": "Status 500.",
    "reset": "A connection reset.",
    "malformed": "JSON that is cut off.",
    "timeout": "Silence, then a reset.",
}
SHARE = Number(min=0, max=1)
RATE_OPTIONS = stacked(*(option(f"--{name}-rate", type=SHARE, default=0.0, help=told) for name, told in RATES.items()))


@click.command(name="demo-provider")
@option("--port", type=Whole(0, 65535), default=8321, show_default=True, help="0 takes any free port.")
@option("--seed", type=Whole(min=0), default=42, show_default=True, help="Which answers are disturbed.")
@option("--labels", metavar="A,B", default=None, help='Labels, where the prompt names none after "one of".')
@option("--parallel", is_flag=True, help="Ask for all tools at once.")
@RATE_OPTIONS
@AS_JSON
@TRACEBACK
def command(port: int, seed: int, labels: str | None, parallel: bool, as_json: bool, **rates: float) -> int:
    """A provider on this machine that speaks the OpenAI and Anthropic protocols; no key, no network.

    It calls every tool it is offered and then decides, disturbed at the given rates (shares of answers). Ends with
    Ctrl-C.

    \b
    dfah demo-provider --flip-rate 0.1
    OPENAI_BASE_URL=http://127.0.0.1:8321/v1 OPENAI_API_KEY=none python my_agent.py
    """
    from dfah_cli.integrations.loopback.seeded import Seeded
    from dfah_cli.integrations.loopback.server import LoopbackProvider

    named = tuple(label.strip().upper() for label in labels.split(",")) if labels else ()
    behaviour = Seeded(seed=seed, labels=named, parallel=parallel, **rates)
    screen = Screen(as_json=as_json)
    with LoopbackProvider(behaviour, port=port) as provider:
        _tell(screen, {"openai": provider.openai_url, "anthropic": provider.url})
        _until_interrupted()
    return 0


def _tell(screen: Screen, addresses: dict[str, Any]) -> None:
    if screen.json:
        screen.document({"format": "dfah-demo-provider-1", **addresses})
    else:
        screen.line(f"OpenAI base URL: {addresses['openai']}")
        screen.line(f"Anthropic base URL: {addresses['anthropic']}")
        screen.note("Any key will do. Ctrl-C ends it.")
    screen.flush()


def _until_interrupted() -> None:
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        return
