"""The runs below a directory, told cheaply: from plans, checkpoints and statements, without verifying anything."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

from attrs import frozen

from dfah_cli.canonical import parse
from dfah_cli.errors import ArtifactError, ConfigurationError, DFAHError
from dfah_cli.planning.plan import plan_from_bytes
from dfah_cli.records.codec import record
from dfah_cli.store import layout
from dfah_cli.store.occupancy import Occupancy
from dfah_cli.store.opening import held, open_store
from dfah_cli.store.places import Place, RunUrl, bucket_of, names_in, place_of

MAX_DEPTH = 4
HEAD_BYTES = 1 << 14
TAIL_BYTES = 1 << 18
_EPISODE = b'"t":"episode"'
_COST = re.compile(rb'"cost_nusd":(\d+)')
_COLUMN = re.compile(rb'^  "(status|dar|total_cost_nusd)": ("?[a-z0-9.]+"?),?$', re.M)


@frozen(kw_only=True)
class Listed:
    """One run as it looks. Nothing here is verified; None where it is not known.

    state: sealed, running, stale lease, unfinished, damaged. cost_nusd: of all recorded episodes.
    """

    path: Place
    suite: str | None = None
    state: str
    status: str | None = None
    episodes: int | None = None
    planned: int | None = None
    cost_nusd: int | None = None
    dar: float | None = None
    verdict: str | None = None
    changed_at: datetime
    why: str | None = None


def list_runs(root: str | Place) -> Iterator[Listed]:
    """Every run below a directory, sorted by path; the directory itself may be one.

    Raises: ConfigurationError when there is no such directory.
    """
    return map(look, run_directories(root))


def run_directories(root: str | Place) -> Iterator[Place]:
    """The same as paths alone.

    Raises: ConfigurationError when there is no such directory.
    """
    place = place_of(root)
    if isinstance(place, RunUrl):
        return _runs_below(place, MAX_DEPTH)
    if not place.is_dir():
        raise ConfigurationError(f"{place}: no such directory; runs are made by: dfah run --agent REF")
    return _run_directories(place, MAX_DEPTH)


def state_of(place: Place) -> str:
    """Who holds a run, or how it was left: sealed, running, held elsewhere, stale lease, unfinished.

    Raises: StorageError.
    """
    return _state(held(place).occupancy, (place / layout.SEAL).is_file())


def _run_directories(place: Path, depth: int) -> Iterator[Path]:
    try:
        with os.scandir(place) as entries:
            inside = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    names = {entry.name for entry in inside}
    if layout.PLAN in names or layout.GUARD in names:
        yield place
    elif depth:
        for entry in inside:
            if entry.is_dir(follow_symlinks=False):
                yield from _run_directories(place / entry.name, depth - 1)


def _runs_below(place: RunUrl, depth: int) -> Iterator[RunUrl]:
    folders, objects = bucket_of(place).names()
    if layout.PLAN in objects:
        yield place
    elif depth:
        for folder in folders:
            yield from _runs_below(place / folder, depth - 1)


def look(place: Place) -> Listed:
    """One run as it looks; a damaged one too."""
    changed = _changed(place)
    try:
        return Listed(path=place, changed_at=changed, **_facts(place))
    except (DFAHError, OSError) as problem:
        return Listed(path=place, changed_at=changed, state="damaged", why=str(problem))


def _facts(place: Place) -> dict[str, Any]:
    # Opening a FIFO would wait for a writer.
    if isinstance(place, Path) and not (place / layout.PLAN).is_file():
        raise ArtifactError(f"{layout.PLAN}: no regular file")
    plan = plan_from_bytes((place / layout.PLAN).read_bytes())
    sealed = (place / layout.SEAL).is_file()
    facts: dict[str, Any] = {
        "suite": f"{plan.suite_id} {plan.suite_version}",
        "planned": plan.episodes_planned,
        "state": state_of(place),
        "verdict": verdict_of(place),
    }
    stated = _newest(place / layout.REPORTS)
    columns = {} if stated is None else _columns(stated)
    facts |= {"status": columns.get("status"), "dar": columns.get("dar")}
    if sealed and columns:
        return facts | {"episodes": plan.episodes_planned, "cost_nusd": columns.get("total_cost_nusd")}
    episodes, cost = _count(place / layout.SEGMENTS) if isinstance(place, Path) else _counted(place)
    return facts | {"episodes": episodes, "cost_nusd": cost}


def _state(held: Occupancy, sealed: bool) -> str:
    if held is Occupancy.WRITING:
        return "running"
    if held is Occupancy.UNKNOWN:
        return "held elsewhere"
    if held in (Occupancy.STALE, Occupancy.UNREADABLE):
        return "stale lease"
    return "sealed" if sealed else "unfinished"


def _newest(part: Place) -> Place | None:
    stems = [name.removesuffix(".json") for name in names_in(part) if name.endswith(".json")]
    ordinals = [int(stem) for stem in stems if stem.isdigit()]
    return part / layout.statement_name(max(ordinals)) if ordinals else None


def _columns(report: Place) -> dict[str, Any]:
    """Three columns of a report, which stand one a line, before and behind its long lists."""
    with BytesIO(report.read_bytes()) if isinstance(report, RunUrl) else report.open("rb") as file:
        text = file.read(HEAD_BYTES)
        size = file.seek(0, os.SEEK_END)
        file.seek(max(len(text), size - TAIL_BYTES))
        text += file.read()
    return {name.decode(): parse(value) for name, value in _COLUMN.findall(text)}


def verdict_of(place: Place) -> str | None:
    """Verdict of the newest gate record; None without one."""
    newest = _newest(place / layout.GATES)
    if newest is None:
        return None
    # Only a run with a verdict is told with what judges one, which brings numpy.
    from dfah_cli.gate.record import GateRecord

    return str(record(GateRecord, parse(newest.read_bytes(), newest.name)).result.verdict)


def _count(segments: Path) -> tuple[int, int]:
    """Terminal records and their cost, counted in the bytes; a repeated record of a torn batch counts twice."""
    episodes = cost = 0
    for file in sorted(file for file in segments.glob("*.jsonl") if file.is_file()):
        with file.open("rb") as lines:
            for line in lines:
                if _EPISODE in line:
                    episodes += 1
                    cost += sum(map(int, _COST.findall(line)))
    return episodes, cost


def _counted(place: RunUrl) -> tuple[int, int]:
    """The same for a run in an object storage, from its records."""
    costs = [
        body.get("cost_nusd") or 0 for _, body in open_store(place).open_reader().records() if body["t"] == "episode"
    ]
    return len(costs), sum(costs)


def _changed(place: Place) -> datetime:
    if isinstance(place, RunUrl):
        return place.modified() or datetime.fromtimestamp(0.0, UTC)
    newest = max((file.stat().st_mtime for file in (place, *place.glob("segments/*"))), default=0.0)
    return datetime.fromtimestamp(newest, UTC)
