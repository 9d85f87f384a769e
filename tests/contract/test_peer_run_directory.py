"""A run directory that another implementation wrote is measured as that implementation measured it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from dfah_cli.errors import ArtifactError
from dfah_cli.workflow.measure import document, measure_files
from tests.contract.test_peer import run_with


@pytest.fixture
def peer_run(tmp_path: Path) -> tuple[Path, Any]:
    peer = os.environ.get("DFAH_PEER_PYTHON")
    if not peer:
        pytest.skip("no peer: set DFAH_PEER_PYTHON to the python of an environment with dfah-bench")
    run = tmp_path / "theirs"
    return run, run_with(peer, run)


def test_imported_numbers_equal_those_of_the_writer(peer_run: tuple[Path, Any]) -> None:
    run, theirs = peer_run
    (row,) = document(measure_files([run]))["configurations"]
    assert row["dar"] == pytest.approx(theirs["dar"], abs=1e-12)
    shares = [row["tar"][mode] for mode in ("seq", "bag", "set", "strong")]
    assert shares == pytest.approx(list(theirs["tar"]), abs=1e-12)
    assert row["gap"] == pytest.approx(theirs["gap"], abs=1e-12)
    assert row["flags_per_100"] == pytest.approx(theirs["flags"], abs=1e-12)
    assert row["sequence_flags_per_100"] == pytest.approx(theirs["sequence_flags"], abs=1e-12)
    assert sorted(row["reasons"]) == sorted(reason for reason, _ in theirs["reasons"])


def test_a_changed_byte_is_noticed(peer_run: tuple[Path, Any]) -> None:
    run, _ = peer_run
    episode = sorted((run / "episodes").glob("*.json"))[0]
    episode.chmod(0o600)
    episode.write_bytes(episode.read_bytes().replace(b'"cost_usd":', b'"cost_usd": '))
    with pytest.raises(ArtifactError, match="sidecar"):
        document(measure_files([run]))
