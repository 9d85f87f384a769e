"""Whatever is changed in the evidence of a run, a reader refuses it and names the place."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dfah_cli.errors import ArtifactError, ConfigurationError
from tests.crash.explore import State, after
from tests.crash.scenario import Recording, Scenario, SimHost, SimStore
from tests.crash.sim_fs import DirNode, Disk, FileNode, SimFs

EVIDENCE = ("plan.json", "manifest.json", "seal.json", "head", "SHA256SUMS", "segments/", "reports/", "gates/")


def files_of(disk: Disk, number: int = 1, path: str = "") -> Iterator[tuple[str, int]]:
    """(path, node) of every file."""
    node = disk.nodes[number]
    assert isinstance(node, DirNode)
    for name, child in node.now:
        if isinstance(disk.nodes[child], DirNode):
            yield from files_of(disk, child, f"{path}{name}/")
        else:
            yield path + name, child


def with_content(disk: Disk, number: int, content: bytes) -> Disk:
    changed = disk.copy()
    changed.nodes[number] = FileNode(content, None, content)
    return changed


def read_all(disk: Disk, boot: int = 1) -> None:
    """A whole pass, on a machine that was started anew: nothing is refused for having been written just now."""
    store = SimStore("/run", fs=SimFs(disk, lambda *_: None), host=SimHost(50, boot))
    list(store.open_reader().records())


def is_refused(disk: Disk) -> bool:
    try:
        read_all(disk)
    except ArtifactError:
        return True
    return False


def flips(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Every byte changed, one at a time; of long runs of padding only some bytes."""
    for position, byte in enumerate(content):
        padding = content[position - 1 : position + 2] == b"   "
        if not padding or position % 256 == 0:
            changed = bytearray(content)
            changed[position] = byte ^ (1 << position % 8)
            yield position, bytes(changed)


def content_of(disk: Disk, number: int) -> bytes:
    node = disk.nodes[number]
    assert isinstance(node, FileNode)
    return node.now


@pytest.fixture(scope="module")
def finished() -> State:
    return after(Scenario)


def test_the_finished_run_is_believed(finished: State) -> None:
    read_all(finished.disk)


@pytest.mark.slow
@pytest.mark.parametrize("place", EVIDENCE)
def test_every_changed_byte_of_a_finished_run_is_refused(finished: State, place: str) -> None:
    tried = 0
    for path, number in files_of(finished.disk):
        if not path.startswith(place):
            continue
        for position, content in flips(content_of(finished.disk, number)):
            tried += 1
            assert is_refused(with_content(finished.disk, number, content)), f"believed: {path} byte {position}"
    assert tried > 0
    print(f"{place}: {tried} changed bytes, all refused")


@pytest.mark.slow
def test_every_changed_byte_of_an_unfinished_log_is_refused() -> None:
    unfinished = after(Recording).disk
    for path, number in files_of(unfinished):
        if not path.startswith("segments/"):
            continue
        for position, content in flips(content_of(unfinished, number)):
            assert is_refused(with_content(unfinished, number, content)), f"believed: {path} byte {position}"


@pytest.mark.parametrize("place", ["manifest.json", "plan.json", "head", "segments/00000000", "reports/", "gates/"])
def test_a_removed_file_is_missed(finished: State, place: str) -> None:
    store = SimFs(finished.disk.copy(), lambda *_: None)
    root = store.open_root("/run", create=False)
    part, _, start = place.rpartition("/")
    directory = store.open_dir(root, part) if part else root
    for name in store.names(directory):
        if name.startswith(start):
            store.unlink(directory, name)
    with pytest.raises(ArtifactError):
        read_all(store.disk)


@pytest.mark.parametrize("length", [0, 1, 4095, 4096, 8192, -4096, -1])
def test_a_shortened_segment_is_refused(finished: State, length: int) -> None:
    number = dict(files_of(finished.disk))["segments/00000000.jsonl"]
    content = content_of(finished.disk, number)
    with pytest.raises(ArtifactError, match=r"segments/0000000\d\.jsonl|head|SHA256SUMS"):
        read_all(with_content(finished.disk, number, content[:length]))


def test_bytes_of_another_writer_behind_the_log_are_refused(finished: State) -> None:
    number = dict(files_of(finished.disk))["segments/00000001.jsonl"]
    content = content_of(finished.disk, number)
    with pytest.raises(ArtifactError):
        read_all(with_content(finished.disk, number, content + content[:4096]))


def test_the_refusal_names_file_line_and_claim(finished: State) -> None:
    number = dict(files_of(finished.disk))["segments/00000000.jsonl"]
    content = content_of(finished.disk, number).replace(b'"valid"', b'"VALID"', 1)
    with pytest.raises(ArtifactError, match=r"segments/00000000\.jsonl line \d+: the body does not match its digest"):
        read_all(with_content(finished.disk, number, content))


def test_a_writer_refuses_altered_evidence_too(finished: State) -> None:
    number = dict(files_of(finished.disk))["reports/1.json"]
    disk = with_content(finished.disk, number, b'{"report":fals}')
    with pytest.raises(ArtifactError, match=r"reports/1\.json"):
        Scenario(SimFs(disk, lambda *_: None), SimHost(50, 0), finished.oracle).run()


def test_a_directory_of_something_else_is_refused_unchanged() -> None:
    changes: list[str] = []
    fs = SimFs(Disk(), lambda _fs, kind, _handle, _payload: changes.append(kind))
    root = fs.open_root("/run", create=False)
    fs.create(root, "results.csv")
    changes.clear()
    with pytest.raises(ConfigurationError, match="not a run directory"):
        Scenario(fs, SimHost(0, 0), after(Recording).oracle).run()
    assert changes == []
