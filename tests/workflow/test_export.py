"""Files for others never replace what a run is believed for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dfah_cli.errors import ArtifactError, ConfigurationError, StorageError
from dfah_cli.store.places import RunUrl, refuse_evidence
from dfah_cli.workflow.analyze import analyze
from dfah_cli.workflow.copying import copy_run
from dfah_cli.workflow.export import check_place, write_chunks, write_export
from dfah_cli.workflow.listing import look
from dfah_cli.workflow.replay import Replay
from dfah_cli.workflow.verification import verify_run
from tests.builders import a_scripted_agent


def replayed(out: Path) -> None:
    agent = a_scripted_agent({"A": [("Y", "T")]})
    Replay(suite=agent.suite, replays=2, out=out).run(agent)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    replayed(tmp_path / "run")
    return tmp_path / "run"


@pytest.mark.parametrize("name", ["plan.json", "seal.json", "segments/00000000.jsonl", "reports/2.json", "objects/x"])
def test_an_export_never_replaces_evidence(run: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "link").symlink_to(run)
    for place in (run / name, tmp_path / "link" / name):
        with pytest.raises(ConfigurationError, match="evidence of a run, which is never replaced"):
            write_chunks(place, [b"another"])
        with pytest.raises(ConfigurationError, match="never replaced"):
            write_export(place, "another")
    assert not verify_run(run).broken


def test_a_report_may_stand_beside_the_evidence(run: Path, tmp_path: Path) -> None:
    assert write_export(run / "report.html", "a page").read_text() == "a page"
    assert write_export(tmp_path / "plan.json", "no run is here").exists()
    assert write_export(tmp_path / "reports" / "page.html", "nor here").exists()
    assert not verify_run(run).broken


def test_a_bucket_may_have_any_name() -> None:
    refuse_evidence(RunUrl("s3://reports/first/page.html"))


def test_no_run_is_made_among_the_evidence_of_another(run: Path) -> None:
    with pytest.raises(ConfigurationError, match="evidence of a run"):
        replayed(run / "objects")
    with pytest.raises(ConfigurationError, match="evidence of a run"):
        copy_run(run, run / "gates" / "copy")
    assert not list((run / "gates").iterdir())


def test_a_run_of_special_files_is_listed_as_damaged_and_not_waited_for(run: Path) -> None:
    for name, state in (("segments/00000009.jsonl", "sealed"), ("gates/9.json", "sealed"), ("plan.json", "damaged")):
        (run / name).unlink(missing_ok=True)
        os.mkfifo(run / name)
        assert look(run).state == state


def test_a_run_that_cannot_be_read_is_named(run: Path) -> None:
    (run / "plan.json").write_text("{")
    with pytest.raises(ArtifactError, match=rf"^{run}: plan.json is not JSON"):
        analyze(run)


def test_a_place_is_refused_as_writing_there_would_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file" / "page.html", tmp_path / "file" / "folder" / "page.html", tmp_path):
        with pytest.raises(ConfigurationError, match="cannot be written"):
            check_place(place)
        with pytest.raises(ConfigurationError, match="cannot be written"):
            write_export(place, "")
    for place in (tmp_path / "new" / "page.html", tmp_path / "file", "/dev/null", RunUrl("s3://acme/page.html")):
        check_place(place)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file"]


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere; run the tests as another user")
def test_a_place_in_a_folder_of_others_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    for place in (tmp_path / "page.html", tmp_path / "new" / "page.html"):
        with pytest.raises(ConfigurationError, match="Permission denied"):
            check_place(place)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full, which Linux has")
def test_a_full_disk_is_no_wrong_request() -> None:
    with pytest.raises(StorageError, match="cannot be written \\(No space left on device\\)"):
        write_export("/dev/full", "text")
