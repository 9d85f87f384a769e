"""What episodes and tool calls took, as histograms: one pass over a run, in memory that does not grow with it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from dfah_cli.metrics.histogram import Counting, Histogram
from dfah_cli.records.codec import plain
from dfah_cli.records.episode import Episode
from dfah_cli.report import words
from dfah_cli.workflow.analyze import episodes

WIDTH = 32


@frozen(kw_only=True)
class Distribution:
    """of: `latency_us` or `cost_nusd`. kind: episode, model or tool; name: which one, None for all."""

    of: str
    kind: str
    name: str | None
    histogram: Histogram


SPELLED = {"latency_us": words.duration, "cost_nusd": words.money}


def distributions(run: str | Path) -> tuple[Distribution, ...]:
    """Latency and cost of the episodes, together and by served model where it was recorded, and latency by tool.

    The caller has verified the run.
    """
    return told(episodes(run))


def told(made: Iterable[Episode]) -> tuple[Distribution, ...]:
    """The distributions of episodes. Costs of 0 are left out: they mean that no cost was told."""
    counted: dict[tuple[str, str, str | None], Counting] = defaultdict(Counting)
    for episode in made:
        for key, value in _values(episode):
            counted[key].add(value)
    models = {name for _, kind, name in counted if kind == "model"}
    found = []
    for of, kind, name in sorted(counted, key=lambda key: (key[0] != "latency_us", key[1] != "episode", str(key))):
        histogram = counted[of, kind, name].histogram()
        # One model only says the same again.
        if histogram is not None and not (kind == "model" and len(models) < 2):
            found.append(Distribution(of=of, kind=kind, name=name, histogram=histogram))
    return tuple(found)


def _values(episode: Episode) -> Iterator[tuple[tuple[str, str, str | None], int]]:
    served = episode.usage.provider_usage.get("served_models")
    models = [str(name) for name in served] if isinstance(served, list) and len(served) == 1 else []
    for kind, name in (("episode", None), *(("model", name) for name in models)):
        yield ("latency_us", kind, name), episode.latency_us
        if episode.cost_nusd:
            yield ("cost_nusd", kind, name), episode.cost_nusd
    for call in episode.trajectory.tool_calls:
        if call.latency_ms is not None:
            yield ("latency_us", "tool", call.name), round(call.latency_ms * 1000)


def document(found: Sequence[Distribution]) -> list[dict[str, Any]]:
    """The distributions as JSON."""
    return [dict(plain(one)) for one in found]


def facts(found: Sequence[Distribution]) -> Iterator[dict[str, object]]:
    """Each distribution as the facts of one line; whole microseconds or nano-dollars, bins as `low-high:count`."""
    for one in found:
        drawn = one.histogram
        yield {
            "distribution": one.of,
            "kind": one.kind,
            "name": one.name,
            "count": drawn.count,
            "least": drawn.least,
            "half_below": drawn.half_below,
            "most_below": drawn.most_below,
            "largest": drawn.largest,
            "bins": ",".join(f"{part.low}-{part.high}:{part.count}" for part in drawn.bins),
        }


def lines(found: Sequence[Distribution], full: str = "█") -> Iterator[str]:
    """The distributions as text: a heading for each, and a bar for each bin."""
    for one in found:
        spell, drawn = SPELLED[one.of], one.histogram
        what = {"latency_us": "time", "cost_nusd": "cost"}[one.of]
        whose = one.kind if one.name is None else f"{one.kind} {one.name}"
        yield (
            f"{what} of {words.count(drawn.count, 'call' if one.kind == 'tool' else 'episode')} ({whose}): "
            f"half below {spell(drawn.half_below)}, 95 % below {spell(drawn.most_below)}, "
            f"largest {spell(drawn.largest)}"
        )
        most = max(part.count for part in drawn.bins)
        for part in drawn.bins:
            bar = full * max(1, round(WIDTH * part.count / most)) if part.count else ""
            yield f"  {spell(part.low):>10} – {spell(part.high):<10} {part.count:>7}  {bar}".rstrip()
