"""A trajectory too long for a line stands beside the log, and is evidence all the same."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

from dfah_cli.evidence.claims import Claim
from dfah_cli.workflow.proofs import prove
from tests.tamper.verify_runs import a_finished_run, broken

LONG = ("Y", "T " * 1500)


@pytest.fixture(scope="module")
def bulky(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return a_finished_run(tmp_path_factory.mktemp("objects") / "run", {"A": [LONG]})


def objects(run: Path) -> list[Path]:
    return sorted(file for file in (run / "objects").rglob("*") if file.is_file())


def test_a_run_with_objects_is_believed(bulky: Path) -> None:
    assert len(objects(bulky)) == 2
    assert not broken(bulky)


def test_an_altered_and_a_missing_object_are_named(bulky: Path) -> None:
    place = objects(bulky)[0]
    whole = place.read_bytes()
    try:
        for cut in (0, len(whole) // 2, len(whole) - 1):
            place.write_bytes(whole[:cut] + bytes([whole[cut] ^ 1]) + whole[cut + 1 :])
            assert Claim.OBJECTS in broken(bulky)
        place.unlink()
        assert Claim.OBJECTS in broken(bulky)
    finally:
        place.write_bytes(whole)
    assert not broken(bulky)


def test_the_proof_of_such_an_episode_carries_the_record_that_names_the_object(bulky: Path) -> None:
    proof = prove(bulky, "A/0")
    assert sha256(proof["record"].encode()).hexdigest() == proof["h"]
    assert json.loads(proof["record"])["trajectory"].keys() == {"sha256", "size"}
