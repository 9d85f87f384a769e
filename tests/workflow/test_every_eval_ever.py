"""The exchange record of a run, and what its own validator says of it."""

from __future__ import annotations

import json
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import dfah
from dfah_cli.errors import ArtifactError, ConfigurationError, EligibilityError, OptionalDependencyError
from dfah_cli.workflow.analyze import analyze
from dfah_cli.workflow.every_eval_ever import export_every_eval_ever, validate_every_eval_ever
from tests.builders import a_scripted_agent, bytes_below, replayed


def failing(case: Any, context: Any) -> Any:
    raise RuntimeError("private text")


ORDER, ALIKE = [("Y", "T U"), ("Y", "U T"), ("Y", "T U")], [("N", "T")] * 3
MIXED = {"A": ORDER, "B": ALIKE, "C": [("Y", "T"), failing, ("Y", "T")]}
NO_VALIDATOR = "no every_eval_ever; on Python 3.12 or newer run: python -m pip install 'dfah-cli[eee]'"


@pytest.fixture
def run(out: Path) -> Path:
    replayed(a_scripted_agent(MIXED), out)
    return out


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_record_has_the_numbers_of_the_report(run: Path, tmp_path: Path) -> None:
    report = analyze(run).report
    found = export_every_eval_ever(run, tmp_path / "x")
    scores = {
        result["evaluation_result_id"]: result["score_details"]["score"]
        for result in read(found.aggregate_path)["evaluation_results"]
    }
    assert report.tar is not None
    assert scores == {
        "dfah.dar": report.dar,
        "dfah.tar_seq": report.tar.seq,
        "dfah.tar_bag": report.tar.bag,
        "dfah.tar_set": report.tar.set,
        "dfah.tar_strong": report.tar.strong,
        "dfah.delta_dt": report.gap,
        "dfah.eligible_fraction": report.eligible_fraction,
        "dfah.flags_per_100": report.flags_per_100_cases,
    }


def test_the_record_names_the_digest_of_its_rows(run: Path, tmp_path: Path) -> None:
    found = export_every_eval_ever(run, tmp_path / "x", source_organization_name="Acme")
    assert found.instances_path is not None
    detailed = read(found.aggregate_path)["detailed_evaluation_results"]
    payload = found.instances_path.read_bytes()
    assert detailed["checksum"] == found.instances_sha256 == sha256(payload).hexdigest()
    assert detailed["total_rows"] == found.instance_count == payload.count(b"\n") == 9
    assert found.instances_path == tmp_path / "x" / detailed["file_path"]
    assert read(found.aggregate_path)["source_metadata"]["source_organization_name"] == "Acme"


def test_rows_are_in_order_of_case_and_replay_and_say_what_was_counted(run: Path, tmp_path: Path) -> None:
    found = export_every_eval_ever(run, tmp_path / "x")
    assert found.instances_path is not None
    rows = [json.loads(line) for line in found.instances_path.read_text().splitlines()]
    assert [row["sample_id"] for row in rows] == [f"{case}/replay-{i}" for case in "ABC" for i in range(3)]
    assert [row["evaluation"]["score"] for row in rows] == [1.0] * 6 + [0.0] * 3
    assert rows[7]["error"] is not None
    assert rows[7]["metadata"]["dfah_episode_capture_eligible"] == "false"
    assert {row["evaluation_id"] for row in rows} == {found.evaluation_id}


def test_equal_evidence_gives_equal_files(run: Path, tmp_path: Path) -> None:
    first, second = (export_every_eval_ever(run, tmp_path / name) for name in ("x", "y"))
    assert first.evaluation_id == second.evaluation_id
    assert bytes_below(tmp_path / "x") == bytes_below(tmp_path / "y")


def test_nothing_private_leaves_the_run(run: Path, tmp_path: Path) -> None:
    export_every_eval_ever(run, tmp_path / "x")
    written = bytes_below(tmp_path / "x")
    assert b"private text" not in written
    assert b"DECISION" not in written


def test_without_rows_only_the_aggregate_is_written(run: Path, tmp_path: Path) -> None:
    found = export_every_eval_ever(run, tmp_path / "x", include_instances=False)
    assert (found.instances_path, found.instances_sha256, found.instance_count) == (None, None, 0)
    assert "detailed_evaluation_results" not in read(found.aggregate_path)
    assert [path.suffix for path in (tmp_path / "x").rglob("*.*")] == [".json"]


def test_a_run_without_numbers_is_refused_and_leaves_nothing(out: Path, tmp_path: Path) -> None:
    replayed(a_scripted_agent({"A": [failing] * 3}), out)
    with pytest.raises(EligibilityError, match="no replay group"):
        export_every_eval_ever(out, tmp_path / "x")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    "wrong", [{"evaluator_relationship": "friend"}, {"source_organization_name": " "}], ids=lambda given: min(given)
)
def test_a_wrong_argument_is_refused_before_anything_is_written(
    run: Path, tmp_path: Path, wrong: dict[str, str]
) -> None:
    with pytest.raises(ConfigurationError, match=min(wrong)):
        export_every_eval_ever(run, tmp_path / "x", **wrong)  # type: ignore[arg-type]
    assert not (tmp_path / "x").exists()


def test_altered_evidence_is_not_exported(run: Path, tmp_path: Path) -> None:
    segment = run / "segments" / "00000000.jsonl"
    segment.write_bytes(segment.read_bytes().replace(b'"replay_index":1', b'"replay_index":2', 1))
    with pytest.raises(ArtifactError):
        export_every_eval_ever(run, tmp_path / "x")


@pytest.mark.skipif(find_spec("every_eval_ever") is not None, reason="the validator is installed")
def test_a_missing_validator_is_said_before_anything_is_written(run: Path, tmp_path: Path) -> None:
    with pytest.raises(OptionalDependencyError, match="dfah-cli\\[eee\\]"):
        export_every_eval_ever(run, tmp_path / "x", validate=True)
    assert not (tmp_path / "x").exists()


@pytest.mark.skipif(find_spec("every_eval_ever") is None, reason=NO_VALIDATOR)
def test_the_validator_of_the_format_accepts_the_record(run: Path, tmp_path: Path) -> None:
    found = export_every_eval_ever(run, tmp_path / "x", validate=True)
    assert found.officially_validated
    found.aggregate_path.write_text(found.aggregate_path.read_text().replace('"evaluation_id"', '"id"', 1))
    with pytest.raises(ArtifactError, match="evaluation_id"):
        validate_every_eval_ever(found.aggregate_path, found.instances_path)


def test_the_public_names_are_those_of_the_reference() -> None:
    assert dfah.export_every_eval_ever is export_every_eval_ever
    assert [*dfah.EveryEvalEverExportResult.__dataclass_fields__] == [
        "aggregate_path", "instances_path", "evaluation_id", "instance_count", "instances_sha256",
        "officially_validated",
    ]  # fmt: skip
