"""What runs the episodes of a run. Operational: no part of a run's identity."""

from __future__ import annotations

import math
from typing import Any

import attrs
from attrs import Attribute, field, frozen

from dfah_cli.errors import ConfigurationError
from dfah_cli.records import fields

ENGINES = ("local", "ray")


def _amounts(instance: Any, attribute: Attribute[Any], value: Any) -> None:
    fields.json_map(instance, attribute, value)
    for name, amount in value.items():
        if type(amount) not in (int, float) or not 0 < amount <= 1_000_000:
            raise fields.refuse(instance, attribute, f"no amount for {name}", "numbers above 0")


@frozen(kw_only=True)
class Engine:
    """Which engine, and what a cluster is asked for.

    address: of a running cluster; None for one that is started for the run and ended with it. workers: None for as
    many as the concurrency needs. episodes_per_worker: how many a worker has in flight at once.
    cpus_per_episode, resources_per_episode: what the cluster sets aside for each of them. cpus: what a cluster
    started for the run offers; None for those of the machine. runtime_env: environment of the workers, as the cluster
    understands it. start_timeout_s: how long no worker at all may be there.
    """

    name: str = field(default="local", validator=fields.one_of(*ENGINES))
    address: str | None = field(default=None, validator=fields.optional(fields.name))
    workers: int | None = field(default=None, validator=fields.optional(fields.integer(1)))
    episodes_per_worker: int = field(default=1, validator=fields.integer(1, 10_000))
    cpus_per_episode: float = field(default=1.0, converter=fields.to_float, validator=fields.real(0.0))
    resources_per_episode: dict[str, Any] = field(factory=dict, converter=fields.to_json, validator=_amounts)
    cpus: int | None = field(default=None, validator=fields.optional(fields.integer(1)))
    # Not in a repr: it may set variables that are nobody's business.
    runtime_env: dict[str, Any] = field(factory=dict, converter=fields.to_json, validator=fields.json_map, repr=False)
    start_timeout_s: float = field(default=300.0, converter=fields.to_float, validator=fields.real(0.0, above=True))

    def __attrs_post_init__(self) -> None:
        if self.name == "local":
            _check_usual(self)
        if self.address is not None and self.cpus is not None:
            raise ConfigurationError("engine.cpus is for a cluster started for the run; leave it out with an address")

    def workers_for(self, episodes: int) -> int:
        """How many workers that many episodes in flight need, at most as many as asked for."""
        needed = math.ceil(episodes / self.episodes_per_worker)
        return needed if self.workers is None else min(needed, self.workers)

    @property
    def cpus_per_worker(self) -> float:
        """What a worker takes of the cluster's processors."""
        return whole_above_one(self.episodes_per_worker * self.cpus_per_episode)

    @property
    def resources_per_worker(self) -> dict[str, float]:
        """What a worker takes of other resources."""
        amounts = self.resources_per_episode.items()
        return {name: whole_above_one(self.episodes_per_worker * amount) for name, amount in amounts}


def _check_usual(engine: Engine) -> None:
    """Nothing, when no key was set that only a cluster looks at."""
    for one in attrs.fields(Engine):
        usual: Any = one.default
        # A factory makes an empty mapping.
        if getattr(engine, one.name) != ({} if isinstance(usual, attrs.Factory) else usual):  # type: ignore[arg-type]
            raise ConfigurationError(f"engine.{one.name} needs engine=ray; leave it out for engine=local")


def whole_above_one(amount: float) -> float:
    """The amount as a cluster takes it: parts of one, or whole ones."""
    return math.ceil(amount) if amount > 1 else round(amount, 4)
