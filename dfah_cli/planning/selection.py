"""Which cases of a suite are run."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from dfah_cli.errors import ConfigurationError
from dfah_cli.records.case import Case


def sample(cases: Sequence[Case], rate: float, seed: int) -> tuple[Case, ...]:
    """A seeded share of the cases, in suite order; at least one, `round(n * rate)` of n otherwise."""
    if rate == 1.0:
        return tuple(cases)
    size = max(1, round(len(cases) * rate))
    drawn = sorted(Random(seed).sample(range(len(cases)), size))
    return tuple(cases[index] for index in drawn)


def select(cases: Sequence[Case], only: Sequence[str] = (), limit: int | None = None) -> tuple[Case, ...]:
    """The cases with these pseudonyms (all when none are named), cut after `limit`; suite order.

    Raises: ConfigurationError for an id that no case has; a raw id is accepted where it names one case.
    """
    chosen = tuple(cases)
    if only:
        known = {case.effective_case_id for case in cases} | {case.case_id for case in cases}
        unknown = [one for one in only if one not in known]
        if unknown:
            raise ConfigurationError(
                f"no case {unknown[0]!r} in the selected suite; list them with: dfah suites show NAME"
            )
        wanted = set(only)
        chosen = tuple(case for case in cases if case.effective_case_id in wanted or case.case_id in wanted)
    return chosen if limit is None else chosen[:limit]
