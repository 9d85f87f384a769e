"""Wrong inputs to `dfah-run`: exit 2, one line with its place and a suggestion, no traceback, nothing written."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import frozen

from tests.cli.dfah_run import forked, spawned

SUITE = """\
suite_id: acme-kyc
suite_version: 1.0.0
decisions: [escalate, dismiss]
cases:
  - {case_id: RISK-001, artifact_case_id: CASE-001, input: {risk_tier: high}}
  - {case_id: RISK-002, artifact_case_id: CASE-002, input: {risk_tier: low}}
"""
GATE = "configs/gate/acme.yaml"
FILE = "suites/acme-kyc.yaml"
USE_GATE = ("suite=acme-kyc", "gate=acme")
USE_SUITE = ("suite=acme-kyc",)


@frozen
class Wrong:
    """A wrong input. arguments: of dfah-run. said: what stands in the one line. file, content: written beforehand."""

    arguments: tuple[str, ...]
    said: str
    file: str | None = None
    content: str | bytes | Callable[[Path], None] | None = None
    lines: int = 1


def gate(content: str | bytes | Callable[[Path], None], said: str) -> Wrong:
    return Wrong(USE_GATE, said, GATE, content)


def suite(content: str | bytes | Callable[[Path], None], said: str) -> Wrong:
    return Wrong(USE_SUITE, said, FILE, content)


def fifo(path: Path) -> None:
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.mkdir()


def loop(path: Path) -> None:
    path.symlink_to(path.name)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def huge(path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(64 * 1024**2 + 1)


def toy(*more: str, said: str, lines: int = 1) -> Wrong:
    return Wrong(("suite=toy-risk", *more), said, lines=lines)


COMMAND_LINE = [
    toy("replay=3", said="'replay' is a config group, not a value: 'replay=3'; did you mean 'replays'?"),
    toy("replays=three", said="command line (replays=three): replays: 'three' is not an integer"),
    toy("replays=2.0", said="replays: 2.0 is not an integer"),
    toy("replays=true", said="replays: true is not an integer"),
    toy("replays=null", said="replays: null is not an integer"),
    toy("replays=1", said="replays: 1 is less than 2"),
    toy("replays=", said="replays: '' is not an integer"),
    toy("replays='3'", said="replays: '3' is not an integer"),
    toy("replays=[3]", said="replays: a list is not an integer"),
    toy("sample_rate=0", said="sample_rate: 0 is not above 0"),
    toy("sample_rate=1.5", said="sample_rate: 1.5 is more than 1"),
    toy("sample_rate=nan", said="sample_rate"),
    toy("episode_timeout_s=-1", said="episode_timeout_s: -1 is not above 0"),
    toy("seed=99999999999999999999999", said="seed"),
    toy("concurrency=0", said="concurrency: 0 is less than 1"),
    toy("limit=0", said="limit: 0 is less than 1"),
    toy("case=1", said="case: 1 is not text or a list or null; for text write '\"1\"'"),
    toy("case=NOPE", said="NOPE"),
    toy("mode=block", said="mode: 'block' is not one of shadow, blocking; did you mean 'blocking'?"),
    toy("mode=blocking", said="mode 'blocking' needs a gate"),
    toy("plan=yes", said="plan: 'yes' is not one of only, null"),
    toy("budget_usd=1", said="budget_usd needs max_episode_cost_usd"),
    toy("budget_usd=-1", said="budget_usd: -1 is not above 0"),
    toy("out=''", said="out: empty text"),
    toy("engine=loca", said="no engine named 'loca'; did you mean 'local'?"),
    toy("engine.workers=0", said="workers: 0 is less than 1"),
    toy("report=[html,pdf]", said="no report named 'pdf' (available: html, json, junit, md)"),
    toy("gate=strct", said="no gate named 'strct'; did you mean 'strict'?"),
    toy("gate=3", said="'gate' is a config group, not a value: 'gate=3' (options: acme, default, "),
    toy("gate={min_dar: 1}", said="'gate' is a config group, not a value"),
    toy("gate.min_darr=1", said="unknown key 'gate.min_darr'; did you mean 'gate.min_dar'?"),
    toy("gate.min_dar=yes", said="min_dar: 'yes' is not a number or null"),
    toy("gate.by_task=[{task: a, min_dr: 1}]", said="unknown key 'min_dr'; did you mean 'min_dar'?"),
    toy("min_dar=1", said="unknown key 'min_dar'; did you mean 'gate.min_dar'?"),
    toy("repalys=3", said="unknown key 'repalys'; did you mean 'replays'?"),
    toy("policy=strict", said="unknown key 'policy'; did you mean 'gate'?"),
    toy("agent=dfah.demo:toy_agent", said="did you mean adapter=dfah.demo:toy_agent?"),
    toy("agent.order=0.1", said="takes no parameters"),
    toy(
        "manifest.model=other", said="manifest.model: the manifest of dfah.demo:toy_agent has 'deterministic-policy-v1'"
    ),
    toy("manifest=nowhere", said="no manifest named 'nowhere'"),
    toy("replays=3", "replays=4", said="'replays' is set 2 times; write it once"),
    toy("+replays=3", said="a key is never added; leave out '+'"),
    toy("~gate", said="a key cannot be deleted; write gate=null"),
    toy("replays=3,5", said="several values are a sweep; add -m, or write one value"),
    toy("gate@x=strict", said="the place of a group is fixed; leave out '@…'"),
    toy("hydra.run.dir=/tmp/x", said="settings of Hydra itself are fixed"),
    toy("hydra/launcher=joblib", said="launchers and sweepers work in a sweep only; add -m"),
    toy("foo/bar=x", said="no group named 'foo/bar'; the groups are suite, manifest, replay, gate, engine, report"),
    toy("replays", said="command line (replays): no value; write replays=VALUE"),
    toy("a b=c", said="cannot be read; put text with blanks or special characters in quotes"),
    toy("seed=${oc.env:HOME}", said="seed: '${oc.env:HOME}' may differ between machines or runs"),
    toy("seed=${now:%S}", said="may differ between machines or runs"),
    toy("replays=${concurrency}", said="is no identity key, and this key is one"),
    toy("replays=${nowhere}", said="is no identity key"),
    toy("store=${nowhere}", said="nowhere"),
    toy("adapter=nonsense", said="nonsense"),
    toy("adapter=no.such.module:agent", said="no.such.module"),
    toy("adapter=json:loads", said="json:loads"),
    toy("adapter=dfah.demo:toy_agnt", said="did you mean 'toy_agent'?"),
    toy("--replays", "3", said="no flag '--replays'; options are written key=value: replays="),
    toy("--agent=x", said="no flag '--agent=x'; options are written key=value: adapter=x"),
    toy("--config-dir", "x", said="configs are read from ./configs and ./suites"),
    toy("--cfg", "jobs", said="--cfg"),
    toy("-cn", "nightly", said="no run config named 'nightly'"),
    toy("-m", "--cfg", "job", said="only one of"),
    Wrong(("replays=3",), "no suite is chosen; write suite=NAME (available: "),
    Wrong(("suite=toy-riks",), "no suite named 'toy-riks'; did you mean 'toy-risk'? (available: "),
    Wrong(("suite=no",), "no suite can be named 'no': the command line reads it as a value"),
    Wrong(("suite=3",), "'suite' is a config group, not a value"),
    Wrong(("suite=../x",), "'../x' is no name of a suite"),
    Wrong(("suite=a/b",), "'a/b' is no name of a suite"),
    Wrong(("suite=Toy_Risk",), "'Toy_Risk' is no name of a suite"),
    Wrong(("-m", "suite=glob(zzz*)"), "no suite matches"),
    Wrong(("-m", "suite=toy-risk", "replays=3,x"), "replays: 'x' is not an integer"),
    Wrong(("-m", "suite=toy-risk", "replays=3,3"), "are one and the same run; drop one of them"),
    Wrong(("-m", "suite=toy-risk", "replays=2,3", "out=here"), "would share here with different designs"),
    Wrong(("-m", "suite=toy-risk", "seed=interval(1,2)"), "an interval has no single values"),
    toy("replays=x", "sed=1", "gate=strct", said="unknown key 'sed'; did you mean 'seed'?", lines=3),
]
CONFIG_FILES = [
    gate("min_darr: 1\n", "configs/gate/acme.yaml:1:1: unknown key 'min_darr'; did you mean 'min_dar'?"),
    gate("min_dar: 0.9\nmax_gap: 0.1\nmin_dar: 0.5\n", "acme.yaml:3:1: duplicate key 'min_dar', first at 1:1"),
    gate("require_complete: yes\n", "acme.yaml:1:19: `yes` is read as true by some YAML readers"),
    gate("min_dar: 09\n", "acme.yaml:1:10: a leading zero"),
    gate("min_dar: 9e-1\n", "acme.yaml:1:10: a number with this exponent"),
    gate("min_dar: .9\n", "acme.yaml:1:10: this number is not written as in JSON"),
    gate('min_dar: "0.9"\n', "acme.yaml:1:10: min_dar: '0.9' is not a number or null"),
    gate("base: &b {min_dar: 1}\n<<: *b\n", "acme.yaml:1:7: the anchor &b is not read"),
    gate("min_dar: !!float 1\n", "acme.yaml:1:10: the tag"),
    gate("min_dar: 1\n---\nmin_dar: 0\n", "acme.yaml:2:1: a second document begins"),
    gate("min_dar:\n\t0.9\n", "acme.yaml:2:1: a tab cannot indent YAML"),
    gate("min_dar: [0.9\n", "acme.yaml:2:1: the list does not go on here"),
    gate("", "acme.yaml:1:1: the file is empty"),
    gate("- min_dar\n", "acme.yaml:1:1: a list is not a mapping"),
    gate("by_task:\n  - task: a\n    min_dr: 1\n", "acme.yaml:3:5: unknown key 'min_dr'; did you mean 'min_dar'?"),
    gate("min_dar: 1.5\n", "acme.yaml:1:10: min_dar: 1.5 is more than 1"),
    gate("# @package _global_\nreplays: 9\n", "a package line is not read"),
    gate("defaults: [{gates: x}]\n", "acme.yaml:1:12: defaults: no group named 'gates'"),
    gate("min_dar: 0.9 # \xe9\n".encode("latin-1"), "acme.yaml:1:16: byte 0xe9 is not UTF-8"),
    gate("min_dar: 0.9\n".encode("utf-16"), "acme.yaml:1:1: the file is UTF-16"),
    gate(b"min_dar: 0.9\x00\n", "acme.yaml:1:13: the character U+0000"),
    gate(fifo, "acme.yaml: is a FIFO, not a file"),
    gate(folder, "acme.yaml: is a directory, not a file"),
    gate(loop, "acme"),
    gate(device, "acme.yaml: is a device, not a file"),
    gate("[" * 5000 + "]" * 5000, "nested deeper than 100 levels"),
    Wrong(USE_SUITE, "adapters.yaml:1:11: acme-kyc: a list is not text", "configs/adapters.yaml", "acme-kyc: [a]\n"),
    Wrong(("-cn", "own"), "configs/own.yaml:3:1: unknown key 'replay'", "configs/own.yaml",
          "defaults: [dfah_run, {override suite: acme-kyc}, _self_]\nseed: 1\nreplay: 3\n"),
    Wrong(("-cn", "own"), "configs/own.yaml:2:7: seed: 'x' is not an integer", "configs/own.yaml",
          "defaults: [dfah_run, {override suite: acme-kyc}, _self_]\nseed: x\n"),
]  # fmt: skip
SUITE_FILES = [
    suite(SUITE + "cass: []\n", "acme-kyc.yaml:7:1: unknown key 'cass'; did you mean 'cases'?"),
    suite(SUITE.replace("[escalate, dismiss]", "[yes, no]"), "acme-kyc.yaml:3:13: `yes` is read as true"),
    suite(SUITE.replace("1.0.0", "1.0"), "acme-kyc.yaml:2:16: suite_version: this number is not text"),
    suite(SUITE.replace("CASE-002", "CASE-001"), "case ids"),
    suite(SUITE.replace("RISK-002", "RISK-002, case_id: RISK-003"), "duplicate key 'case_id'"),
    suite(SUITE.replace("{risk_tier: low}", "12:30:00"), "base 60"),
    suite(SUITE.replace("{risk_tier: low}", '"\\ud83d"'), "lone surrogate"),
    suite(SUITE.replace("CASE-002", "sk-ant-" + "a1" * 20), "credential"),
    suite(SUITE.partition("cases:")[0], "missing key 'cases'"),
    suite(huge, "larger than 64 MiB"),
    suite("a: " + "[" * 200, "nested deeper than 100 levels"),
    suite(fifo, "is a FIFO, not a file"),
]


def label(wrong: Wrong) -> str:
    content = wrong.content if isinstance(wrong.content, str | bytes) else getattr(wrong.content, "__name__", "")
    return f"{' '.join(wrong.arguments)} {content!r}"[:60]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("suites", "configs/gate"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / FILE).write_text(SUITE)
    (tmp_path / GATE).write_text("min_dar: 0.95\n")
    (tmp_path / "configs" / "adapters.yaml").write_text("acme-kyc: dfah.demo:toy_agent\n")
    return tmp_path


ROWS = [*COMMAND_LINE, *CONFIG_FILES, *SUITE_FILES]


@pytest.mark.parametrize("wrong", ROWS, ids=label)
def test_a_wrong_input_is_one_line_and_writes_nothing(project: Path, wrong: Wrong) -> None:
    check(project, wrong, forked)


# The command as a shell starts it, for one row of each kind; the others fork, which saves starting Python.
@pytest.mark.slow
@pytest.mark.parametrize("wrong", ROWS[::12], ids=label)
def test_the_installed_command_refuses_in_the_same_way(project: Path, wrong: Wrong) -> None:
    check(project, wrong, spawned)


def check(project: Path, wrong: Wrong, run: Callable[[Path, tuple[str, ...]], tuple[int, str, str]]) -> None:
    if wrong.file is not None:
        write(project / wrong.file, wrong.content)
    before = listing(project)
    code, out, err = run(project, wrong.arguments)
    said = err.splitlines()
    assert code == 2, err
    assert any(wrong.said in line for line in said), said
    assert len(said) == wrong.lines, said
    assert all(line.startswith("dfah-run: ") for line in said)
    assert out == ""
    assert listing(project) == before


def write(path: Path, content: object) -> None:
    path.unlink(missing_ok=True)
    if callable(content):
        content(path)
    else:
        path.write_bytes(content if isinstance(content, bytes) else str(content).encode())


def listing(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_the_table_is_long_enough() -> None:
    assert len(COMMAND_LINE) + len(CONFIG_FILES) + len(SUITE_FILES) >= 60
