"""Run directories as they are met: other modes, links, copies, read-only media, a live writer, many segments."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import stat
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import pytest

from dfah_cli import merkle
from dfah_cli.errors import ArtifactError, ConfigurationError, StorageError
from dfah_cli.store import layout
from dfah_cli.store.log import LogStore, open_reader, open_writer, peek_plan
from dfah_cli.store.protocol import RunWriter
from dfah_cli.store.safe_io import PosixFiles
from tests.contract.store_contract import (
    MANIFEST,
    a_plan,
    a_report,
    an_episode,
    an_intent,
    fixed_clock,
    planned,
)


def open_at(run: Path, episodes: int = 4, concurrency: int = 1) -> RunWriter:
    return open_writer(
        run, plan_bytes=a_plan(episodes), manifest_bytes=MANIFEST, clock=fixed_clock, concurrency=concurrency
    )


def finish(run: Path, episodes: int = 4) -> None:
    with open_at(run, episodes) as writer:
        writer.commit_now([planned(0, episodes), *(an_intent(i) for i in range(episodes))])
        writer.commit_now([an_episode(0, trajectory={"steps": ["x" * 60] * 6000})])
        for slot in range(1, episodes):
            writer.commit_now([an_episode(slot)])
        found = [(b["case_id"], b["replay_index"], h) for h, b in writer.reader().records() if b["t"] == "episode"]
        root = merkle.episode_root(found)
        commitment = merkle.commitment(
            episodes=episodes, episode_root=root, plan_sha256=sha256(a_plan(episodes)).hexdigest()
        )
        writer.publish_report(b'{"report":1}', a_report(commitment))
        writer.seal(episodes=episodes, episode_root=root, commitment=commitment)
        writer.publish_gate(b"{}", {"report": 1, "policy_sha256": "0" * 64, "verdict": "PASS", "attempt": 1})


@pytest.fixture
def run(tmp_path: Path) -> Path:
    finish(tmp_path / "run")
    return tmp_path / "run"


def reading(run: Path) -> tuple[list[tuple[str, object]], bytes]:
    reader = open_reader(run, sync=True)
    records = list(reader.records())
    assert reader.tail().sealed
    return records, reader.report(1)


def everything(run: Path) -> dict[str, bytes]:
    return {str(path.relative_to(run)): path.read_bytes() for path in run.rglob("*") if path.is_file()}


# modes and links


@contextmanager
def umask(bits: int) -> Iterator[None]:
    before = os.umask(bits)
    try:
        yield
    finally:
        os.umask(before)


@pytest.mark.parametrize("bits", [0o000, 0o022, 0o777])
def test_everything_is_owner_only_whatever_the_umask(tmp_path: Path, bits: int) -> None:
    with umask(bits):
        finish(tmp_path / "deep" / "run")
    for path in [tmp_path / "deep", *(tmp_path / "deep").rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_a_directory_open_to_others_is_refused_and_not_changed(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir(mode=0o755)
    run.chmod(0o755)
    with pytest.raises(ConfigurationError, match="chmod"):
        open_at(run)
    assert list(run.iterdir()) == []
    assert stat.S_IMODE(run.stat().st_mode) == 0o755


@pytest.mark.parametrize("name", ["plan.json", "segments", "segments/00000000.jsonl", "head", "writer.guard"])
def test_a_link_in_the_place_of_a_file_is_not_followed(run: Path, tmp_path: Path, name: str) -> None:
    moved = tmp_path / "moved"
    (run / name).rename(moved)
    (run / name).symlink_to(moved)
    with pytest.raises((ArtifactError, StorageError, ConfigurationError)):
        open_at(run)


def test_a_foreign_directory_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    results = tmp_path / "results"
    results.mkdir(mode=0o700)
    (results / "table.csv").write_text("a,b")
    with pytest.raises(ConfigurationError, match="not a run directory"):
        open_at(results)
    assert everything(results) == {"table.csv": b"a,b"}
    assert peek_plan(results) is None
    assert peek_plan(tmp_path / "nothing") is None


# copies and media


def test_a_copy_through_git_is_read_as_the_run_it_is(run: Path, tmp_path: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("no git; run: apt-get install git")
    repository, clone = tmp_path / "repository", tmp_path / "clone"
    shutil.copytree(run, repository)
    git = ["git", "-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "core.autocrlf=false"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "run"]):
        subprocess.run([*git, *words], cwd=repository, check=True)
    subprocess.run([*git, "clone", "-q", str(repository), str(clone)], check=True)
    assert not (clone / "leases").exists()
    assert reading(clone) == reading(run)


def test_a_copy_through_zip_is_read_as_the_run_it_is(run: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "run.zip", "w") as archive:
        for name, content in everything(run).items():
            archive.writestr(name, content)
    with umask(0o022), zipfile.ZipFile(tmp_path / "run.zip") as archive:
        archive.extractall(tmp_path / "copy")
    assert reading(tmp_path / "copy") == reading(run)


def test_a_copy_through_tar_is_read_as_the_run_it_is(run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    subprocess.run(["tar", "-cf", str(tmp_path / "run.tar"), "-C", str(run), "."], check=True)
    subprocess.run(["tar", "-xf", str(tmp_path / "run.tar"), "-C", str(copy)], check=True)
    assert reading(copy) == reading(run)
    with open_at(copy) as writer:
        assert writer.slots == bytearray([3]) * 4


def test_a_run_on_read_only_media_is_read(run: Path, tmp_path: Path) -> None:
    before = reading(run)
    media = tmp_path / "media"
    media.mkdir()
    bound = subprocess.run(["mount", "--bind", str(run), str(media)], capture_output=True, check=False)
    if bound.returncode:
        pytest.skip("nothing can be mounted here")
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", str(media)], check=True)
        assert reading(media) == before
        with pytest.raises(StorageError, match=r"(?i)read-only"):
            open_at(media)
    finally:
        subprocess.run(["umount", "-l", str(media)], check=True)


def test_reading_writes_nothing(run: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*")}
    reading(run)
    assert {path: path.stat().st_mtime_ns for path in run.rglob("*")} == before


def test_sha256sum_checks_a_finished_run(run: Path) -> None:
    if shutil.which("sha256sum") is None:
        pytest.skip("no sha256sum; run: apt-get install coreutils")
    subprocess.run(["sha256sum", "-c", "--strict", "--quiet", "SHA256SUMS"], cwd=run, check=True)
    listed = {line.split()[1] for line in (run / "SHA256SUMS").read_text().splitlines()}
    assert {"plan.json", "manifest.json", "seal.json", "reports/1.json", "gates/1.json"} <= listed
    assert {name for name in everything(run) if name.startswith("segments/")} <= listed


# a live writer, many segments, one sync for many


def test_a_reader_beside_a_live_writer_sees_a_prefix(tmp_path: Path) -> None:
    run, episodes = tmp_path / "run", 300

    async def write(writer: RunWriter) -> None:
        await writer.commit([planned(0, episodes)])
        for slot in range(episodes):
            await writer.commit([an_intent(slot)])
            await writer.commit([an_episode(slot)])

    def read() -> list[int]:
        counts = []
        for _ in range(30):
            reader = open_reader(run)
            bodies = [body for _, body in reader.records()]
            done = [body["i"] for body in bodies if body["t"] == "episode"]
            assert done == list(range(len(done)))
            assert reader.tail().n == len(bodies)
            counts.append(len(done))
        return counts

    async def both(writer: RunWriter) -> list[int]:
        _, counts = await asyncio.gather(write(writer), asyncio.to_thread(read))
        return counts

    with open_at(run, episodes, concurrency=2) as writer:
        counts = asyncio.run(both(writer))
    assert counts == sorted(counts)


def test_a_log_of_many_segments_is_one_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "SEGMENT_RECORDS", 3)
    finish(tmp_path / "run", episodes=12)
    names = sorted(path.name for path in (tmp_path / "run" / "segments").iterdir())
    assert len(names) > 4
    assert names == [layout.segment_name(number) for number in range(len(names))]
    records, _ = reading(tmp_path / "run")
    assert sum(1 for _, body in records if body["t"] == "episode") == 12  # type: ignore[index]
    (tmp_path / "run" / "segments" / names[2]).unlink()
    with pytest.raises(ArtifactError, match=r"00000002\.jsonl is missing"):
        list(open_reader(tmp_path / "run").records())


class CountingFiles(PosixFiles):
    """Counts syncs, and fails with what it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.syncs = 0

    def sync(self, file: int) -> None:
        self.syncs += 1
        super().sync(file)


class FullFiles(PosixFiles):
    """A disk that is full from a moment on, until the reserve is given up."""

    def __init__(self) -> None:
        super().__init__()
        self.full = False

    def append(self, file: int, payload: bytes) -> None:
        if self.full:
            super().append(file, payload[:100])
            raise OSError(errno.ENOSPC, "No space left on device")
        super().append(file, payload)

    def unlink(self, directory: int, name: str) -> None:
        super().unlink(directory, name)
        self.full = self.full and name != "reserve"


def test_a_full_disk_takes_what_is_in_flight_and_nothing_new(tmp_path: Path) -> None:
    fs = FullFiles()
    with LogStore(tmp_path / "run", fs=fs).open_writer(
        plan_bytes=a_plan(), manifest_bytes=MANIFEST, clock=fixed_clock, concurrency=2
    ) as writer:
        writer.commit_now([planned(0, 4), an_intent(0), an_intent(1)])
        fs.full = True
        with pytest.raises(StorageError, match="disk is full"):
            writer.commit_now([an_episode(0), an_intent(2)])
        assert list(writer.slots) == [3, 2, 1, 1]
        with pytest.raises(StorageError, match="disk is full"):
            writer.commit_now([an_intent(3)])
        writer.commit_now([an_episode(1)])
    assert list(open_reader(tmp_path / "run").slots()) == [3, 3, 1, 1]
    with open_at(tmp_path / "run") as writer:
        writer.commit_now([an_intent(2)])
        writer.commit_now([an_episode(2)])
    assert list(open_reader(tmp_path / "run").slots()) == [3, 3, 3, 1]


class NoRoomForReserve(PosixFiles):
    """A disk with room for the small files at the beginning of a run alone."""

    def create(self, directory: int, name: str) -> int:
        if name == "reserve":
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().create(directory, name)


def test_a_run_that_finds_no_room_says_what_to_do_and_the_same_command_goes_on(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"No space left on device\. Free some space and repeat the command"):
        LogStore(tmp_path / "run", fs=NoRoomForReserve()).open_writer(
            plan_bytes=a_plan(), manifest_bytes=MANIFEST, clock=fixed_clock
        )
    assert not (tmp_path / "run" / "lease.json").exists()
    with open_at(tmp_path / "run") as writer:
        writer.commit_now([planned(0, 4)])


class BrokenFiles(PosixFiles):
    """A disk that fails one sync, and then says that all is well."""

    broken = False

    def sync(self, file: int) -> None:
        if self.broken:
            self.broken = False
            raise OSError(errno.EIO, "Input/output error")
        super().sync(file)


def test_a_writer_whose_sync_failed_never_writes_again(tmp_path: Path) -> None:
    fs = BrokenFiles()
    with LogStore(tmp_path / "run", fs=fs).open_writer(
        plan_bytes=a_plan(), manifest_bytes=MANIFEST, clock=fixed_clock
    ) as writer:
        writer.commit_now([planned(0, 4)])
        fs.broken = True
        with pytest.raises(StorageError, match="Input/output error"):
            writer.commit_now([an_intent(0)])
        size = (tmp_path / "run" / "segments" / "00000000.jsonl").stat().st_size
        with pytest.raises(StorageError):
            writer.commit_now([an_intent(1)])
        assert (tmp_path / "run" / "segments" / "00000000.jsonl").stat().st_size == size
        assert list(writer.slots) == [1, 1, 1, 1]
    # Nobody was told that the intent is durable; it may be, so the slot is not sent.
    with open_at(tmp_path / "run") as writer:
        assert list(writer.slots) == [2, 1, 1, 1]


class NetworkFiles(PosixFiles):
    def is_network(self, directory: int) -> bool:
        return True


def test_a_network_file_system_needs_the_explicit_word(tmp_path: Path) -> None:
    store = LogStore(tmp_path / "run", fs=NetworkFiles())
    with pytest.raises(ConfigurationError, match="network"):
        store.open_writer(plan_bytes=a_plan(), manifest_bytes=MANIFEST, clock=fixed_clock)
    allowed = LogStore(tmp_path / "run", fs=NetworkFiles(), allow_network_files=True)
    allowed.open_writer(plan_bytes=a_plan(), manifest_bytes=MANIFEST, clock=fixed_clock).close()
    handle = PosixFiles().open_root(str(tmp_path / "run"), create=False)
    assert not PosixFiles().is_network(handle)
    os.close(handle)


@pytest.mark.parametrize("concurrency", [1, 16])
def test_waiting_callers_share_one_sync(tmp_path: Path, concurrency: int) -> None:
    fs, rounds = CountingFiles(), 10

    async def worker(writer: RunWriter, number: int) -> None:
        terminal = []
        for slot in range(number * rounds, (number + 1) * rounds):
            await writer.commit([*terminal, an_intent(slot)])
            terminal = [an_episode(slot)]
        await writer.commit(terminal)

    async def everyone(writer: RunWriter) -> None:
        await asyncio.gather(*(worker(writer, number) for number in range(concurrency)))

    episodes = rounds * concurrency
    with LogStore(tmp_path / "run", fs=fs).open_writer(
        plan_bytes=a_plan(episodes), manifest_bytes=MANIFEST, clock=fixed_clock, concurrency=concurrency
    ) as writer:
        writer.commit_now([planned(0, episodes)])
        fs.syncs = 0
        asyncio.run(everyone(writer))
    assert fs.syncs <= rounds + 3


def test_a_cancelled_caller_leaves_the_others_alone(tmp_path: Path) -> None:
    async def scenario(writer: RunWriter) -> None:
        await writer.commit([planned(0, 4)])
        tasks = [asyncio.create_task(writer.commit([an_intent(slot)])) for slot in range(4)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert [result is None for result in results] == [False, True, True, True]

    with open_at(tmp_path / "run", concurrency=8) as writer:
        asyncio.run(scenario(writer))
        # Cancelled or not, its intent went into the log: it may never be sent again.
        assert writer.slots == bytearray([2]) * 4


def test_settling_now_keeps_the_order_of_what_waits(tmp_path: Path) -> None:
    async def scenario(writer: RunWriter) -> None:
        await writer.commit([planned(0, 4)])
        waiting = asyncio.create_task(writer.commit([an_intent(0)]))
        await asyncio.sleep(0)
        writer.commit_now([an_episode(0)])
        await waiting

    with open_at(tmp_path / "run", concurrency=8) as writer:
        asyncio.run(scenario(writer))
    assert list(open_reader(tmp_path / "run").slots()) == [3, 1, 1, 1]


def test_the_quick_look_agrees_with_the_pass(run: Path) -> None:
    reader = open_reader(run)
    quick = reader.tail()
    list(reader.records())
    slow = reader.tail()
    assert not quick.verified
    assert slow.verified
    assert (quick.n, quick.root, quick.batches, quick.segments, quick.sealed) == (
        slow.n,
        slow.root,
        slow.batches,
        slow.segments,
        slow.sealed,
    )


def test_opening_a_finished_run_for_reading_imports_nothing_slow() -> None:
    code = "import sys, dfah_cli.store.log; print(sorted({'hydra','numpy','rich','jsonschema'} & set(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


@pytest.mark.parametrize("fate", ["moved", "deleted", "replaced"])
def test_a_run_directory_that_is_gone_stops_the_writer_at_its_next_batch(tmp_path: Path, fate: str) -> None:
    run = tmp_path / "run"
    with open_at(run) as writer:
        asyncio.run(writer.commit([planned(0, 4), an_intent(0)]))
        if fate == "deleted":
            shutil.rmtree(run)
        else:
            run.rename(tmp_path / "elsewhere")
        if fate == "replaced":
            run.mkdir(mode=0o700)
        with pytest.raises(StorageError, match=rf"{run} was moved or deleted while the run was writing it"):
            asyncio.run(writer.commit([an_episode(0), an_intent(1)]))
        with pytest.raises(StorageError, match="moved or deleted"):
            asyncio.run(writer.commit([an_episode(0)]))
    if fate == "moved":
        kept = [body["t"] for _, body in open_reader(tmp_path / "elsewhere").records()]
        assert kept[-2:] == ["planned", "dispatching"]
