"""What every command prints with `--json`, against the schemas that are published for it."""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest
from jsonschema import Draft202012Validator

from dfah_cli.cli.main import COMMANDS
from dfah_cli.loading.documents import document_formats, document_schema
from dfah_cli.records.manifest import Manifest
from dfah_cli.records.run_plan import RunPlan
from dfah_cli.report.schema import of
from tests.cli.command import DFAH, dfah, documents, environment
from tests.cli.dfah_run import forked

TOY = ("--agent", "dfah.demo:toy_agent")
REPLAY = {"configuration_id": "c", "case_id": "A", "decision": "x", "tool_calls": [{"name": "t"}]}

# Command line -> exit code. {stable}, {unstable}, {partial}: recorded runs. The order matters where files are made.
CALLS: dict[str, int] = {
    "run --agent dfah.demo:toy_agent --out fresh": 0,
    "run --agent dfah.demo:toy_agent --out gated --policy strict --mode blocking": 0,
    "run --agent dfah.demo:toy_agent --dry-run": 0,
    "check-agent --agent dfah.demo:toy_agent": 0,
    "analyze {unstable}": 0,
    "analyze {partial}": 4,
    "analyze {unstable} --times": 0,
    "verify {stable}": 0,
    "verify {altered}": 3,
    "log {partial}": 0,
    "ls .": 0,
    "watch {stable} {altered} --once": 0,
    "watch {partial}": 0,
    "copy {stable} copied": 0,
    "proof {stable} --episode CASE-001/0": 0,
    "rerun {partial} --ineligible --out again --agent dfah.demo:toy_agent --dry-run": 0,
    "inspect {unstable}": 0,
    "inspect {partial}": 0,
    "inspect {unstable} --case SAN-001": 0,
    "gate {unstable} strict": 1,
    "compare {stable} fresh": 0,
    "baseline accept {unstable} -o pinned.json": 0,
    "compare pinned.json {unstable} --margin-dar 0.05 --margin-flags 5": 4,
    "compare {unstable} {unstable} --aa": 0,
    "report {stable} -o r.html": 0,
    "report {stable} {unstable} -o all.html": 0,
    "export {stable} --format csv -o c.csv": 0,
    "export {stable} --format otlp -o spans.jsonl": 0,
    "measure spans.jsonl": 0,
    "export {partial} --out record --aggregate-only": 0,
    "attribute --agent dfah.demo:unstable_toy_agent --out split --tools-file tools.jsonl": 0,
    "attribute --agent dfah.demo:unstable_toy_agent --out split --tools-file tools.jsonl --dry-run": 0,
    "measure replays.jsonl": 0,
    "power --max-flag-rate 0.05 --expect 0.01": 0,
    "power --budget-calls 300": 0,
    "init project": 0,
    "lint project": 0,
    "plan show suite=toy-risk": 0,
    "suites list": 0,
    "suites validate toy-risk": 0,
    "suites show toy-risk": 0,
    "manifest show {stable}": 0,
    "doctor": 0,
    "doctor {partial}": 4,
    "doctor {altered}": 3,
    "version": 0,
}
IN_PROJECT = {"plan show --all": 0, "plan lock": 0, "plan check": 0, "plan diff one.json two.json": 0}
SIGNING = {"keygen pair.pem": 0, "sign fresh --key pair.pem": 0}
ENDLESS = "demo-provider"
IN_STORAGE = "pack"
"""Needs an object storage: tests/workflow/test_copying.py holds its document to the schema."""


@pytest.fixture(scope="module")
def place(
    stable_run: Path, unstable_run: Path, partial_run: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """Names of recorded runs, and a directory to work in as `here`."""
    here = tmp_path_factory.mktemp("documents")
    altered = Path(shutil.copytree(partial_run, here / "altered"))
    segment = altered / "segments" / "00000000.jsonl"
    segment.write_bytes(segment.read_bytes()[:-4096])
    lines = [json.dumps(REPLAY | {"replay_index": number}) for number in range(3)]
    (here / "replays.jsonl").write_text("\n".join(lines) + "\n")
    runs = {"stable": stable_run, "unstable": unstable_run, "partial": partial_run, "altered": altered}
    return {"here": str(here), **{name: str(path) for name, path in runs.items()}}


def problems(document: dict[str, Any]) -> list[str]:
    validator = Draft202012Validator(document_schema(document["format"]))
    return [f"{list(error.path)}: {error.message}" for error in validator.iter_errors(document)]


def printed(call: str, place: dict[str, str], cwd: Path, code: int) -> dict[str, Any]:
    done = dfah(*call.format(**place).split(), "--json", cwd=cwd)
    assert done.returncode == code, (call, done.stderr)
    document: dict[str, Any] = documents(done)
    return document


def with_json(command: click.Command, name: str) -> Iterator[str]:
    """Names of the command, or of its subcommands, that have `--json`."""
    if any("--json" in parameter.opts for parameter in command.params):
        yield name
    elif isinstance(command, click.Group):
        for inner, sub in command.commands.items():
            yield from with_json(sub, f"{name} {inner}")


def test_every_command_with_json_is_in_these_tables() -> None:
    known = {*CALLS, *IN_PROJECT, *SIGNING, ENDLESS, IN_STORAGE}
    for name, (module, _) in COMMANDS.items():
        for full in with_json(import_module(f"dfah_cli.cli.commands.{module}").command, name):
            assert any(f"{call} ".startswith(f"{full} ") for call in known), full


def test_what_the_commands_print_is_valid(place: dict[str, str]) -> None:
    here = Path(place["here"])
    for call, code in CALLS.items():
        assert problems(printed(call, place, here, code)) == [], call


def test_what_plan_commands_print_is_valid(place: dict[str, str], tmp_path: Path) -> None:
    assert dfah("init", ".", cwd=tmp_path).returncode == 0
    shown = [printed("plan show --all", place, tmp_path, 0)]
    (tmp_path / "one.json").write_text(json.dumps(shown[0]))
    changed = copy.deepcopy(shown[0])
    changed["plans"][0]["policy_sha256"], changed["plans"][0]["policy"]["min_dar"] = "0" * 64, 0.5
    (tmp_path / "two.json").write_text(json.dumps(changed))
    for call, code in IN_PROJECT.items():
        document = printed(call, place, tmp_path, code)
        assert problems(document) == [], call
    assert document["changed"] == 1


def test_what_signing_prints_is_valid(place: dict[str, str], tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="no cryptography; run: python -m pip install 'dfah-cli[sign]'")
    assert dfah("run", *TOY, "--out", "fresh", "--policy", "strict", cwd=tmp_path).returncode == 0
    for call, code in SIGNING.items():
        assert problems(printed(call, place, tmp_path, code)) == [], call


def test_what_a_provider_prints_is_valid(tmp_path: Path) -> None:
    started = subprocess.Popen(
        [*DFAH, ENDLESS, "--port", "0", "--json"], cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, text=True
    )
    assert started.stdout is not None
    lines = [started.stdout.readline()]
    while lines[-1] != "}\n":
        lines.append(started.stdout.readline())
    started.terminate()
    started.communicate()
    assert problems(json.loads("".join(lines))) == []


@pytest.mark.parametrize(
    ("arguments", "form"),
    [
        (("suite=toy-risk",), "dfah-report-1"),
        (("suite=toy-risk", "plan=only"), "dfah-plan-1"),
        (("-m", "suite=toy-risk", "replays=2,3"), "dfah-sweep-1"),
        (("-m", "suite=toy-risk", "replays=2,3", "plan=only"), "dfah-plans-1"),
    ],
)
def test_what_dfah_run_prints_is_valid(arguments: tuple[str, ...], form: str, tmp_path: Path) -> None:
    code, out, err = forked(tmp_path, (*arguments, "--json"))
    assert code == 0, err
    document = json.loads(out)
    assert (document["format"], problems(document)) == (form, [])


@pytest.mark.parametrize("name", document_formats())
def test_a_schema_is_well_formed_and_names_its_format(name: str) -> None:
    schema = document_schema(name)
    Draft202012Validator.check_schema(schema)
    assert schema["properties"]["format"] == {"const": name}
    assert schema["$id"] == f"urn:{name}"
    assert not Draft202012Validator(schema).is_valid({"format": name, "unknown": 1})


def test_the_records_in_the_schemas_are_the_records() -> None:
    assert document_schema("dfah-plan-1")["properties"]["plan"] == of(RunPlan)
    assert document_schema("dfah-manifest-1")["properties"]["manifest"] == of(Manifest)


def test_schemas_are_listed_and_printed(tmp_path: Path) -> None:
    listed = dfah("schema", cwd=tmp_path).stdout
    assert all(f"format={name} " in listed for name in document_formats())
    assert json.loads(dfah("schema", "dfah-ls-1", cwd=tmp_path).stdout) == document_schema("dfah-ls-1")
    wrong = dfah("schema", "dfah-ls-2", cwd=tmp_path)
    assert (wrong.returncode, wrong.stdout) == (2, "")
