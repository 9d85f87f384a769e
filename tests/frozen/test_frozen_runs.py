"""Runs recorded by earlier versions hold with this one, are not written to for nothing, and can be judged again."""

from __future__ import annotations

import json
import shutil
import tarfile
from datetime import date
from pathlib import Path

import pytest
from attrs import evolve

from dfah_cli.canonical import digest
from dfah_cli.errors import ArtifactError, ExitCode, NewerVersionError
from dfah_cli.evidence.claims import CheckResult, CheckStatus, Claim
from dfah_cli.execution.clock import SystemClock
from dfah_cli.records.policy import GatePolicy
from dfah_cli.records.versions import version_order
from dfah_cli.report.file import _completed, read_report
from dfah_cli.report.versions import CURRENT, FORMS, VERSIONS
from dfah_cli.store.log import LogStore
from dfah_cli.workflow.analyze import analyze
from dfah_cli.workflow.attempts import keep_attempt
from dfah_cli.workflow.diagnosis import diagnose
from dfah_cli.workflow.judging import judged
from dfah_cli.workflow.publishing import published_report
from dfah_cli.workflow.verification import Verification, verify_run
from tests.tamper.verify_runs import a_finished_run, broken, evidence_files, forged

HERE = Path(__file__).parent
PACKED = sorted(HERE.glob("*.tar.xz"))
RUNS = ("candidate", "failures", "finished")


@pytest.fixture(scope="module", params=PACKED, ids=lambda place: place.name.removesuffix(".tar.xz"))
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runs that one version recorded."""
    return unpacked(request.param, tmp_path_factory.mktemp("frozen"))


def unpacked(packed: Path, place: Path) -> Path:
    with tarfile.open(packed) as tar:
        tar.extractall(place, filter="data")
    for found in place.rglob("*/"):
        found.chmod(0o700)  # extraction takes the modes of files only
    return place


@pytest.mark.parametrize("name", RUNS)
def test_a_run_of_an_earlier_version_holds_in_every_claim(folder: Path, name: str) -> None:
    found = verify_run(folder / name)
    assert [check for check in found.checks if check.status is CheckStatus.FAIL] == []
    assert found.checked is not None
    assert found.checked.reports
    assert found.checked.gates


def test_a_report_of_an_earlier_version_lies_here_in_every_form() -> None:
    kept = set()
    for packed in PACKED:
        with tarfile.open(packed) as tar:
            member = tar.extractfile("./finished/reports/1.json")
            assert member is not None
            stated = json.load(member)
            kept.add((stated["schema_version"], tuple(name for name in ("replay_spread",) if name not in stated)))
    assert kept == {(form.version, form.without) for form in FORMS if form.version != CURRENT}


@pytest.mark.parametrize("name", RUNS)
def test_what_is_recorded_in_an_earlier_version_needs_no_new_report(folder: Path, name: str) -> None:
    found = analyze(folder / name)
    assert found.report.schema_version == CURRENT
    assert published_report(found.verified, found.report) == max(body["ordinal"] for body in found.verified.reports)


def test_another_verdict_on_an_earlier_version_comes_with_a_report_of_this_one(folder: Path, tmp_path: Path) -> None:
    run = shutil.copytree(folder / "finished", tmp_path / "run")
    before, found, policy = evidence_files(run), analyze(run), GatePolicy(min_dar=0.5)
    result = judged(found, policy, on=date(2026, 1, 31))
    assert result.result is not None
    kept = keep_attempt(found, policy, result.result, result.grounds, SystemClock())
    assert (kept.ordinal, kept.why) == (4, None)
    after = verify_run(run)
    assert not after.broken
    assert after.checked is not None
    versions = [report.schema_version for _, report in sorted(after.checked.reports.items())]
    assert versions == [*["1.0"] * 3, CURRENT]
    kept_bytes = {name: payload for name, payload in evidence_files(run).items() if name in before}
    assert {name for name in before if before[name] != kept_bytes[name]} == {"SHA256SUMS"}


def test_a_report_that_was_kept_elsewhere_is_found_in_its_run(folder: Path) -> None:
    text = json.loads((folder / "failures" / "reports" / "1.json").read_text("utf-8"))
    stated = read_report(text, "1.json")
    assert stated.schema_version == "1.0"
    assert stated.verify_artifacts(folder / "failures").schema_version == CURRENT
    spent = stated.total_cost_nusd + 1
    with pytest.raises(ArtifactError, match=r"says: total_cost_nusd, total_cost_usd differ$"):
        evolve(stated, total_cost_nusd=spent).verify_artifacts(folder / "failures")


def test_a_signature_on_a_run_of_an_earlier_version_holds(tmp_path: Path) -> None:
    run = unpacked(HERE / "report-1.0.tar.xz", tmp_path) / "finished"
    envelope = HERE / "report-1.0.finished.dsse.json"
    found = verify_run(run, attestation=envelope)
    assert (check_of(found, Claim.SIGNATURE).detail, found.broken) == ("1 checked", ())
    pytest.importorskip("cryptography", reason="no cryptography; run: python -m pip install 'dfah-cli[sign]'")
    found = verify_run(run, attestation=envelope, key=HERE / "report-1.0.finished.pub")
    assert (check_of(found, Claim.SIGNATURE).detail, found.broken) == ("2 checked", ())


def check_of(found: Verification, claim: Claim) -> CheckResult:
    return next(check for check in found.checks if check.claim is claim)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return a_finished_run(tmp_path_factory.mktemp("today") / "run")


def restated(payload: bytes, **changes: object) -> bytes:
    """A report file changed by a forger who makes its digest right again; None takes a column away."""
    lines, named = [], json.loads(payload) | changes
    columns = {key: value for key, value in named.items() if value is not None or key not in changes}
    columns = {key: value for key, value in columns.items() if not key.startswith("report_")}
    found = digest(read_columns(columns))
    for key, value in {"report_id": found[:32], "report_sha256": found, **columns}.items():
        lines.append(f"  {json.dumps(key)}: {spelled(value)}")
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def spelled(value: object) -> str:
    def line(item: object) -> str:
        return json.dumps(item, ensure_ascii=False, separators=(",", ":"))

    return "[\n    " + ",\n    ".join(map(line, value)) + "\n  ]" if isinstance(value, list) and value else line(value)


def read_columns(columns: dict[str, object]) -> dict[str, object]:
    return columns | {"case_reports": list(map(_completed, columns["case_reports"]))}  # type: ignore[call-overload]


def test_the_forger_of_these_tests_spells_as_the_program_does(run: Path) -> None:
    payload = (run / "reports" / "1.json").read_bytes()
    assert restated(payload) == payload
    assert json.loads(payload)["schema_version"] == CURRENT


def test_a_column_cannot_be_left_out_of_a_version_that_has_it(run: Path, tmp_path: Path) -> None:
    found = forged(run, tmp_path / "run", payload=lambda kind, text: text if kind == "gate" else restated(
        text, replay_spread=None))  # fmt: skip
    assert {Claim.METRICS, Claim.REPORT} <= broken(found)


def test_a_column_that_a_version_never_had_cannot_be_put_in(run: Path, tmp_path: Path) -> None:
    found = forged(run, tmp_path / "run", payload=lambda kind, text: text if kind == "gate" else restated(
        text, schema_version="1.0", later=1))  # fmt: skip
    assert Claim.REPORT in broken(found)


def test_an_earlier_version_can_be_claimed_only_before_a_later_one(run: Path, tmp_path: Path) -> None:
    """The limit of what can be known without an anchor, and where it ends."""
    older = restated((run / "reports" / "1.json").read_bytes(), schema_version="1.0", replay_spread=None)
    alone = forged(run, tmp_path / "alone", body=lambda b: None if b["t"] == "gate" else b,
                   payload=lambda *_: older)  # fmt: skip
    assert broken(alone) == set()
    assert (alone / "seal.json").read_bytes() != (run / "seal.json").read_bytes()
    reader = LogStore(alone).open_reader()
    tail, stated = reader.tail(), analyze(alone)
    with LogStore(alone).open_writer(
        plan_bytes=reader.plan_bytes, manifest_bytes=reader.manifest_bytes, clock=lambda: "2026-01-31T09:00:00.000000Z"
    ) as writer:
        body = {"log_n": tail.n, "log_root": tail.root, "commitment": stated.verified.commitment}
        writer.publish_report((run / "reports" / "1.json").read_bytes(), body)
        assert broken(alone) == set()
        writer.publish_report(older, body)
    check = check_of(verify_run(alone), Claim.REPORT)
    assert check.detail == "report 3 has version 1.0, and report 2 before it 1.1 already"


def test_a_report_taken_back_to_an_earlier_version_after_the_seal_breaks_it(run: Path, tmp_path: Path) -> None:
    copy = forged(run, tmp_path / "run")
    place = copy / "reports" / "1.json"
    place.write_bytes(restated(place.read_bytes(), schema_version="1.0", replay_spread=None))
    assert broken(copy) == {Claim.REPORT}


LATER = f"{version_order(CURRENT)[0]}.{version_order(CURRENT)[1] + 9}"


@pytest.mark.parametrize(
    ("part", "old", "new", "claim", "told"),
    [
        ("report", b'"schema_version": "%b"' % CURRENT.encode(), b'"schema_version": "%b"' % LATER.encode(),
         Claim.REPORT, f"reports/1.json has version {LATER}; this program knows {' and '.join(VERSIONS)}."),
        ("gate", b'"schema_version":"1.0"', b'"schema_version":"1.9","new":1', Claim.GATE,
         "gates/1.json has version 1.9; this program knows 1.0."),
    ],
)  # fmt: skip
def test_a_statement_of_a_later_version_is_refused_by_name(
    run: Path, tmp_path: Path, part: str, old: bytes, new: bytes, claim: Claim, told: str
) -> None:
    found = forged(run, tmp_path / "run", payload=lambda kind, text: text if kind != part else text.replace(old, new))
    (check,) = verify_run(found).broken
    assert check.claim is claim
    assert check.newer
    assert check.detail == f"{told} Use a later version of dfah-cli"
    state = diagnose(found)
    assert (state.state, state.exit_code) == ("later version", ExitCode.BAD_EVIDENCE)
    assert "pip install --upgrade dfah-cli" in state.advice[0]


def test_a_seal_of_a_later_version_is_refused_by_name(run: Path, tmp_path: Path) -> None:
    found = forged(run, tmp_path / "run")
    place = found / "seal.json"
    place.write_bytes(place.read_bytes().replace(b'"v":1', b'"v":2'))
    (found / "SHA256SUMS").unlink()
    (check,) = verify_run(found).broken
    assert (check.claim, check.newer) == (Claim.SEAL, True)
    assert check.detail == "seal.json has version 2; this program knows 1. Use a later version of dfah-cli"


def test_a_log_of_a_later_version_is_refused_by_name_and_never_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as later:
        for module in ("dfah_cli.store.vocabulary", "dfah_cli.store.appender", "dfah_cli.store.walk"):
            later.setattr(f"{module}.FORMAT_VERSION", 2)
        found = a_finished_run(tmp_path / "run")
    before = evidence_files(found)
    (check,) = verify_run(found).broken
    assert (check.claim, check.newer) == (Claim.LOG, True)
    assert check.detail == "the log has version 2; this program knows 1. Use a later version of dfah-cli"
    plan, manifest = ((found / name).read_bytes() for name in ("plan.json", "manifest.json"))
    with pytest.raises(NewerVersionError):
        LogStore(found).open_writer(plan_bytes=plan, manifest_bytes=manifest, clock=lambda: "2026-01-31T09:00:00Z")
    assert evidence_files(found) == before


def test_a_detached_report_of_a_later_version_is_refused_by_name(run: Path) -> None:
    value = json.loads((run / "reports" / "1.json").read_text("utf-8"))
    with pytest.raises(NewerVersionError, match=r"old\.json has version 7\.0"):
        read_report(value | {"schema_version": "7.0", "unheard_of": []}, "old.json")
    for wrong in ("0.9", "1", "1.00", None, 1, "later"):
        with pytest.raises(ArtifactError, match="no version that was ever recorded"):
            read_report(value | {"schema_version": wrong}, "old.json")


def test_versions_are_ordered_by_their_numbers() -> None:
    assert sorted(["1.10", "1.9", "2.0"], key=version_order) == ["1.9", "1.10", "2.0"]
    assert FORMS[0].without == ()
