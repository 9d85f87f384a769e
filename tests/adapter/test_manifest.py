from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dfah_cli.adapter.manifest import build_manifest
from dfah_cli.errors import ConfigurationError, ValidationError
from dfah_cli.version import __version__
from tests.adapter.build import a_manifest, a_suite, a_tool
from tests.adapter.test_git import git, repository

__all__ = ["repository"]

PARAMETERS = {"temperature": 0.5, "top_p": 1, "seed": 7, "max_tokens": 10}


def without_hash(**changed: Any) -> Any:
    return a_manifest(implementation_hash=None, **changed)


def test_the_suite_and_the_parameters_fill_the_fields() -> None:
    suite = a_suite(a_tool())
    made = a_manifest(suite, request_parameters=PARAMETERS)
    assert made.decision_ontology == ("yes", "no")
    assert (made.fixture_hash, made.tool_schema_hash) == (suite.fixture_hash, suite.tool_schema_hash)
    assert (made.temperature, made.top_p, made.seed) == (0.5, 1.0, 7)
    assert made.request_parameters == PARAMETERS
    assert made.library_version == __version__
    made.check_suite(suite)


def test_int_and_float_parameters_give_two_manifests() -> None:
    assert a_manifest(request_parameters={"seed": 0}).hash != a_manifest(request_parameters={"seed": 1}).hash
    one, other = ({"temperature": value} for value in (0, 0.0))
    assert a_manifest(request_parameters=one).hash != a_manifest(request_parameters=other).hash


@pytest.mark.parametrize(
    "changed",
    [
        {"request_parameters": {"temperature": "0.9"}},
        {"request_parameters": {"temperature": True}},
        {"request_parameters": {"seed": 1.5}},
        {"request_parameters": {"key": "sk-ant-abcdefghijklmnopqrstuvwxyz"}},
        {"request_parameters": {"x": float("nan")}},
        {"provider": ""},
        {"git_sha": "abc"},
        {"implementation_hash": "F" * 64},
    ],
)
def test_invalid_fields_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        a_manifest(**changed)


@pytest.mark.parametrize(
    ("suite", "parameters", "found"),
    [("toy-risk", {}, "suite of type str"), (None, [], "request_parameters of type list")],
)
def test_wrong_kinds_of_arguments_are_named(suite: Any, parameters: Any, found: str) -> None:
    with pytest.raises(ConfigurationError, match=found):
        build_manifest(suite or a_suite(), provider="p", model="m", adapter="a", request_parameters=parameters)


def test_the_surrounding_commit_stays_out_when_the_code_is_named(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository)
    before = a_manifest()
    (repository / "other.py").write_text("")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "two")
    assert before.git_sha is None
    assert a_manifest().hash == before.hash


def test_a_commit_that_is_passed_is_part_of_the_identity() -> None:
    assert a_manifest(git_sha="0" * 40).hash != a_manifest().hash


def test_without_a_code_hash_the_clean_commit_names_the_code(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository)
    assert without_hash().git_sha == git(repository, "rev-parse", "HEAD")


def test_a_changed_tree_without_a_code_hash_says_what_to_do(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository)
    (repository / "code.py").write_text("x = 2\n")
    with pytest.raises(ConfigurationError, match=r"working tree differs.*implementation_hash"):
        without_hash()


def test_no_repository_without_a_code_hash_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match=r"no git commit.*implementation_hash"):
        without_hash()
