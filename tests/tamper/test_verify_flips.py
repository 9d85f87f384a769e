"""Every bit of every evidence file counts: one flipped bit anywhere is refused, and the broken claim is named."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dfah_cli.errors import ArtifactError
from dfah_cli.evidence.claims import Claim, claim_on
from dfah_cli.store.log import LogStore
from dfah_cli.store.reader import LogReader
from tests.tamper.verify_runs import Bytes, ElsewhereHost, a_finished_run, broken, evidence_files

# On another machine a damaged last batch could be one that a crash cut; there the checksums tell.
NAMED = {
    "plan.json": {Claim.RUN_PLAN, Claim.MANIFEST, Claim.SCHEDULE},
    "manifest.json": {Claim.MANIFEST},
    "head": {Claim.HEAD},
    "seal.json": {Claim.SEAL, Claim.SUMS},
    "SHA256SUMS": {Claim.SUMS},
    "reports/1.json": {Claim.REPORT},
    "gates/1.json": {Claim.GATE},
    "segments/00000000.jsonl": {Claim.LOG},
    "segments/00000001.jsonl": {Claim.LOG, Claim.SUMS},
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return a_finished_run(tmp_path_factory.mktemp("flips") / "run")


def flips(payload: bytes) -> Iterator[bytes]:
    for place, byte in enumerate(payload):
        yield b"%b%c%b" % (payload[:place], byte ^ (1 << place % 8), payload[place + 1 :])


def found_by_reading(files: Bytes) -> set[Claim]:
    """The claims that reading alone refuses: `verify` adds to them and takes none away."""
    faults: list[ArtifactError] = []
    try:
        reader = LogStore("run", fs=files, host=ElsewhereHost()).open_reader()  # type: ignore[arg-type]
        assert isinstance(reader, LogReader)
        for _ in reader.records(faults):
            pass
    except ArtifactError as refusal:
        faults.append(refusal)
    return {claim_on(fault.part) for fault in faults}


def test_the_run_has_every_kind_of_evidence_file_and_is_believed(finished: Path) -> None:
    assert evidence_files(finished).keys() == NAMED.keys()
    assert not broken(finished)
    assert not found_by_reading(Bytes(evidence_files(finished)))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMED)
def test_a_flipped_bit_in_any_byte_is_refused_and_the_claim_is_named(finished: Path, name: str) -> None:
    whole = evidence_files(finished)
    files = Bytes(whole)
    for place, payload in enumerate(flips(whole[name])):
        files.files[name] = payload
        found = found_by_reading(files)
        assert found, f"byte {place} of {name} can be changed unnoticed"
        assert found <= NAMED[name], f"byte {place} of {name} broke {found}"


@pytest.mark.parametrize("name", NAMED)
def test_the_command_refuses_what_reading_refuses(finished: Path, name: str, tmp_path: Path) -> None:
    sampled(finished, name, step=len((finished / name).read_bytes()) // 5 + 1)


@pytest.mark.soak
@pytest.mark.parametrize("name", NAMED)
def test_the_command_refuses_every_flipped_byte(finished: Path, name: str) -> None:
    sampled(finished, name, step=1)


def sampled(run: Path, name: str, *, step: int) -> None:
    payload = (run / name).read_bytes()
    handle = os.open(run / name, os.O_RDWR)
    try:
        for place in range(0, len(payload), step):
            os.pwrite(handle, bytes([payload[place] ^ 1]), place)
            assert broken(run) & NAMED[name], f"byte {place} of {name}"
            os.pwrite(handle, payload[place : place + 1], place)
    finally:
        os.pwrite(handle, payload, 0)
        os.close(handle)
