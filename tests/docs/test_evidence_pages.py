"""The recipes of the evidence pages are run as they stand there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from dfah_cli.evidence.claims import Claim
from dfah_cli.merkle import commitment, inclusion_proof, tree_root
from dfah_cli.workflow.diagnosis import STATES
from dfah_cli.workflow.proofs import prove
from dfah_cli.workflow.signing import make_keys, sign_run
from tests.builders import ROOT, STEADY
from tests.tamper.verify_runs import a_finished_run

TOOLS = ("bash", "jq", "sha256sum")
needs_tools = pytest.mark.skipif(not all(map(shutil.which, TOOLS)), reason="needs bash, jq and GNU coreutils")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    paths = {"A": [("Y", "T U"), ("Y", "U T"), ("N", "T")], "B": [STEADY], "ü": [("Y", "k=1"), ("Y", ""), ("Y", "T")]}
    return a_finished_run(tmp_path_factory.mktemp("pages") / "run", paths, replays=3)


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def shell(recipe: str, run: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    script = f"set -eo pipefail\n{recipe}"
    env = {**os.environ, "RUN": str(run), **environment}
    return subprocess.run(["bash", "-c", script], env=env, capture_output=True, text=True, timeout=120, check=False)


@needs_tools
@pytest.mark.parametrize("number", range(len(blocks("evidence.md", "sh"))))
def test_a_recipe_of_the_evidence_page_accepts_a_sound_run(finished: Path, number: int) -> None:
    done = shell(blocks("evidence.md", "sh")[number], finished)
    assert done.returncode == 0, done.stderr + done.stdout


ALTERED = {
    0: ("reports/1.json", b'"total_cost_nusd": 0', b'"total_cost_nusd": 1'),
    1: ("plan.json", b'"seed":42', b'"seed":43'),
    2: ("segments/00000000.jsonl", b'"decision":"n"', b'"decision":"y"'),
    3: ("seal.json", b'"episode_root":"', b'"episode_root":"0'),
    5: ("segments/00000000.jsonl", b'"replay_index":2', b'"replay_index":1'),
    6: ("segments/00000000.jsonl", b'"decision":"n"', b'"decision":"y"'),
    7: ("gates/1.json", b'"verdict":"fail"', b'"verdict":"pass"'),
}


@needs_tools
@pytest.mark.parametrize("number", ALTERED)
def test_a_recipe_of_the_evidence_page_refuses_an_altered_run(finished: Path, tmp_path: Path, number: int) -> None:
    shutil.copytree(finished, run := tmp_path / "run")
    name, old, new = ALTERED[number]
    before = (run / name).read_bytes()
    assert old in before
    (run / name).write_bytes(before.replace(old, new, 1))
    assert shell(blocks("evidence.md", "sh")[number], run).returncode != 0


@needs_tools
@pytest.mark.skipif(not shutil.which("openssl"), reason="no openssl; run: apt-get install openssl")
def test_the_signature_recipe_accepts_the_right_key_only(finished: Path, tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="no cryptography; run: python -m pip install 'dfah-cli[sign]'")
    (recipe,) = blocks("evidence.md", "sh signed")
    make_keys(tmp_path / "mine")
    make_keys(tmp_path / "other")
    sign_run(finished, tmp_path / "mine")
    try:
        done = shell(recipe, finished, KEY=str(tmp_path / "mine.pub"))
        assert done.returncode == 0, done.stderr
        assert shell(recipe, finished, KEY=str(tmp_path / "other.pub")).returncode != 0
    finally:
        (finished / "attestation.dsse.json").unlink()


def test_the_evidence_page_tells_every_claim() -> None:
    page = (ROOT / "docs" / "evidence.md").read_text("utf-8")
    told = {name.strip() for row in re.findall(r"^\| ([^|`]+) \|", page, re.M) for name in row.split(",")}
    assert {claim.value for claim in Claim} <= told


def test_the_evidence_page_tells_every_state_that_doctor_knows() -> None:
    section = (ROOT / "docs" / "evidence.md").read_text("utf-8").partition("## What state a run is in")[2]
    told = re.findall(r"^\| ([a-z ]+) \|", section.partition("\n## ")[0], re.M)
    assert tuple(told[1:]) == STATES


def check(proof: Path, published: str) -> int:
    (snippet,) = blocks("proof.md", "python")
    done = subprocess.run(
        [sys.executable, "-c", snippet, proof, published], capture_output=True, timeout=60, check=False
    )
    return done.returncode


def test_the_check_of_the_proof_page_agrees_with_the_tree_of_every_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (snippet,) = blocks("proof.md", "python")
    program = compile(snippet, "proof.md", "exec")
    place = tmp_path / "proof.json"
    for size in range(1, 35):
        records = [f"record {number}" for number in range(size)]
        digests = [sha256(record.encode()).digest() for record in records]
        root = tree_root(digests).hex()
        stated = commitment(episodes=size, episode_root=root, plan_sha256="p")
        monkeypatch.setattr(sys, "argv", ["check.py", str(place), stated])
        for index in range(size):
            path = [node.hex() for node in inclusion_proof(digests, index)]
            proof = {
                "record": records[index],
                "h": digests[index].hex(),
                "index": index,
                "episodes": size,
                "path": path,
            }
            named = {"plan": "p", "commitment": stated, "episode_root": root, "case_id": "A", "replay_index": 0}
            place.write_text(json.dumps(proof | named))
            exec(program, {})
            place.write_text(json.dumps(proof | named | {"index": (index + 1) % (size + 1)}))
            with pytest.raises(AssertionError):
                exec(program, {})


CHECKS = {
    "shell": ("sh check", "check.sh", ("bash", "jq", "sha256sum"), "apt-get install bash jq coreutils"),
    "javascript": ("js", "check.mjs", ("node",), "apt-get install nodejs"),
}


@pytest.mark.parametrize("language", CHECKS)
def test_the_check_of_the_proof_page_is_the_same_in_every_language(
    finished: Path, tmp_path: Path, language: str
) -> None:
    block, name, tools, install = CHECKS[language]
    if not all(map(shutil.which, tools)):
        pytest.skip(f"no {' or no '.join(tools)}; run: {install}")
    (program,) = blocks("proof.md", block)
    (tmp_path / name).write_text(program, "utf-8")
    place = tmp_path / "proof.json"

    def holds(proof: dict[str, object], published: str) -> bool:
        place.write_text(json.dumps(proof), "utf-8")
        words = [tools[0], str(tmp_path / name), str(place), published]
        return subprocess.run(words, capture_output=True, timeout=60, check=False).returncode == 0

    # Alone; a full row and the last of an odd one; the last of two odd rows.
    for size, indices in ((1, (0,)), (3, (1, 2)), (5, (0, 4))):
        # What a shell or an encoder may change on the way.
        records = [f'{{"ü":"%s \\n$(x) {number}"}}' for number in range(size)]
        digests = [sha256(record.encode()).digest() for record in records]
        root = tree_root(digests).hex()
        stated = commitment(episodes=size, episode_root=root, plan_sha256="p")
        told = {"plan": "p", "commitment": stated, "episode_root": root, "episodes": size, "case_id": "A"}
        for index in indices:
            path = [node.hex() for node in inclusion_proof(digests, index)]
            proof = {**told, "record": records[index], "h": digests[index].hex(), "index": index, "path": path}
            assert holds(proof, stated)
    for change in ({"index": 2}, {"index": 5}, {"path": []}, {"path": [*path, path[0]]}, {"record": "other"},
                   {"episodes": 7}, {"plan": "q"}, {"h": "0" * 64}, {"episode_root": "0" * 64}):  # fmt: skip
        assert not holds(proof | change, stated), change
    assert not holds(proof, "0" * 64)
    assert holds(prove(finished, "ü/1"), json.loads((finished / "seal.json").read_bytes())["commitment"])


def test_the_check_of_the_proof_page_accepts_every_episode_and_no_other_commitment(
    finished: Path, tmp_path: Path
) -> None:
    published = json.loads((finished / "seal.json").read_bytes())["commitment"]
    for case_id in ("A", "B", "ü"):
        proof = prove(finished, f"{case_id}/1")
        place = tmp_path / "proof.json"
        place.write_text(json.dumps(proof), "utf-8")
        assert check(place, published) == 0
        assert check(place, "0" * 64) != 0
    for change in ({"index": 0}, {"path": proof["path"][:-1]}, {"record": proof["record"] + " "}, {"episodes": 8}):
        place.write_text(json.dumps(proof | change), "utf-8")
        assert check(place, published) != 0
