"""Where the episodes of a command run: options that every command shares which calls an agent for a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from dfah_cli.cli.options import Number, Whole, option, stacked

PLACEMENT = stacked(
    option(
        "--isolation",
        type=click.Choice(["process", "fresh"]),
        default=None,
        help="Episodes in worker processes; fresh: a new one for each.",
    ),
    option("--worker-memory-mb", type=Whole(min=16), default=None, help="Memory of a worker process, MiB."),
    option(
        "--engine",
        type=click.Choice(["local", "ray"]),
        default="local",
        show_default=True,
        help="Where episodes run: on this machine, or in workers of a Ray cluster (docs/engines.md).",
    ),
    option("--engine-address", metavar="ADDRESS", default=None,
           help="auto, HOST:PORT or ray://HOST:PORT; by default a cluster of this machine's for the run."),
    option("--engine-workers", type=Whole(min=1), default=None, help="Workers of the cluster, at most."),
    option("--engine-episodes-per-worker", type=Whole(min=1, max=10_000), default=None,
           help="Episodes in flight in one worker; 1 when not given."),
    option("--engine-cpus-per-episode", type=Number(min=0), default=None,
           help="Processors the cluster sets aside for an episode in flight; 1 when not given."),
)  # fmt: skip

# Option -> key of the engine.
ENGINE_KEYS = {
    "engine_address": "address",
    "engine_workers": "workers",
    "engine_episodes_per_worker": "episodes_per_worker",
    "engine_cpus_per_episode": "cpus_per_episode",
}


def placed(given: Mapping[str, Any]) -> dict[str, Any]:
    """The same values with the engine in the place of its options."""
    from dfah_cli.records.engine import Engine

    keys = {key: given[name] for name, key in ENGINE_KEYS.items() if given[name] is not None}
    rest = {name: value for name, value in given.items() if name not in ENGINE_KEYS}
    return {**rest, "engine": Engine(name=given["engine"], **keys)}
