"""docs/store-format.md is enough to write a reader from: the one beside this file decides as `dfah verify` does."""

from __future__ import annotations

import random
import tarfile
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from dfah_cli.errors import ArtifactError, DFAHError
from dfah_cli.evidence.claims import CheckStatus, Claim, Findings
from dfah_cli.execution.events import EpisodeFinished, Event
from dfah_cli.store import places
from dfah_cli.store.host import Host
from dfah_cli.store.log import LogStore
from dfah_cli.store.places import RunUrl, place_of
from dfah_cli.workflow.checking import check_run
from dfah_cli.workflow.copying import copy_run, pack_run
from dfah_cli.workflow.verification import verify_run
from tests.builders import ROOT, a_replay, a_scripted_agent, a_wire
from tests.docs import second_reader
from tests.docs.second_format import Refused
from tests.docs.second_reader import Get
from tests.docs.second_storage import in_storage
from tests.store.in_memory import object_storage
from tests.tamper.verify_runs import Bytes, a_finished_run, broken, forged

BOOT = Host().boot_id()
FROZEN = sorted((ROOT / "tests" / "frozen").glob("*.tar.xz"))
OTHER_PAGES = {Claim.METRICS, Claim.REPORT, Claim.GATE}
"""What rests on docs/metrics.md: the numbers and verdicts in the files that the log announces."""


def of(run: Path) -> Get:
    return lambda name: (run / name).read_bytes() if (run / name).is_file() else None


def read(get: Get, boot: str = BOOT) -> dict[str, Any]:
    try:
        return second_reader.read(get, boot)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as problem:
        raise Refused(type(problem).__name__) from None


def same(run: str | Path, get: Get) -> None:
    """Both readers find the same facts."""
    found = verify_run(run)
    assert not found.broken
    assert found.run is not None
    assert found.tail is not None
    told = {"episodes": found.run.episodes, "episode_root": found.run.episode_root, "log_n": found.tail.n}
    told |= {"log_root": found.tail.root, "sealed": found.tail.sealed, "plan": found.run.plan.sha256}
    facts = read(get)
    assert told | {"commitment": found.run.commitment} == {name: facts[name] for name in [*told, "commitment"]}


@pytest.mark.parametrize("packed", FROZEN, ids=lambda place: place.name)
def test_a_run_of_any_version_gives_the_same_facts(packed: Path, tmp_path: Path) -> None:
    with tarfile.open(packed) as tar:
        tar.extractall(tmp_path, filter="data")
    for run in ("candidate", "failures", "finished"):
        same(tmp_path / run, of(tmp_path / run))


@pytest.mark.parametrize("options", [{"schedule": "blocks"}, {"seed": -(2**63)}, {"seed": 2**64 - 1, "replays": 31}])
def test_the_page_says_how_slots_are_mixed(tmp_path: Path, options: dict[str, Any]) -> None:
    paths = {f"case {number}": [("Y", "T")] for number in range(45 if "schedule" in options else 3)}
    same(a_finished_run(tmp_path / "run", paths, gate=None, **options), of(tmp_path / "run"))


@pytest.mark.parametrize("cut", [1, 900, 4000, 5000])
def test_a_run_that_was_killed_and_resumed_gives_the_same_facts(tmp_path: Path, cut: int) -> None:
    agent, run = a_scripted_agent({"A": [("Y", "T")], "B": [("Y", "U")]}), tmp_path / "run"

    def stop(event: Event) -> None:
        if isinstance(event, EpisodeFinished) and len(agent.calls) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        a_replay(agent, run, observer=stop).record(agent)
    (segment,) = (run / "segments").iterdir()
    segment.write_bytes(segment.read_bytes()[:-cut])
    (run / "head").unlink()
    same(run, of(run))
    a_replay(agent, run, recover_stale_lease=True).record(agent)
    assert len(list((run / "segments").iterdir())) == 3
    same(run, of(run))


def raw(url: str) -> Get:
    place = place_of(url)
    assert isinstance(place, RunUrl)
    return places.bucket_of(place).get


@pytest.mark.parametrize("shards", [1, 3])
def test_a_run_in_an_object_storage_gives_the_same_facts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shards: int
) -> None:
    pytest.importorskip("obstore", reason="no obstore; run: python -m pip install 'dfah-cli[s3]'")
    object_storage(monkeypatch)
    url, agent = "s3://evidence/run", a_scripted_agent({"A": [("Y", "T"), ("N", "T")], "B": [("Y", "U")]})
    a_replay(agent, url, shards=shards).record(agent)
    same(url, in_storage(raw(url)))
    copy_run(url, tmp_path / "copy")
    same(tmp_path / "copy", of(tmp_path / "copy"))
    pack_run(url, remove_small=True)
    same(url, in_storage(raw(url)))
    copy_run(tmp_path / "copy", "s3://evidence/back")
    same("s3://evidence/back", in_storage(raw("s3://evidence/back")))


class There(Host):
    def __init__(self, boot: str) -> None:
        self._boot = boot

    def boot_id(self) -> str:
        return self._boot


def believed(files: dict[str, bytes], boot: str) -> bool:
    """Whether the program believes what both readers look at."""
    findings = Findings()
    faults: list[ArtifactError] = []
    try:
        reader = LogStore("run", fs=Bytes(files), host=There(boot)).open_reader()  # type: ignore[arg-type]
    except DFAHError:
        return False
    checked = check_run(reader, records=reader.records(faults), faults=faults, findings=findings)
    broken = {check.claim for check in checked.checks if check.status is CheckStatus.FAIL}
    return not broken - OTHER_PAGES and not faults


def damaged(files: dict[str, bytes], chance: random.Random) -> dict[str, bytes]:
    """One file flipped in a bit, cut, wiped from somewhere on, or without a block."""
    name = chance.choice([*sorted(files), *["segments/00000000.jsonl"] * 4])
    payload = files[name]
    at, block = chance.randrange(len(payload)), 4096 * chance.randrange(1 + len(payload) // 4096)
    return files | {
        name: chance.choice(
            [
                payload[:at] + bytes([payload[at] ^ 1 << chance.randrange(8)]) + payload[at + 1 :],
                payload[:at],
                payload[:at] + bytes(len(payload[at : at + 4096])) + payload[at + 4096 :],
                payload[:block] + bytes(len(payload[block : block + 4096])) + payload[block + 4096 :],
                payload + payload[-4096:],
            ]
        )
    }


def disagreements(folder: Path, seed: int, times: int) -> list[str]:
    run = a_finished_run(folder / "run")
    whole = {str(place.relative_to(run)): place.read_bytes() for place in run.rglob("*") if place.is_file()}
    whole.pop("writer.guard")
    # As a kill leaves it, before anything was stated.
    unstated = {name: whole[name] for name in ("plan.json", "manifest.json", "segments/00000000.jsonl")}
    chance, found = random.Random(seed), []
    for number in range(times):
        boot, files = chance.choice([BOOT, "another"]), damaged(chance.choice([whole, unstated]), chance)
        try:
            read(files.get, boot)
            refused = None
        except Refused as problem:
            refused = str(problem)
        if believed(files, boot) != (refused is None):
            found.append(f"{number}: {refused}")
    return found


def test_both_readers_refuse_the_same_damage(tmp_path: Path) -> None:
    assert disagreements(tmp_path, 1, 150) == []


def places_in(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, item in inner for found in [(*place, key), *places_in(item, (*place, key))]]


def changed(record: dict[str, Any], place: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """A copy with another value there, or without the field where the value is `...`."""
    copy = deepcopy(record)
    holder = copy
    for key in place[:-1]:
        holder = holder[key]
    if value is ...:
        del holder[place[-1]]
    else:
        holder[place[-1]] = value
    return copy


VALUES = (
    *(..., None, 0, 1, -1, True, False, "", "x", [], {}, 2**53 - 1, "{}", "Y", "y", "0" * 64),
    *("valid", "interrupted", "contract_error", "observed_empty", "executed", "error", "2026-01-31T09:00:00.000001Z"),
)


Body = dict[str, Any]
Forgery = tuple[Path, Body, Body]


def forgeries(folder: Path) -> list[Forgery]:
    """A run with the one of its records to exchange, and what for."""

    def failing(*_: Any) -> Any:
        raise RuntimeError("no answer")

    def lying(_: Any, context: Any) -> Any:
        return agent.result(context, wire_request=a_wire(model="another"))

    agent = a_scripted_agent({"A": [("Y", "T U")], "E": [("Y", "k=1"), failing, lying]})
    a_replay(agent, folder / "run", replays=3, capture_tool_arguments=True).run(agent)
    records = [dict(body) for _, body in LogStore(folder / "run").open_reader().records()]
    told = [body for body in records if body["t"] not in ("segment", "report", "close")]
    kinds = {(body["t"], body.get("status")): body for body in told}
    assert {status for _, status in kinds} == {None, "valid", "provider_error", "contract_error"}
    every = ((one, changed(one, at, value)) for one in kinds.values() for at in places_in(one) for value in VALUES)
    return [(folder / "run", one, other) for one, other in every if other != one and other.get("t") == one["t"]]


def judged_alike(run: Path, out: Path, one: Body, other: Body) -> bool:
    """Whether both readers decide the same of a run with the record exchanged and every digest made right again."""

    def exchange(body: Body) -> Body | None:
        return None if body["t"] == "report" else other if body == one else body

    try:
        forged(run, out, body=exchange)
    except (DFAHError, AttributeError, KeyError, TypeError, ValueError):
        return True  # it cannot even be forged
    believed = not broken(out) - OTHER_PAGES
    try:
        read(of(out))
    except Refused:
        return not believed
    return believed


def judged_apart(found: Sequence[Forgery], folder: Path) -> list[Body]:
    numbered = enumerate(found)
    return [other for number, (run, one, other) in numbered if not judged_alike(run, folder / str(number), one, other)]


def test_both_readers_refuse_the_same_forged_records(tmp_path: Path) -> None:
    assert judged_apart(random.Random(3).sample(forgeries(tmp_path), 60), tmp_path) == []


@pytest.mark.soak
def test_both_readers_refuse_every_forged_record(tmp_path: Path) -> None:
    found = forgeries(tmp_path)
    assert len(found) > 2000
    assert judged_apart(found, tmp_path) == []


@pytest.mark.soak
def test_both_readers_refuse_the_same_damage_for_a_long_time(tmp_path: Path) -> None:
    assert disagreements(tmp_path, 2, 6000) == []
