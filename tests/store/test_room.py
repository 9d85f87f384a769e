"""Room beyond the end of a segment is a hint: no reader sees it, and it is given back."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from dfah_cli.store.appender import ROOM
from dfah_cli.store.room import give_back, make_room
from tests.contract.store_contract import an_episode, an_intent, planned
from tests.store.test_run_directory import open_at


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can do that")
def test_room_changes_no_size_and_is_given_back(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb", buffering=0) as file:
        file.write(b"x" * 5000)
        make_room(file.fileno(), ROOM)
        found = os.fstat(file.fileno())
        if found.st_blocks * 512 < ROOM:
            pytest.skip("the file system of the temporary directory has no such call")
        assert found.st_size == 5000
        give_back(file.fileno())
        found = os.fstat(file.fileno())
    assert (found.st_size, found.st_blocks * 512 < ROOM) == (5000, True)
    assert (tmp_path / "file").read_bytes() == b"x" * 5000


def test_what_cannot_be_had_is_done_without(tmp_path: Path) -> None:
    make_room(-1, ROOM)
    give_back(-1)
    with (tmp_path / "file").open("wb") as file:
        make_room(file.fileno(), 2**62)
        give_back(file.fileno())


def test_a_closed_run_holds_no_room(tmp_path: Path) -> None:
    with open_at(tmp_path / "run") as writer:
        for slot in range(3):
            asyncio.run(writer.commit([*([planned(0, 4)] if slot == 0 else []), an_intent(slot)]))
            asyncio.run(writer.commit([an_episode(slot)]))
        segment = next((tmp_path / "run" / "segments").iterdir())
        assert segment.stat().st_size % 4096 == 0
    assert segment.stat().st_blocks * 512 <= segment.stat().st_size + 8192
