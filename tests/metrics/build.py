"""Short notation for replay groups: `("Y", "T k=x")` is decision Y after tool T and tool k with argument x."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dfah_cli.metrics.partial_order import Parallel
from dfah_cli.metrics.paths import Step
from dfah_cli.metrics.table import EpisodeTable, TableBuilder

Replay = tuple[str | None, str | None]


def steps(text: str) -> list[Step]:
    """`name`, `name=argument`, `name=argument>output`; every step of a path written without a hash has one."""
    return [_step(word) for word in text.split()]


def _step(word: str) -> Step:
    name, _, rest = word.partition("=")
    argument, _, output = rest.partition(">")
    return Step(name, argument or "none", output or "ok")


def a_table(
    groups: Mapping[tuple[str, str], Sequence[Replay]],
    *,
    status: Mapping[tuple[str, int], str] | None = None,
    keep_examples: bool = False,
    parallel: Sequence[Sequence[str]] = (),
) -> EpisodeTable:
    """A table of the given groups; `status` overrides `valid` at (case id, replay)."""
    builder = TableBuilder(
        list(groups), keep_examples=keep_examples, parallel=Parallel.of(parallel) if parallel else None
    )
    for index, (key, replays) in enumerate(groups.items()):
        for replay, (decision, path) in enumerate(replays):
            add(builder, index, replay, decision, path, (status or {}).get((key[1], replay), "valid"))
    return builder.build()


def add(
    builder: TableBuilder,
    group: int,
    replay: int,
    decision: str | None,
    path: str | None,
    status: str = "valid",
) -> None:
    ids = None if path is None else builder.paths.intern(steps(path))
    builder.add(group, replay, status, decision, ids, "f" * 64, None, 100, 1000)
