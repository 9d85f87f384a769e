"""A look of `dfah gate` is kept with the run, or it is said why not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from dfah_cli.canonical import canonical_bytes
from dfah_cli.errors import ArtifactError
from dfah_cli.records.codec import plain
from dfah_cli.records.journal import time_text
from dfah_cli.records.policy import GatePolicy
from dfah_cli.store.log import LogStore
from dfah_cli.workflow.analyze import analyze
from dfah_cli.workflow.attempts import Attempt, keep_attempt
from dfah_cli.workflow.judging import judged
from dfah_cli.workflow.siblings import Relatives, relatives
from tests.builders import FIXED, FixedClock, a_scripted_agent, replayed

LENIENT, STRICT = GatePolicy(min_dar=0.5), GatePolicy(min_dar=1.0)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    replayed(a_scripted_agent({"A": [("Y", "T"), ("N", "T"), ("Y", "T")], "B": [("Y", "T")]}), tmp_path / "run")
    return tmp_path / "run"


def looked(run: Path, policy: GatePolicy) -> Attempt:
    found = analyze(run)
    judgement = judged(found, policy, on=FIXED.date())
    assert judgement.result is not None
    return keep_attempt(found, policy, judgement.result, judgement.grounds, FixedClock())


def test_every_policy_that_is_tried_is_an_attempt(run: Path) -> None:
    assert looked(run, STRICT) == Attempt(ordinal=1, number=1, attempts=1)
    assert looked(run, LENIENT) == Attempt(ordinal=2, number=2, attempts=2)
    verdicts = [json.loads((run / "gates" / f"{n}.json").read_bytes())["result"]["passed"] for n in (1, 2)]
    assert verdicts == [False, True]
    assert [body["attempt"] for body in analyze(run).verified.gates] == [1, 2]


def test_the_same_look_again_is_no_new_attempt(run: Path) -> None:
    looked(run, STRICT)
    looked(run, LENIENT)
    assert looked(run, STRICT) == Attempt(ordinal=1, number=1, attempts=2)


def test_a_run_that_another_writer_holds_is_judged_and_the_attempt_not_kept(run: Path) -> None:
    found = analyze(run)
    plan, manifest = found.verified.plan.encoded, canonical_bytes(plain(found.verified.manifest))
    with LogStore(run).open_writer(plan_bytes=plan, manifest_bytes=manifest, clock=lambda: time_text(FIXED)):
        kept = looked(run, STRICT)
    assert (kept.ordinal, kept.number, kept.attempts) == (None, 1, 0)
    assert kept.why is not None
    assert "writer" in kept.why
    assert not list((run / "gates").iterdir())


def test_a_changed_gate_record_is_found(run: Path) -> None:
    looked(run, STRICT)
    place = run / "gates" / "1.json"
    place.chmod(0o600)
    place.write_bytes(place.read_bytes().replace(b'"passed":false', b'"passed":true'))
    with pytest.raises(ArtifactError):
        analyze(run)


def test_runs_of_the_same_plan_in_the_same_folder_are_named(run: Path) -> None:
    verified = analyze(run).verified
    assert relatives(run, verified) == Relatives(same_plan=(), parent=None)
    shutil.copytree(run, run.parent / "again")
    (run.parent / "unlike").mkdir()
    (run.parent / "unlike" / "plan.json").write_bytes(b" " * len(verified.plan.encoded))
    found = relatives(run, verified)
    assert found.same_plan == ("again",)
    (told,) = found.sentences()
    assert told.startswith("1 more run of the same plan beside this one: again; what is no copy is another try")


def test_a_successor_names_the_run_that_it_succeeds() -> None:
    (told,) = Relatives(same_plan=None, parent={"run_plan_sha256": "a" * 64, "commitment": "b" * 64}).sentences()
    assert "of plan aaaaaaaaaaaa" in told
