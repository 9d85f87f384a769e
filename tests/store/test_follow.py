"""A follower sees what a reader sees, however the bytes arrive."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dfah_cli.errors import ArtifactError
from dfah_cli.store import layout
from dfah_cli.store.follow import LogFollower
from dfah_cli.store.log import LogStore
from tests.builders import a_scripted_agent, replayed

SIZES = st.lists(st.integers(1, 9000), min_size=1, max_size=6)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of two segments."""
    out = tmp_path_factory.mktemp("follow") / "run"
    replayed(a_scripted_agent({name: [("Y", "T U")] * 2 for name in "ABC"}), out)
    assert len(list((out / layout.SEGMENTS).iterdir())) > 1
    return out


def bodies(run: Path) -> list[Any]:
    return [body for _, body in LogStore(run).open_reader().records()]


def started(run: Path, place: Path) -> Path:
    """A copy that has no log yet."""
    place.mkdir(parents=True)
    (place / layout.SEGMENTS).mkdir()
    for name in (layout.PLAN, layout.MANIFEST):
        shutil.copy(run / name, place / name)
    return place


def grow(run: Path, place: Path, sizes: list[int]) -> Iterator[None]:
    """The log arrives in pieces of these sizes."""
    pieces = cycle(sizes)
    for segment in sorted((run / layout.SEGMENTS).iterdir()):
        payload, at = segment.read_bytes(), 0
        target = place / layout.SEGMENTS / segment.name
        while at < len(payload):
            at += next(pieces)
            # A writer makes a segment with its header in it, never an empty one.
            target.write_bytes(payload[: max(at, 4096)])
            yield


@given(sizes=SIZES)
@settings(max_examples=25)
def test_whatever_the_pieces_each_record_is_given_once_and_in_order(
    run: Path, tmp_path_factory: pytest.TempPathFactory, sizes: list[int]
) -> None:
    place = started(run, tmp_path_factory.mktemp("grown") / "run")
    follower = LogFollower(str(place))
    found = list(follower.poll())
    assert found == []
    for _ in grow(run, place, [size + 400 for size in sizes]):
        found += follower.poll()
    follower.close()
    assert found == bodies(run)


def test_what_is_torn_is_not_given_and_what_replaces_it_is(run: Path, tmp_path: Path) -> None:
    place = started(run, tmp_path / "run")
    payload = (run / layout.SEGMENTS / "00000000.jsonl").read_bytes()
    target = place / layout.SEGMENTS / "00000000.jsonl"
    follower = LogFollower(str(place))
    target.write_bytes(payload[:4096] + b'{"h":"torn')
    first = list(follower.poll())
    assert list(follower.poll()) == []
    target.write_bytes(payload)
    whole = payload.count(b'{"h":') - payload.count(b'"t":"commit"')
    assert first + list(follower.poll()) == bodies(run)[:whole]


def test_a_look_without_news_reads_next_to_nothing(run: Path) -> None:
    follower = LogFollower(str(run))
    assert len(list(follower.poll())) == len(bodies(run))
    read = []
    inner = follower._files.fs.read
    follower._files.fs.read = lambda file, size, at: read.append(len(inner(file, size, at))) or inner(file, size, at)  # type: ignore[method-assign,func-returns-value]
    assert list(follower.poll()) == []
    assert sum(read) == 0


def test_a_directory_without_a_plan_cannot_be_followed(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError):
        LogFollower(str(tmp_path))


def test_a_segment_that_is_cut_short_is_told(run: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(run, tmp_path / "copy"))
    segment = copy / layout.SEGMENTS / "00000000.jsonl"
    segment.write_bytes(segment.read_bytes()[:-4096])
    with pytest.raises(ArtifactError, match="shorter"):
        list(LogFollower(str(copy)).poll())
