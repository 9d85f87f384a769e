"""Runs in an object storage, from the outside: recorded, read, shared, copied, packed."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from dfah.demo import toy_agent
from dfah_cli.cli.main import main
from dfah_cli.errors import ConfigurationError, ExitCode, LeaseError
from dfah_cli.loading.documents import document_schema
from dfah_cli.workflow.analyze import analyze
from dfah_cli.workflow.copying import copy_run, pack_run
from dfah_cli.workflow.diagnosis import diagnose
from dfah_cli.workflow.history import history
from dfah_cli.workflow.listing import list_runs
from dfah_cli.workflow.proofs import prove
from dfah_cli.workflow.replay import Replay
from dfah_cli.workflow.verification import verify_run
from dfah_cli.workflow.watching import Watch
from tests.store.in_memory import object_storage

pytest.importorskip("obstore", reason="no obstore; run: python -m pip install 'dfah-cli[s3]'")

URL = "s3://evidence/runs/one"


@pytest.fixture(autouse=True)
def _storage(monkeypatch: pytest.MonkeyPatch) -> None:
    object_storage(monkeypatch)


def replayed(out: str | Path, **options: Any) -> str:
    """A finished run there: its commitment."""
    return Replay(suite="toy-risk", replays=3, out=out, **options).run(toy_agent).commitment


def digests(folder: Path) -> dict[str, str]:
    files = [file for file in folder.rglob("*") if file.is_file()]
    return {str(file.relative_to(folder)): sha256(file.read_bytes()).hexdigest() for file in files}


def test_a_run_in_an_object_storage_is_read_by_its_url() -> None:
    replayed(URL)
    assert verify_run(URL).exit_code is ExitCode.OK
    assert analyze(URL).report.episodes_completed == 6
    assert diagnose(URL).state == "sealed"
    assert [event.what for event in history(URL)][-1] == "report"
    (listed,) = list_runs("s3://evidence/runs")
    assert (str(listed.path), listed.state, listed.episodes) == (URL, "sealed", 6)
    (watched,) = Watch((URL,)).look(datetime.now(UTC))
    assert watched.complete
    assert prove(URL, "CASE-001/0")["episodes"] == 6


def test_running_the_command_again_calls_nobody() -> None:
    replayed(URL)
    recorded = Replay(suite="toy-risk", replays=3, out=URL).record(toy_agent)
    assert (recorded.tally.calls, recorded.tally.reused) == (0, 6)


def test_a_run_of_several_parts_is_stated_like_one() -> None:
    replayed(URL, shards=4)
    found = verify_run(URL)
    assert found.exit_code is ExitCode.OK
    assert found.tail is not None
    assert found.tail.sealed
    one = analyze("s3://evidence/runs/one").report
    replayed("s3://evidence/runs/two")
    two = analyze("s3://evidence/runs/two").report
    assert (one.dar, one.episodes_completed, one.run_plan_sha256) == (
        two.dar,
        two.episodes_completed,
        two.run_plan_sha256,
    )


def test_shards_are_for_an_object_storage_only(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="keeps one writer"):
        replayed(tmp_path / "run", shards=2)


def test_there_and_back_every_file_is_the_same(tmp_path: Path) -> None:
    replayed(tmp_path / "run")
    (tmp_path / "run" / "report.html").write_text("for people")
    there = copy_run(tmp_path / "run", URL)
    back = copy_run(URL, tmp_path / "back")
    assert digests(tmp_path / "run") == digests(tmp_path / "back")
    assert there.digest == back.digest
    assert there.commitment == back.commitment == analyze(tmp_path / "back").report.commitment
    assert all(file.stat().st_mode & 0o077 == 0 for file in (tmp_path / "back").rglob("*"))


@pytest.mark.parametrize("shards", [1, 3])
def test_a_run_from_an_object_storage_is_a_run_directory(tmp_path: Path, shards: int) -> None:
    commitment = replayed(URL, shards=shards)
    copied = copy_run(URL, tmp_path / "run")
    assert copied.commitment == commitment
    assert verify_run(tmp_path / "run").exit_code is ExitCode.OK
    copy_run(tmp_path / "run", "s3://evidence/again")
    copy_run("s3://evidence/again", tmp_path / "again")
    assert digests(tmp_path / "run") == digests(tmp_path / "again")
    recorded = Replay(suite="toy-risk", replays=3, out=tmp_path / "run").record(toy_agent)
    assert recorded.tally.calls == 0


def test_a_copy_that_is_not_finished_goes_on_in_its_new_place(tmp_path: Path) -> None:
    replay = Replay(suite="toy-risk", replays=3, out=tmp_path / "run")
    calls = 0

    def stop(event: Any) -> None:
        nonlocal calls
        calls += type(event).__name__ == "EpisodeFinished"
        if calls == 2:
            raise KeyboardInterrupt

    replay.observer = stop
    with pytest.raises(KeyboardInterrupt):
        replay.record(toy_agent)
    copy_run(tmp_path / "run", URL)
    recorded = Replay(suite="toy-risk", replays=3, out=URL).record(toy_agent)
    assert recorded.verified.complete
    assert recorded.tally.calls < 6
    assert verify_run(URL).broken == ()


def test_a_place_where_something_is_gets_no_copy(tmp_path: Path) -> None:
    replayed(tmp_path / "run")
    copy_run(tmp_path / "run", URL)
    with pytest.raises(ConfigurationError, match="holds a run"):
        copy_run(tmp_path / "run", URL)
    with pytest.raises(ConfigurationError, match="exists"):
        copy_run(URL, tmp_path / "run")


def test_a_run_that_is_being_written_is_not_copied(tmp_path: Path) -> None:
    replayed(tmp_path / "run")
    lease = next((tmp_path / "run").glob("seal.json"))
    (tmp_path / "run" / "lease.json").write_bytes(lease.read_bytes())
    with pytest.raises(LeaseError, match="dfah doctor"):
        copy_run(tmp_path / "run", URL)


def test_a_copy_that_is_cut_off_leaves_no_run_and_goes_on_when_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replayed(tmp_path / "run")
    copy_run(tmp_path / "run", "s3://evidence/source")

    def cut(name: str, done: int, whole: int) -> None:
        if done > whole // 2:
            raise KeyboardInterrupt

    for source, target in ((tmp_path / "run", URL), ("s3://evidence/source", tmp_path / "back")):
        with pytest.raises(KeyboardInterrupt):
            copy_run(source, target, cut)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]
    assert list(list_runs("s3://evidence/runs")) == []
    copy_run(tmp_path / "run", URL)
    copy_run(URL, tmp_path / "back")
    assert digests(tmp_path / "run") == digests(tmp_path / "back")


@pytest.mark.parametrize("shards", [1, 2])
def test_a_packed_run_says_the_same_and_takes_what_comes_later(tmp_path: Path, shards: int) -> None:
    replayed(URL, shards=shards)
    before = copy_run(URL, tmp_path / "before")
    packed = pack_run(URL, remove_small=True)
    assert packed.segments >= 1
    assert packed.removed > 0
    after = copy_run(URL, tmp_path / "after")
    assert before.digest == after.digest
    from dfah_cli.loading.policies import load_policy

    Replay(suite="toy-risk", replays=3, out=URL, gate=load_policy("strict")).run(toy_agent)
    assert verify_run(URL).exit_code is ExitCode.OK
    assert [event.what for event in history(URL)][-1] == "gate"
    assert pack_run(URL, remove_small=True).segments == packed.segments + 1
    assert verify_run(URL).exit_code is ExitCode.OK


def test_the_commands_print_documents_of_their_schemas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replayed(URL)
    for words in (["copy", URL, str(tmp_path / "run")], ["pack", URL, "--remove-small"]):
        assert main([*words, "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        Draft202012Validator(document_schema(document["format"])).validate(document)


def test_only_a_finished_run_in_an_object_storage_is_packed(tmp_path: Path) -> None:
    replayed(tmp_path / "run")
    with pytest.raises(ConfigurationError, match="whole files already"):
        pack_run(tmp_path / "run")


@pytest.mark.parametrize("url", ["s3://key:secret@bucket/x", "s3://bucket/x?shards=2", "s3://", "gs://bucket/x"])
def test_a_url_of_another_kind_is_refused_without_its_secrets(url: str) -> None:
    with pytest.raises(ConfigurationError, match="expected a directory or s3://bucket/prefix") as refused:
        analyze(url)
    assert "secret" not in str(refused.value)
