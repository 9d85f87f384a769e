"""What overrides and config files compose to."""

from __future__ import annotations

from pathlib import Path

import pytest

from dfah_cli.config.compose import compose_run, hydra_session
from dfah_cli.config.freeze import freeze
from dfah_cli.config.overrides import check_overrides, for_hydra
from dfah_cli.errors import ConfigurationError
from dfah_cli.records.policy import GatePolicy
from dfah_cli.workflow.freezing import plan_only
from dfah_cli.workflow.request import DECLARED, ReportFile, RunRequest


def frozen(*texts: str, config_name: str = "dfah_run") -> RunRequest:
    overrides = [for_hydra(override) for override in check_overrides(list(texts), sweep=False)]
    with hydra_session():
        return freeze(compose_run(overrides, config_name))


def refusal(*texts: str, config_name: str = "dfah_run") -> str:
    with pytest.raises(ConfigurationError) as caught:
        frozen(*texts, config_name=config_name)
    return str(caught.value)


def test_the_defaults_are_those_of_a_request(project: Path) -> None:
    assert frozen("suite=acme-kyc") == RunRequest(adapter="acme.agents:triage", suite="acme-kyc")


def test_a_group_fills_its_keys_and_an_override_wins(project: Path) -> None:
    request = frozen("suite=acme-kyc", "gate=acme", "gate.max_gap=0.1", "replay=thorough", "seed=7")
    assert request.policy == GatePolicy(min_dar=0.95, max_gap=0.1)
    assert (request.replays, request.seed, request.episode_timeout_s) == (10, 7, 120.0)


def test_no_gate_is_asked_for_when_no_key_of_it_is_set(project: Path) -> None:
    assert frozen("suite=acme-kyc").policy is None
    assert frozen("suite=acme-kyc", "gate.require_complete=true").policy == GatePolicy()


def test_reports_are_chosen_by_name(project: Path) -> None:
    request = frozen("suite=acme-kyc", "report=[html,junit]", "report.junit.file=out.xml")
    assert request.report == (ReportFile(format="html"), ReportFile(format="junit", file="out.xml"))
    assert frozen("suite=acme-kyc", "report=md").report == (ReportFile(format="md"),)


def test_parameters_of_the_adapter_are_the_users_own_keys(project: Path) -> None:
    request = frozen("suite=acme-kyc", "agent.order_swap_rate=0.1", "manifest.request_parameters.top_k=5")
    assert request.agent == {"order_swap_rate": 0.1}
    assert request.expected == {"request_parameters": {"top_k": 5}}


def test_a_mapping_of_ones_own_keys_is_given_key_by_key_or_at_once(project: Path) -> None:
    mappings = (
        "agent={order_swap_rate: 0.1}",
        "manifest.request_parameters={top_k: 5}",
        "engine.resources_per_episode={GPU: 1}",
        "engine=ray",
    )
    request = frozen("suite=acme-kyc", *mappings)
    assert request == frozen(
        "suite=acme-kyc",
        "agent.order_swap_rate=0.1",
        "manifest.request_parameters.top_k=5",
        "engine.resources_per_episode.GPU=1",
        "engine=ray",
    )
    assert request.agent == {"order_swap_rate": 0.1}


def test_one_case_or_several_are_selected(project: Path) -> None:
    assert frozen("suite=acme-kyc", "case=CASE-001").case == ("CASE-001",)
    assert frozen("suite=acme-kyc", "case=[CASE-001,CASE-002]").case == ("CASE-001", "CASE-002")


def test_a_whole_number_and_the_same_float_are_one_request(project: Path) -> None:
    assert frozen("suite=acme-kyc", "sample_rate=1") == frozen("suite=acme-kyc", "sample_rate=1.0")
    assert frozen("suite=acme-kyc", "gate.min_dar=1").policy == GatePolicy(min_dar=1.0)


def test_the_order_of_overrides_does_not_matter(project: Path) -> None:
    texts = ["suite=acme-kyc", "gate=acme", "gate.max_gap=0.2", "replays=4", "replay=smoke", "case=CASE-001"]
    assert frozen(*texts) == frozen(*reversed(texts))


def test_a_projects_config_hides_the_packaged_one(project: Path) -> None:
    (project / "configs" / "gate" / "strict.yaml").write_text("min_dar: 0.5\n")
    assert frozen("suite=acme-kyc", "gate=strict").policy == GatePolicy(min_dar=0.5)
    assert frozen("suite=acme-kyc", "gate=default").policy is not None


def test_a_project_has_run_configs_of_its_own(project: Path) -> None:
    (project / "configs" / "nightly.yaml").write_text(
        "defaults:\n  - dfah_run\n  - override suite: acme-kyc\n  - override gate: acme\n  - _self_\nreplays: 8\n"
    )
    request = frozen("seed=1", config_name="nightly")
    assert (request.suite, request.replays, request.seed) == ("acme-kyc", 8, 1)
    assert frozen("replays=9", config_name="nightly").replays == 9


def test_a_gate_may_build_on_another(project: Path) -> None:
    (project / "configs" / "gate" / "tight.yaml").write_text("defaults: [acme, _self_]\nmax_gap: 0.0\n")
    assert frozen("suite=acme-kyc", "gate=tight").policy == GatePolicy(min_dar=0.95, max_gap=0.0)


def test_every_packaged_suite_has_an_adapter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from dfah_cli.config.freeze import default_adapter
    from dfah_cli.loading.suites import list_suites

    monkeypatch.chdir(tmp_path)
    for suite in list_suites():
        assert default_adapter(suite.name).startswith("dfah.demo:")


def test_what_a_suite_says_never_enters_the_config(project: Path) -> None:
    (project / "suites" / "acme-kyc.yaml").write_text("${oc.env:HOME}\n")
    with hydra_session():
        assert compose_run(["suite=acme-kyc"])["suite"] == "acme-kyc"


REFUSED = [
    ("gate/acme.yaml", "min_darr: 1\n", "configs/gate/acme.yaml:1:1: unknown key 'min_darr'; did you mean 'min_dar'?"),
    ("gate/acme.yaml", "min_dar: 0.9\nmin_dar: 0.5\n", "configs/gate/acme.yaml:2:1: duplicate key 'min_dar'"),
    ("gate/acme.yaml", "require_complete: no\n", "configs/gate/acme.yaml:1:19: `no` is read as false"),
    ("gate/acme.yaml", "- 1\n", "configs/gate/acme.yaml:1:1: a list is not a mapping"),
    ("gate/acme.yaml", "hunter2\n", "configs/gate/acme.yaml:1:1: this text is not a mapping"),
    ("gate/acme.yaml", "# @package _global_\nreplays: 9\n", "configs/gate/acme.yaml:2:1: a package line is not read"),
    ("gate/acme.yaml", "defaults: [{gates: x}]\n", "configs/gate/acme.yaml:1:12: defaults: no group named 'gates'"),
    ("gate/acme.yaml", "defaults: acme\n", "configs/gate/acme.yaml:1:11: defaults: not a list"),
    ("gate/acme.yaml", "defaults: [{gate@x: acme}]\n", "the place of a group is fixed"),
    ("gate/acme.yaml", "defaults: [nowhere]\n", "nowhere"),
    ("gate/acme.yaml", "defaults: [acme]\n", "composing: a defaults list leads back to itself; remove that entry"),
    ("gate/acme.yaml", "min_dar: ${nothing}\n", "nothing"),
    (
        "gate/acme.yaml",
        "min_dar: ${suite}\n",
        "composed config: min_dar: 'acme-kyc' is not a number or null (gate.min_dar)",
    ),
]


@pytest.mark.parametrize(("file", "text", "said"), REFUSED, ids=[text.strip()[:30] for _, text, _ in REFUSED])
def test_a_wrong_config_file_is_refused_with_its_place(project: Path, file: str, text: str, said: str) -> None:
    (project / "configs" / file).write_text(text)
    message = refusal("suite=acme-kyc", "gate=acme")
    assert said in message
    assert "\n" not in message


@pytest.mark.parametrize(
    "text",
    [
        "seed=${oc.env:HOME}",
        "seed=${now:%S}",
        "adapter=${oc.env:ADAPTER}",
        "replays=${concurrency}",
        "manifest.model=${oc.env:MODEL}",
        "agent.x=${oc.env:X}",
        "case=['${oc.env:X}']",
        "adapter='${oc.decode:${oc.env:X}}'",
        "seed=${hydra:job.num}",
    ],
)
def test_an_identity_key_cannot_depend_on_the_machine(project: Path, text: str) -> None:
    message = refusal("suite=acme-kyc", text)
    assert message.startswith(text.partition("=")[0].partition(".")[0] + ": '${")
    assert "\n" not in message


def test_an_operational_key_may_depend_on_the_machine(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORE", "elsewhere")
    assert frozen("suite=acme-kyc", "store=${oc.env:STORE}").store == "elsewhere"
    assert frozen("suite=acme-kyc", "seed=${replays}").seed == 3


def test_a_suite_must_be_chosen(project: Path) -> None:
    assert refusal("replays=3").startswith("no suite is chosen; write suite=NAME (available: acme-kyc, ")


def test_contradicting_keys_are_refused(project: Path) -> None:
    assert "needs a gate" in refusal("suite=acme-kyc", "mode=blocking")
    assert "max_episode_cost_usd" in refusal("suite=acme-kyc", "budget_usd=1")


def test_a_suite_without_an_adapter_says_how_to_name_one(project: Path) -> None:
    (project / "configs" / "adapters.yaml").write_text("{}\n")
    assert "write adapter=pkg.module:name" in refusal("suite=acme-kyc")


def test_an_adapter_may_be_declared_instead_of_named(project: Path) -> None:
    request = frozen("suite=acme-kyc", "adapter={kind: process, model: m}", "adapter.command=[cat]")
    assert (request.adapter, request.agent) == (DECLARED, {"kind": "process", "model": "m", "command": ["cat"]})
    assert "leave `agent` out" in refusal("suite=acme-kyc", "adapter={kind: process}", "agent.x=1")
    assert "missing key 'kind'" in refusal("suite=acme-kyc", "adapter={model: m}")


def test_a_declared_adapter_is_planned(project: Path) -> None:
    texts = ("suite=acme-kyc", "adapter={kind: process, model: m}", "adapter.command=[cat]")
    plan = plan_only(frozen(*texts))
    assert plan.manifest.model == "m"
    assert plan.plan.sha256 != plan_only(frozen(*texts[:2], "adapter.command=[tac]")).plan.sha256
