"""What the public constructor is given, checked: each value, or a ConfigurationError that names the argument."""

from __future__ import annotations

from pathlib import Path

from dfah_cli.errors import ConfigurationError
from dfah_cli.records.enums import ReplayMode
from dfah_cli.records.money import budget_nusd, reservation_nusd
from dfah_cli.records.policy import GatePolicy
from dfah_cli.store.places import RunUrl, place_of

MAX_CONCURRENCY = 10_000
MAX_SHARDS = 9000


def mode_of(mode: ReplayMode | str) -> ReplayMode:
    """The mode of that name."""
    try:
        return ReplayMode(mode)
    except ValueError:
        raise ConfigurationError(f"mode: found {mode!r}; expected shadow or blocking") from None


def policy_of(gate: GatePolicy | None, mode: ReplayMode) -> GatePolicy | None:
    """The policy, which blocking needs."""
    if gate is not None and not isinstance(gate, GatePolicy):
        raise ConfigurationError(f"gate: found {type(gate).__name__}; expected a GatePolicy")
    if gate is None and mode is ReplayMode.BLOCKING:
        raise ConfigurationError("mode: blocking needs a gate; pass a GatePolicy, or use shadow")
    return gate


def whole(name: str, value: int, most: int = MAX_CONCURRENCY) -> int:
    """A number of episodes in flight, or of logs."""
    if type(value) is not int or not 1 <= value <= most:
        raise ConfigurationError(f"{name}: expected a whole number from 1 to {most}")
    return value


def place(name: str, value: str | Path | RunUrl) -> Path | RunUrl:
    """A directory, or a URL of an object storage."""
    if not isinstance(value, str | Path | RunUrl):
        raise ConfigurationError(f"{name}: found {type(value).__name__}; expected a path")
    return place_of(value)


def flag(name: str, value: bool) -> bool:
    """True or False."""
    if type(value) is not bool:
        raise ConfigurationError(f"{name}: found {type(value).__name__}; expected true or false")
    return value


def money(budget: float | None, estimate: float | None) -> dict[str, int]:
    """Budget and estimate in nano-dollars, where given."""
    amounts: dict[str, int] = {}
    for name, value, key, rounded in (
        ("budget_usd", budget, "budget_nusd", budget_nusd),
        ("estimated_max_episode_cost_usd", estimate, "estimate_nusd", reservation_nusd),
    ):
        if value is None:
            continue
        if type(value) not in (int, float) or not 0 < value <= 9_000_000:
            raise ConfigurationError(f"{name}: expected a number of dollars above 0 and at most 9000000")
        amounts[key] = rounded(float(value))
    if "budget_nusd" in amounts and "estimate_nusd" not in amounts:
        raise ConfigurationError(
            "budget_usd: needs estimated_max_episode_cost_usd (--max-episode-cost-usd), to know how many episodes it "
            "admits"
        )
    return amounts
