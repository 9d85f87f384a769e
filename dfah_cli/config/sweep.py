"""The jobs of a sweep: every combination of the values of its overrides, in the order they were written."""

from __future__ import annotations

import itertools

from attrs import frozen
from hydra.core.override_parser.types import Override

from dfah_cli.config.groups import GROUPS
from dfah_cli.config.overrides import LAUNCHING, alternatives
from dfah_cli.errors import ConfigurationError

MAX_JOBS = 10_000


@frozen
class SweepJob:
    """One job. overrides: what Hydra is given. varied: of these, the ones that differ between jobs, as written."""

    overrides: tuple[str, ...]
    varied: tuple[tuple[str, str], ...]

    @property
    def label(self) -> str:
        """The varied overrides in one line."""
        return " ".join(f"{key}={value}" for key, value in self.varied)


def sweep_jobs(overrides: list[Override]) -> list[SweepJob]:
    """The jobs of a sweep.

    Raises: ConfigurationError when there are none, or more than MAX_JOBS.
    """
    own = [override for override in overrides if not override.key_or_group.startswith(LAUNCHING)]
    choices = [alternatives(override) for override in own]
    total = 1
    for override, choice in zip(own, choices, strict=True):
        if not choice:
            raise ConfigurationError(f"command line ({override.input_line}): no {what_of(override)} matches")
        total *= len(choice)
    if total > MAX_JOBS:
        raise ConfigurationError(f"the sweep has {total} jobs; at most {MAX_JOBS} are run at once")
    varied = [index for index, choice in enumerate(choices) if len(choice) > 1]
    return [
        SweepJob(tuple(combination), tuple(_split(combination[index]) for index in varied))
        for combination in itertools.product(*choices)
    ]


def what_of(override: Override) -> str:
    """What the values of an override are called."""
    return override.key_or_group if override.key_or_group in GROUPS else "value"


def _split(text: str) -> tuple[str, str]:
    key, _, value = text.removeprefix("++").partition("=")
    return key, value
