"""Options that several commands share; every option is also read from `DFAH_<OPTION>`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from dfah_cli.records.policy import GatePolicy

LARGEST = 2**53 - 1
F = TypeVar("F", bound=Callable[..., Any])


class EnvOption(click.Option):
    """An option with its environment variable, named after its longest spelling."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        longest = max((o for o in self.opts if o.startswith("--")), key=len, default="")
        if longest and self.envvar is None:
            self.envvar = "DFAH_" + longest.removeprefix("--").replace("-", "_").upper()
            self.show_envvar = False


def option(*declarations: str, **attributes: Any) -> Callable[[F], F]:
    """`click.option`, readable from the environment."""
    return click.option(*declarations, cls=EnvOption, **attributes)


class Whole(click.IntRange):
    """A whole number that every JSON reader can hold."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number. Raises: click.BadParameter, which names the option."""
        found: int = super().convert(value, param, ctx)
        if found > LARGEST:
            self.fail(f"{found} is more than {LARGEST}", param, ctx)
        return found


class Seed(click.types.IntParamType):
    """Any whole number of 64 bits, with a sign or without."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number. Raises: click.BadParameter, which names the option."""
        found: int = super().convert(value, param, ctx)
        if not -(2**63) <= found < 2**64:
            self.fail(f"{found} has more than 64 bits", param, ctx)
        return found


class Number(click.FloatRange):
    """A finite number: no bound of a range stops NaN."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number. Raises: click.BadParameter, which names the option."""
        found: float = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{value} is no finite number", param, ctx)
        return found


AS_JSON = option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
TRACEBACK = click.option(
    "--traceback",
    is_flag=True,
    envvar="DFAH_TRACEBACK",
    expose_value=False,
    is_eager=True,
    callback=lambda _context, _parameter, value: _remember_traceback(value),
    help="Show the traceback of an unexpected error.",
)
DEBUG_LOG = option(
    "--debug-log",
    metavar="FILE",
    default=None,
    help="Write the log, with the text of adapter errors, to FILE (outside the run directory).",
)
SUITE = option("--suite", metavar="NAME|FILE", default=None, help="Suite; without it, the one the agent is bound to.")
AGENT = option("--agent", metavar="REF", required=True, help="Adapter: pkg.module:name.")
BUDGET = option(
    "--budget-usd",
    type=Number(min=0, min_open=True),
    default=None,
    help="Stop before the recorded cost could pass this; needs --max-episode-cost-usd.",
)
EPISODE_COST = option(
    "--max-episode-cost-usd",
    type=Number(min=0, min_open=True),
    default=None,
    help="The most one episode can cost; reserved before each call.",
)
TIMEOUT = option(
    "--episode-timeout-s",
    type=Number(min=0, max=10_000_000, min_open=True),
    default=None,
    help="Time limit of one episode in seconds; part of the plan.",
)
REPORT_FILES = option(
    "-o",
    "--output",
    "outputs",
    metavar="FILE",
    multiple=True,
    help="Write the report: .html, .md, .json, .xml (JUnit). Repeatable.",
)


def policy_asked_for(name: str | None) -> GatePolicy | None:
    """The policy that `--policy` names; None without one, and then nothing that reads policies is imported.

    Raises: ConfigurationError.
    """
    if name is None:
        return None
    from dfah_cli.loading.policies import load_policy

    return load_policy(name)


def _remember_traceback(value: bool) -> bool:
    if value:
        import os

        os.environ["DFAH_TRACEBACK"] = "1"
    return value


def stacked(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Several options as one decorator, in reading order."""

    def apply(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return apply


COMMON = stacked(AS_JSON, TRACEBACK)
