"""verify, log, ls, proof, doctor, rerun, sign and keygen, as they are called."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import tarfile
import zipfile
from importlib import metadata
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from dfah_cli.cli.main import COMMANDS, main
from dfah_cli.evidence.claims import Claim
from dfah_cli.store.log import LogStore
from dfah_cli.workflow.verification import verify_run
from tests.builders import STEADY, a_scripted_agent, replayed
from tests.cli.command import dfah, documents
from tests.tamper.verify_runs import POLICY, a_finished_run, broken

OURS = ("verify", "log", "ls", "proof", "doctor", "rerun", "sign", "keygen")
SPENDING = {"estimated_max_episode_cost_usd": 1.0, "replays": 3}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sealed run with a report and a gate record."""
    return a_finished_run(tmp_path_factory.mktemp("evidence") / "run", {"A": [STEADY], "B": [STEADY]})


@pytest.fixture(autouse=True)
def in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("DFAH_")]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("FORCE_COLOR", raising=False)


def called(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str]:
    """Exit code and standard output of a command, called in this process."""
    capsys.readouterr()
    code = main([*map(str, arguments)])
    return code, capsys.readouterr().out


def document(capsys: pytest.CaptureFixture[str], *arguments: str | Path, code: int = 0) -> Any:
    found, out = called(capsys, *arguments, "--json")
    assert found == code, out
    return json.loads(out)


def spent(out: Path, budget: float, **options: Any) -> None:
    """A run that goes on until its budget is used up."""
    agent = a_scripted_agent({"A": [STEADY], "B": [STEADY]}, cost_usd=1.0)
    replayed(agent, out, budget_usd=budget, **SPENDING, **options)


def every_byte(directory: Path) -> dict[str, tuple[bytes, int]]:
    return {str(f): (f.read_bytes(), f.stat().st_mtime_ns) for f in directory.rglob("*") if f.is_file()}


@pytest.mark.parametrize("name", OURS)
def test_the_help_of_each_command_has_an_example(capsys: pytest.CaptureFixture[str], name: str) -> None:
    code, out = called(capsys, name, "--help")
    assert code == 0
    assert f"\n  dfah {name}" in out
    assert name in COMMANDS


# verify


def test_verify_shows_one_row_for_each_claim(finished: Path) -> None:
    done = dfah("verify", finished, cwd=finished.parent)
    assert done.returncode == 0, done.stderr
    rows = re.findall(r'^claim="?([^"=]+?)"? status="?(pass|fail|not applicable)"?', done.stdout, re.M)
    assert [claim for claim, _ in rows] == [claim.value for claim in Claim]
    assert "fail" not in {status for _, status in rows}
    assert documents(dfah("verify", finished, "--json", cwd=finished.parent))["believed"] is True


def test_verify_ends_with_3_and_names_the_claim_when_one_byte_is_changed(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(finished, run := tmp_path / "run")
    report = run / "reports" / "1.json"
    report.write_bytes(report.read_bytes().replace(b"complete", b"Complete"))
    found = document(capsys, "verify", run, code=3)
    assert [check["claim"] for check in found["checks"] if check["status"] == "fail"] == ["report"]
    assert called(capsys, "verify", run)[0] == 3


def test_verify_ends_with_4_when_all_claims_hold_but_the_run_is_not_complete(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spent(tmp_path / "run", 2.0)
    found = document(capsys, "verify", tmp_path / "run", code=4)
    assert found["believed"] is True
    assert found["facts"]["sealed"] is False


def test_verify_of_something_else_ends_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert called(capsys, "verify", tmp_path / "nothing")[0] == 2
    assert called(capsys, "verify", tmp_path)[0] == 2
    (tmp_path / "file").write_text("x")
    assert called(capsys, "verify", tmp_path / "file")[0] == 2


def test_verify_of_a_run_without_its_plan_ends_with_3(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(finished, run := tmp_path / "run")
    (run / "plan.json").unlink()
    assert called(capsys, "verify", run)[0] == 3


@pytest.mark.parametrize("command", ["verify", "log", "ls", "doctor"])
def test_looking_at_a_run_changes_nothing_in_it(
    finished: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    before = every_byte(finished)
    assert called(capsys, command, finished)[0] == 0
    assert every_byte(finished) == before


def test_a_copy_by_zip_is_verified(finished: Path, tmp_path: Path) -> None:
    packed = shutil.make_archive(str(tmp_path / "run"), "zip", finished)
    with zipfile.ZipFile(packed) as archive:
        files = [name for name in archive.namelist() if not name.endswith("/")]
        archive.extractall(tmp_path / "copy", files)  # modes and empty directories are lost
    assert verify_run(tmp_path / "copy").exit_code == 0


def test_a_copy_by_tar_is_verified(finished: Path, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "run.tar", "w") as archive:
        archive.add(finished, "copy")
    with tarfile.open(tmp_path / "run.tar") as archive:
        archive.extractall(tmp_path, filter="data")
    assert verify_run(tmp_path / "copy").exit_code == 0


@pytest.mark.skipif(not shutil.which("git"), reason="no git; run: apt-get install git")
def test_a_copy_through_git_is_verified(finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished, tmp_path / "origin" / "run")
    for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "run"]):
        subprocess.run(["git", "-C", tmp_path / "origin", *words], check=True, timeout=60)
    subprocess.run(["git", "clone", "-q", tmp_path / "origin", tmp_path / "clone"], check=True, timeout=60)
    assert verify_run(tmp_path / "clone" / "run").exit_code == 0


def test_read_only_media_are_verified(finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished, run := tmp_path / "run")
    mounted = subprocess.run(["mount", "--bind", "-o", "ro", run, run], capture_output=True, check=False, timeout=60)
    if mounted.returncode:
        pytest.skip("needs the right to mount")
    subprocess.run(["mount", "-o", "remount,bind,ro", run], check=True, timeout=60)
    try:
        with pytest.raises(OSError):
            (run / "probe").touch()
        done = dfah("verify", run, cwd=tmp_path)
    finally:
        subprocess.run(["umount", run], check=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_verify_works_beside_a_writer(tmp_path: Path) -> None:
    spent(tmp_path / "run", 2.0)
    reader = LogStore(tmp_path / "run").open_reader()
    with LogStore(tmp_path / "run").open_writer(
        plan_bytes=reader.plan_bytes, manifest_bytes=reader.manifest_bytes, clock=lambda: "2026-01-31T10:00:00.000000Z"
    ) as writer:
        assert verify_run(tmp_path / "run").exit_code == 4
        writer.commit_now([{"t": "note", "kind": "remark", "text_sha256": "0" * 64}])
        assert verify_run(tmp_path / "run").exit_code == 4


def test_a_file_that_nothing_announces_is_told_and_breaks_nothing(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(finished, run := tmp_path / "run")
    (run / "reports" / "7.json").write_text("{}")
    assert document(capsys, "verify", run)["ignored"] == ["reports/7.json"]


# log


def test_log_tells_what_happened_in_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for budget in (2.0, 9.0):
        spent(tmp_path / "run", budget, gate=POLICY)
    events = document(capsys, "log", tmp_path / "run")["events"]
    told = [event["what"] for event in events if event["what"] not in ("intent", "episode", "planned")]
    first, second = ["session", "stop", "report", "gate"], ["session", "closed", "log continued", "report", "gate"]
    assert told in (first + second, [*first, "log continued", *second])
    assert [event["n"] for event in events] == sorted(event["n"] for event in events)
    assert sum(event["what"] == "episode" for event in events) == 6
    assert next(event for event in events if event["what"] == "stop")["reason"] == "budget_stop"
    assert document(capsys, "log", tmp_path / "run", "--tail", "2")["events"] == events[-2:]


def test_log_of_one_case_shows_only_its_events(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = document(capsys, "log", finished, "--case", "A")["events"]
    assert [event["what"] for event in events] == ["intent", "episode"] * 2
    assert {event["case_id"] for event in events} == {"A"}
    assert called(capsys, "log", finished, "--case", "nobody")[0] == 2


def test_log_tells_people_dollars_and_seconds_and_programs_exact_numbers(
    finished: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert " latency_us=" in called(capsys, "log", finished)[1]
    for name, value in (("FORCE_COLOR", "1"), ("NO_COLOR", "1"), ("COLUMNS", "300")):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("CI", raising=False)
    told = called(capsys, "log", finished)[1]
    assert re.search(r"latency [0-9.]+ ms", told)
    assert "capture tool arguments no" in told
    assert not re.search(r" (nusd|us|sha256|w) ", told)


def test_log_of_a_damaged_run_shows_what_precedes_the_damage_and_ends_with_3(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(finished, run := tmp_path / "run")
    log = run / "segments" / "00000000.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"t":"close"', b'"t":"Close"'))
    code, out = called(capsys, "log", run)
    assert code == 3
    assert "what=session" in out
    assert "what=closed" not in out


# ls


def test_ls_shows_sound_damaged_unfinished_and_held_runs(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("damaged", "deep/er/sound", "held"):
        shutil.copytree(finished, tmp_path / name)
    (tmp_path / "damaged" / "plan.json").write_text("{}")
    spent(tmp_path / "unfinished", 2.0)
    (tmp_path / "held" / "lease.json").write_bytes(a_lease(pid=os.getpid()))
    runs = {Path(run["run"]).name: run for run in document(capsys, "ls", tmp_path)["runs"]}
    assert {name: run["state"] for name, run in runs.items()} == {
        "damaged": "damaged",
        "sound": "sealed",
        "held": "running",
        "unfinished": "unfinished",
    }
    sound, unfinished = runs["sound"], runs["unfinished"]
    assert (sound["status"], sound["episodes"], sound["dar"], sound["gate"]) == ("complete", 4, 1.0, "pass")
    assert (unfinished["episodes"], unfinished["episodes_planned"]) == (2, 6)
    assert unfinished["cost_nusd"] == 2_000_000_000
    assert called(capsys, "ls", tmp_path)[1].count("run=") == 4
    assert called(capsys, "ls", tmp_path / "none")[0] == 2


def a_lease(**changes: Any) -> bytes:
    """A lease of this machine and boot."""
    from attrs import asdict

    from dfah_cli.store.host import Host
    from dfah_cli.store.lease import my_lease

    return json.dumps(asdict(my_lease(Host(), "0" * 64, "2026-01-31T09:00:00Z")) | changes).encode()


# doctor


def test_doctor_names_each_state_and_what_to_do(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spent(tmp_path / "run", 2.0)
    shutil.copytree(finished, tmp_path / "damaged")
    (tmp_path / "damaged" / "gates" / "1.json").write_text("{}")
    sealed = document(capsys, "doctor", finished)
    resumable = document(capsys, "doctor", tmp_path / "run", code=4)
    damaged = document(capsys, "doctor", tmp_path / "damaged", code=3)
    assert [found["state"] for found in (sealed, resumable, damaged)] == ["sealed", "resumable", "damaged"]
    assert "original command" in resumable["advice"][0]
    assert "gate record" in damaged["advice"][0]


def test_doctor_tells_of_optional_packages_and_never_fails_for_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def version(name: str) -> str:
        if name == "ray":
            raise PackageNotFoundError(name)
        return "0.10.0" if name == "obstore" else found(name)

    found = metadata.version
    monkeypatch.setattr(metadata, "version", version)
    checks = {check["check"]: (check["status"], check["detail"]) for check in document(capsys, "doctor")["checks"]}
    assert checks["ray"] == ("optional", "not installed; for engine=ray run: python -m pip install 'dfah-cli[ray]'")
    assert checks["obstore"] == ("pass", "0.10.0, for runs in an object storage")


def test_doctor_gives_the_exact_command_that_recovers_a_stale_lease(here: Path) -> None:
    (here / "mortal.py").write_text(MORTAL)
    options = ("--agent", "mortal:dying", "--replays", "4", "--limit", "1", "--seed", "7", "--out", "run x")
    assert dfah("run", *options, cwd=here, env={"DIES": "1"}).returncode == -9
    found = documents(dfah("doctor", "run x", "--json", cwd=here))
    assert (found["state"], found["exit_code"]) == ("stale lease", 5)
    details = {check["check"]: check["detail"] for check in found["checks"]}
    assert "which is gone" in details["writer"]
    assert details["open intents"].startswith("1 may have reached the provider")
    command = found["advice"][0].partition(": ")[2]
    assert command.endswith("--out 'run x' --recover-stale-lease")
    again = dfah(*shlex.split(command)[1:], cwd=here)
    assert again.returncode == 4, again.stderr  # what may have reached the provider is not sent again
    assert not (here / "run x" / "lease.json").exists()
    healed = documents(dfah("doctor", "run x", "--json", cwd=here))
    assert healed["state"] == "sealed"
    assert "dfah rerun 'run x' --ineligible" in healed["advice"][0]


MORTAL = """
import os, signal
from dfah import agent
from dfah.demo import toy_agent, toy_suite

@agent(manifest=toy_agent.manifest, tools=toy_agent.tools, suite=toy_suite)
async def dying(case, context):
    if os.environ.get("DIES") and context.replay_index == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return await toy_agent.arun(case, context)
"""


def test_doctor_names_process_and_host_of_a_live_writer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spent(run := tmp_path / "run", 2.0)
    (run / "lease.json").write_bytes(a_lease())
    (run / "lease.json").chmod(0o600)
    found = document(capsys, "doctor", run, code=5)
    assert found["state"] == "locked"
    told = next(check["detail"] for check in found["checks"] if check["check"] == "writer")
    assert f"pid {os.getpid()} on " in told
    (run / "lease.json").write_bytes(a_lease(boot_id="x", machine="y", token="t" * 32))
    assert "--lease-token tttt" in document(capsys, "doctor", run, code=5)["advice"][0]


# proof


def test_proof_writes_a_proof_of_one_episode(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = called(capsys, "proof", finished, "--episode", "B/1", "-o", tmp_path / "proof.json")
    assert code == 0
    assert "commitment=" in out
    proof = json.loads((tmp_path / "proof.json").read_text())
    key = json.loads(proof["record"])["k"]
    assert document(capsys, "proof", finished, "--episode", key) == proof
    assert (proof["case_id"], proof["replay_index"]) == ("B", 1)
    for wrong in ("B", "B/9", "nobody/0", "f" * 64):
        assert called(capsys, "proof", finished, "--episode", wrong)[0] == 2


# rerun


def test_rerun_makes_a_successor_of_what_could_not_be_judged(here: Path) -> None:
    (here / "again.py").write_text(SUCCEEDING)
    assert dfah("run", "--agent", "again:sometimes", "--out", "run", cwd=here).returncode == 4
    parent = documents(dfah("verify", "run", "--json", cwd=here))["facts"]
    env = {"AGAIN_SUCCEEDS": "1"}
    done = dfah("rerun", "run", "--ineligible", "--out", "new", cwd=here, env=env)
    assert done.returncode == 0, done.stderr
    assert parent["commitment"] in done.stderr
    plan, parent_plan = (json.loads((here / name / "plan.json").read_bytes()) for name in ("new", "run"))
    assert list(plan["case_tasks"]) == ["CASE-002"]
    assert plan["replays"] == parent_plan["replays"]
    session = next(e for e in documents(dfah("log", "new", "--json", cwd=here))["events"] if e["what"] == "session")
    assert session["parent_commitment"] == parent["commitment"]
    assert session["parent_run_plan_sha256"] == parent["run_plan_sha256"]
    keys = [(here / f"keys-{name}").read_text().split() for name in ("fails", "succeeds")]
    assert len(keys[0]) == 6
    assert not set(keys[0]) & set(keys[1])
    assert documents(dfah("verify", "run", "--json", cwd=here))["facts"] == parent
    again = dfah("rerun", "run", "--ineligible", "--out", "new", "--json", cwd=here, env=env)
    assert documents(again)["run"]["calls_made"] == 0


SUCCEEDING = """
import os
from dfah import agent
from dfah.demo import toy_agent, toy_suite

@agent(manifest=toy_agent.manifest, tools=toy_agent.tools, suite=toy_suite)
async def sometimes(case, context):
    succeeds = os.environ.get("AGAIN_SUCCEEDS")
    with open("keys-succeeds" if succeeds else "keys-fails", "a") as file:
        print(context.idempotency_key, file=file)
    if case.artifact_case_id == "CASE-002" and not succeeds:
        raise ValueError("no")
    return await toy_agent.arun(case, context)
"""


def test_rerun_refuses_what_is_no_succession(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = tmp_path / "new"
    assert called(capsys, "rerun", finished, "--out", new)[0] == 2
    assert called(capsys, "rerun", finished, "--ineligible", "--out", new)[0] == 2  # every case is eligible
    spent(tmp_path / "run", 2.0)
    assert called(capsys, "rerun", tmp_path / "run", "--ineligible", "--out", new)[0] == 2  # can still be resumed
    assert not new.exists()


def test_rerun_of_every_case_is_another_plan_and_never_another_run(tmp_path: Path) -> None:
    from dfah_cli.errors import ConfigurationError
    from dfah_cli.workflow.succession import succeed

    agent = a_scripted_agent({"A": [lambda case, context: 1 / 0]})
    replayed(agent, tmp_path / "run", replays=2)
    found = succeed(tmp_path / "run", tmp_path / "new", agent="a:b", suite="s")
    assert found.cases == ("A",)
    assert found.request.seed == 43
    replayed(agent, tmp_path / "new", replays=2, seed=43)  # the same design, and no successor
    for out in ("run", "new"):
        with pytest.raises(ConfigurationError):
            succeed(tmp_path / "run", tmp_path / out, agent="a:b", suite="s")


# sign


@pytest.fixture
def keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    pytest.importorskip("cryptography", reason="no cryptography; run: python -m pip install 'dfah-cli[sign]'")
    assert called(capsys, "keygen", tmp_path / "key")[0] == 0
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    return tmp_path / "key"


def test_keygen_never_overwrites_a_key(keys: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = keys.read_bytes()
    assert called(capsys, "keygen", keys)[0] == 2
    assert keys.read_bytes() == before


def test_a_signed_run_is_verified_with_the_right_key_only(
    finished: Path, tmp_path: Path, keys: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(finished, run := tmp_path / "run")
    assert called(capsys, "verify", run, "--key", f"{keys}.pub")[0] == 3  # not signed yet
    assert document(capsys, "sign", run, "--key", keys)["result"] == "PASSED"
    assert called(capsys, "verify", run)[0] == 0
    assert called(capsys, "verify", run, "--key", f"{keys}.pub")[0] == 0
    other = tmp_path / "other"
    assert called(capsys, "keygen", other)[0] == 0
    assert called(capsys, "verify", run, "--key", f"{other}.pub")[0] == 3
    assert document(capsys, "sign", run, "--key", other)["signatures"] == 2
    for key in (keys, other):
        assert called(capsys, "verify", run, "--key", f"{key}.pub")[0] == 0
    assert document(capsys, "sign", run, "--key", other)["signatures"] == 2
    assert subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=run, check=False).returncode == 0


def test_the_envelope_is_a_dsse_of_an_in_toto_test_result(
    finished: Path, tmp_path: Path, keys: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from base64 import b64decode, b64encode

    shutil.copytree(finished, run := tmp_path / "run")
    assert called(capsys, "sign", run, "--key", keys, "-o", tmp_path / "e.json")[0] == 0
    assert not (run / "attestation.dsse.json").exists()
    envelope = json.loads((tmp_path / "e.json").read_text())
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    statement = json.loads(b64decode(envelope["payload"]))
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    predicate = statement["predicate"]
    assert predicate["result"] == "PASSED"
    assert predicate["failedTests"] == predicate["warnedTests"] == []
    assert {"gate/dar", "gate/gap"} <= set(predicate["passedTests"])
    assert called(capsys, "verify", run, "--key", f"{keys}.pub", "--attestation", tmp_path / "e.json")[0] == 0
    statement["predicate"]["passedTests"].append("gate/correctness")
    envelope["payload"] = b64encode(json.dumps(statement).encode()).decode()
    (run / "attestation.dsse.json").write_text(json.dumps(envelope))
    assert broken(run) == {Claim.SIGNATURE}
    (run / "attestation.dsse.json").write_text("{}")
    assert broken(run) == {Claim.SIGNATURE}


def test_only_a_sealed_and_gated_run_is_signed(
    finished: Path, tmp_path: Path, keys: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spent(tmp_path / "unfinished", 2.0, gate=POLICY)
    assert called(capsys, "sign", tmp_path / "unfinished", "--key", keys)[0] == 2
    a_finished_run(tmp_path / "ungated", gate=None)
    assert main(["sign", str(tmp_path / "ungated"), "--key", str(keys)]) == 2
    assert f"dfah gate {tmp_path / 'ungated'} POLICY" in capsys.readouterr().err
    assert called(capsys, "gate", tmp_path / "ungated", "strict")[0] == 0
    assert called(capsys, "sign", tmp_path / "ungated", "--key", keys)[0] == 0
    shutil.copytree(finished, run := tmp_path / "run")
    (run / "gates" / "1.json").write_text("{}")
    assert called(capsys, "sign", run, "--key", keys)[0] == 3
    assert called(capsys, "sign", finished, "--key", f"{keys}.pub")[0] == 2
    assert not (run / "attestation.dsse.json").exists()


def test_a_failed_gate_is_signed_as_failed(tmp_path: Path, keys: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = a_finished_run(tmp_path / "run", {"A": [("Y", "T"), ("N", "T")]})
    assert document(capsys, "sign", run, "--key", keys)["result"] == "FAILED"
    assert called(capsys, "verify", run, "--key", f"{keys}.pub")[0] == 0


def test_signing_without_the_library_says_how_to_install_it(finished: Path, tmp_path: Path) -> None:
    (tmp_path / "cryptography.py").write_text("raise ImportError('not here')\n")
    done = dfah("sign", finished, "--key", "k", cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 2
    assert "python -m pip install 'dfah-cli[sign]'" in done.stderr
    assert dfah("verify", finished, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}).returncode == 0
