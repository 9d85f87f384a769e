"""Suites and policies by name or path: exact, and refused with the place of what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dfah_cli.errors import ConfigurationError
from dfah_cli.loading.policies import load_policy
from dfah_cli.loading.schema_files import properties
from dfah_cli.loading.suites import list_suites, load_suite, suite_value
from dfah_cli.records.policy import GatePolicy, TaskGatePolicy
from dfah_cli.records.suite import Suite

SUITE = """\
suite_id: vec
suite_version: 1.2.3
decisions: ["Yes", "NO"]
tools:
  - name: look
    description: d
    input_schema: {type: object, properties: {k: {type: string}}, required: [k], additionalProperties: false}
  - name: abc
    input_schema: {type: object}
cases:
  - case_id: A
    input: {"b": 1, "a": [true, null, 1.5, "é"]}
  - case_id: B
    artifact_case_id: P-B
    input: x
    task: t2
    metadata: {m: 1}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "suites").mkdir()
    (tmp_path / "configs" / "gate").mkdir(parents=True)
    (tmp_path / "suites" / "vec.yaml").write_text(SUITE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refusal(source: str | Path) -> str:
    with pytest.raises(ConfigurationError) as caught:
        load_suite(source)
    return str(caught.value)


def test_a_suite_by_name_by_path_and_as_json_has_one_identity(project: Path) -> None:
    suite = load_suite("vec")
    assert suite.fixture_hash == "89ec652ca571ffade582a6664d8458133027cb418cf0040334b848f591ad7eff"
    assert suite.tool_schema_hash == "bbe84cc948b7ec7ca478828594e6e8f9562b1f0d6c4b13b17c77048e9bb270cf"
    assert load_suite("./suites/vec.yaml") == load_suite(Path("suites/vec.yaml")) == suite
    Path("other.json").write_text(json.dumps(suite_value(suite)))
    assert load_suite("other.json") == suite
    assert load_suite(suite) is suite
    assert Suite.load("vec") == suite


def test_a_projects_suite_is_listed_with_its_origin(project: Path) -> None:
    assert [(found.name, found.origin) for found in list_suites() if found.name == "vec"] == [("vec", "project")]


def test_an_unknown_name_gets_the_nearest_and_the_list(project: Path) -> None:
    message = refusal("vecc")
    assert message.startswith("no suite named 'vecc'; did you mean 'vec'? (available: ")


@pytest.mark.parametrize("name", ["../vec", "a/b", "Vec", "vec_1", "1a", "", "a--b", "no", "true", "-a", "a.b", "a\nb"])
def test_what_cannot_be_a_name_is_refused(project: Path, name: str) -> None:
    assert "\n" not in refusal(name)


def test_two_files_of_one_name_are_refused(project: Path) -> None:
    (project / "suites" / "vec.json").write_text("{}")
    assert refusal("vec") == "suites/vec.yaml and suites/vec.json have one name; remove one of them"


WRONG = [
    ("suite_id: vec", "suiteid: vec", "suites/vec.yaml:1:1: unknown key 'suiteid'; did you mean 'suite_id'?"),
    ("suite_version: 1.2.3", "suite_version: 1.2", "2:16: suite_version: this number is not text"),
    ("suite_version: 1.2.3", "suite_version: v1", "2:16: suite_version: this text is not a semantic version"),
    ("suite_version: 1.2.3", "suite_version: 1.2.3-", "2:16: suite_version: this text is not a semantic version"),
    ('["Yes", "NO"]', "[yes]", "3:13: `yes` is read as true"),
    ('["Yes", "NO"]', '["yes"]', "3:12: decisions: 1 items; at least 2 are needed"),
    ('["Yes", "NO"]', '["a b", "c"]', "3:12: Suite.decisions"),
    ("    input: x\n", "", "13:5: missing key 'input'"),
    ("case_id: A", "case_id: 1", "11:14: case_id: this number is not text"),
    ("case_id: A", "id: A", "11:5: unknown key 'id'"),
    ("case_id: A", 'case_id: " "', "11:14: Case.case_id: found an empty or blank string"),
    ("task: t2", 'task: "a\\tb"', "16:11: Case.task"),
    (
        "case_id: A",
        "case_id: P-B",
        "11:3: Suite.cases: found case ids that stand more than once (one without a pseudonym at 1, 2)",
    ),
    ("name: abc", "name: look", "5:3: Suite.tools: found tool names"),
    ("{type: object}", "{type: array}", "9:26: type: this text is not 'object'"),
    ("{type: object}", "{type: object, minProperties: x}", "9:19: ToolSpec.input_schema['minProperties']"),
    ("metadata: {m: 1}", "metadata: [1]", "17:15: metadata: a list is not a mapping"),
]


@pytest.mark.parametrize(("right", "wrong", "said"), WRONG, ids=[wrong[:30] for _, wrong, _ in WRONG])
def test_a_wrong_suite_is_refused_with_its_place(project: Path, right: str, wrong: str, said: str) -> None:
    assert right in SUITE
    (project / "suites" / "vec.yaml").write_text(SUITE.replace(right, wrong))
    message = refusal("vec")
    assert said in message
    assert all(line.startswith("suites/vec.yaml:") for line in message.splitlines())


def test_every_problem_is_named_and_no_value_of_a_case_is(project: Path) -> None:
    text = SUITE.replace("case_id: A", "case_id: 123456").replace("task: t2", "tsk: t2")
    (project / "suites" / "vec.yaml").write_text(text)
    message = refusal("vec")
    assert len(message.splitlines()) == 2
    assert "123456" not in message


def test_a_policy_is_read_by_name_and_by_path(project: Path) -> None:
    path = project / "configs" / "gate" / "acme.yaml"
    path.write_text("min_dar: 1\nmax_gap: null\nby_task:\n  - task: t\n    min_tar_seq: 0.5\n")
    expected = GatePolicy(min_dar=1.0, by_task=(TaskGatePolicy(task="t", min_tar_seq=0.5),))
    assert load_policy("acme") == load_policy(path) == load_policy(str(path)) == expected
    assert load_policy(expected) is expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("min_darr: 1", "1:1: unknown key 'min_darr'; did you mean 'min_dar'?"),
        ("min_dar: yes", "1:10: `yes` is read as true"),
        ('min_dar: "0.9"', "1:10: min_dar: '0.9' is not a number or null"),
        ("min_dar: 1.1", "1:10: min_dar: 1.1 is more than 1"),
        ("min_dar: true", "1:10: min_dar: true is not a number or null"),
        ("required_replays: 3.0", "1:19: required_replays: 3.0 is not an integer or null"),
        ("require_complete: 1", "1:19: require_complete: 1 is not true or false or null"),
        ("min_dar: 0.9\nmin_dar: 0.5", "2:1: duplicate key 'min_dar', first at 1:1"),
        ("by_task: [{task: a}, {task: a}]", "1:10: GatePolicy.by_task"),
        ("by_task: [{min_dar: 1}]", "1:11: missing key 'task'"),
        ("[]", "1:1: a list is not a mapping"),
    ],
)
def test_a_wrong_policy_is_refused_with_its_place(project: Path, text: str, said: str) -> None:
    path = project / "configs" / "gate" / "acme.yaml"
    path.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        load_policy("acme")
    assert f"configs/gate/acme.yaml:{said}" in str(caught.value)


def test_the_gate_schema_knows_exactly_the_keys_of_a_policy() -> None:
    import attrs

    assert set(properties("gate")) == {field.name for field in attrs.fields(GatePolicy)}
    items = properties("gate")["by_task"]["items"]["properties"]
    assert set(items) == {field.name for field in attrs.fields(TaskGatePolicy)}


def test_parallel_calls_are_declared_in_the_suite(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(SUITE + "parallel: [[look, abc]]\n")
    assert load_suite(path).parallel_sets == (("abc", "look"),)
    assert suite_value(load_suite(path))["parallel"] == [["look", "abc"]]


@pytest.mark.parametrize(
    ("declared", "says"), [("[look]", r"parallel"), ("[[look, nobody]]", "found nobody"), ("[[]]", "parallel")]
)
def test_a_wrong_declaration_of_parallel_calls_is_told_with_its_line(tmp_path: Path, declared: str, says: str) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(SUITE + f"parallel: {declared}\n")
    with pytest.raises(ConfigurationError, match=rf"s\.yaml:18:.*{says}"):
        load_suite(path)
