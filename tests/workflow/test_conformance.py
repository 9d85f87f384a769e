"""`check_agent`: a preflight with a bounded number of calls, which keeps nothing unless it is asked to."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest

from dfah.testing import check_agent
from dfah_cli.errors import AgentContractError, ConfigurationError
from dfah_cli.records.enums import ConformanceStatus
from dfah_cli.records.episode import Usage
from dfah_cli.workflow.conformance import ConformanceReport
from tests.builders import STEADY, a_registry, a_scripted_agent, a_suite, a_wire

NAMES = [
    "suite_load",
    "resumability_idempotence",
    "parse_provenance",
    "wire_manifest_echo",
    "declared_tools",
    "provider_attempts",
    "deterministic_tool_outputs",
    "expected_tool_capture",
    "replay_stability_smoke",
    "eligible_capture",
]
FIVE = {f"C{index}": [STEADY] for index in range(5)}


def verdicts(report: ConformanceReport) -> dict[str, str]:
    return {check.name: check.status.value for check in report.checks}


def detail(report: ConformanceReport, name: str) -> str:
    return next(check.detail for check in report.checks if check.name == name)


def test_two_cases_and_two_replays_are_at_most_four_calls() -> None:
    agent = a_scripted_agent(FIVE)
    report = check_agent(agent, max_cases=2, budget_usd=0.20, estimated_max_episode_cost_usd=0.05,
                         episode_timeout_s=30.0, raise_on_error=True)  # fmt: skip
    assert len(agent.calls) == 4
    assert (report.cases_selected, report.episodes_planned) == (2, 4)
    assert report.estimated_cost_ceiling_usd == pytest.approx(0.2)
    assert report.selected_case_ids == ("C0", "C1")
    assert report.passed
    assert [check.name for check in report.checks] == NAMES


def test_the_ceiling_is_unknown_without_an_estimate() -> None:
    assert check_agent(a_scripted_agent()).estimated_cost_ceiling_usd is None


def test_nothing_is_left_behind_without_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    report = check_agent(a_scripted_agent({"A": [("maybe", "T")]}))
    assert list(tmp_path.iterdir()) == []
    assert report.status_counts == {"parse_failure/parse_failure": 2}
    assert not report.passed


def test_out_keeps_the_episodes(out: Path) -> None:
    from dfah_cli.workflow.analyze import episodes

    check_agent(a_scripted_agent(), out=out)
    assert len(list(episodes(out))) == 4


@pytest.mark.parametrize("script", [("Y", "T"), ("Y", "")], ids=["a call", "no call"])
def test_the_tool_check_is_skipped_and_not_passed_without_calls(script: Any) -> None:
    found = verdicts(check_agent(a_scripted_agent({"A": [script]})))
    assert found["deterministic_tool_outputs"] == ("pass" if script[1] else "skip")


def test_a_tool_that_answers_differently_fails_its_check() -> None:
    answers = iter(range(100))
    suite = a_suite(("A",))
    agent = a_scripted_agent({"A": [("Y", "T")]}, suite=suite, tools=a_registry(suite, {"T": lambda: next(answers)}))
    report = check_agent(agent)
    assert verdicts(report)["deterministic_tool_outputs"] == "fail"


def test_variation_between_replays_is_a_warning_and_no_failure() -> None:
    report = check_agent(a_scripted_agent({"A": [("Y", "T U"), ("Y", "U T")]}))
    assert verdicts(report)["replay_stability_smoke"] == "pass"
    assert "WARNING" in detail(report, "replay_stability_smoke")
    assert report.passed


def test_two_equal_replays_do_not_claim_to_prove_anything() -> None:
    assert "does not prove" in detail(check_agent(a_scripted_agent()), "replay_stability_smoke")


def test_a_malformed_output_fails_and_raises_when_asked_to() -> None:
    agent = a_scripted_agent({"A": [("maybe", "T")]})
    assert verdicts(check_agent(agent))["parse_provenance"] == "fail"
    with pytest.raises(AgentContractError, match="parse_provenance"):
        check_agent(agent, raise_on_error=True)


def test_a_wire_request_of_another_model_fails_the_echo() -> None:
    agent = a_scripted_agent({"A": [lambda _, c: agent.result(c, wire_request=a_wire(agent.manifest, model="x"))]})
    report = check_agent(agent)
    assert verdicts(report)["wire_manifest_echo"] == "fail"
    assert "model" in detail(report, "wire_manifest_echo")


def test_a_broken_contract_is_told_in_its_own_words() -> None:
    async def script(case: Any, context: Any) -> Any:
        raise AgentContractError("request 1 sends seed, which the manifest does not declare")

    found = detail(check_agent(a_scripted_agent({"A": [script]})), "wire_manifest_echo")
    assert found == "2 episodes broke the contract (request 1 sends seed, which the manifest does not declare)"


def test_a_payload_with_a_nonce_fails_the_echo() -> None:
    agent = a_scripted_agent({"A": [lambda _, c: agent.result(
        c, wire_request=a_wire(agent.manifest, payload={"nonce": c.replay_index}))]})  # fmt: skip
    assert verdicts(check_agent(agent))["wire_manifest_echo"] == "fail"


def test_the_place_where_payloads_differ_is_named_and_not_quoted() -> None:
    def script(case: Any, context: Any) -> Any:
        text = f"It is 2026-01-0{context.replay_index + 1}. Decide."
        payload = {**agent.manifest.request_parameters, "messages": [{"role": "user", "content": text}]}
        return agent.result(context, wire_request=a_wire(agent.manifest, payload=payload))

    agent = a_scripted_agent({"A": [script]})
    told = detail(check_agent(agent), "wire_manifest_echo")
    assert "A: $.messages[0].content (text that parts at character 15, where a date or time stands)" in told
    assert "2026" not in told


def test_what_fails_says_how_to_fix_it_and_what_passes_says_nothing() -> None:
    report = check_agent(a_scripted_agent({"A": [("maybe", "T")]}))
    fixes = {check.name: check.fix for check in report.checks}
    assert "DECISION: LABEL" in str(fixes["parse_provenance"])
    assert fixes["suite_load"] is None
    assert all(check.fix for check in report.checks if check.status is ConformanceStatus.FAIL)


def test_a_tool_nobody_declared_is_named() -> None:
    async def script(case: Any, context: Any) -> Any:
        with contextlib.suppress(Exception):
            await context.tools.call("wipe_disk")
        return agent.result(context)

    agent = a_scripted_agent({"A": [script]})
    report = check_agent(agent)
    assert verdicts(report)["declared_tools"] == "fail"
    assert "wipe_disk" in detail(report, "declared_tools")


@pytest.mark.parametrize(
    ("told", "status", "text"),
    [
        ({}, "skip", "hidden retries would not be seen"),
        ({"requests": 1, "transport_attempts": 1}, "pass", "2 answers, each at the first attempt"),
        (
            {"requests": 1, "transport_attempts": 3, "failed_statuses": [429]},
            "pass",
            "WARNING: 6 attempts for 2 answers",
        ),
        ({"requests": 2, "transport_attempts": 2, "repeated_requests": 1}, "fail", "asked again, word for word"),
    ],
)
def test_hidden_attempts_are_found(told: dict[str, Any], status: str, text: str) -> None:
    def script(case: Any, context: Any) -> Any:
        return agent.result(context, usage=Usage(provider_usage=told))

    agent = a_scripted_agent({"A": [script]})
    report = check_agent(agent)
    assert verdicts(report)["provider_attempts"] == status
    assert text in detail(report, "provider_attempts")


@pytest.mark.parametrize(("names", "status"), [(("T", "U"), "pass"), (("U", "T"), "fail"), ((), "fail")])
def test_expected_tools_are_compared_in_order(names: tuple[str, ...], status: str) -> None:
    report = check_agent(a_scripted_agent({"A": [STEADY]}), expected_tools={"A": names})
    assert verdicts(report)["expected_tool_capture"] == status


@pytest.mark.parametrize("expected", [{"Z": ("T",)}, {"A": ("absent",)}])
def test_an_expectation_about_what_is_not_there_is_a_wrong_request(expected: Any) -> None:
    with pytest.raises(ConfigurationError, match="expected_tools"):
        check_agent(a_scripted_agent({"A": [STEADY]}), expected_tools=expected)


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "2"])
def test_a_bad_number_of_cases_is_a_value_error(bad: Any) -> None:
    with pytest.raises(ConfigurationError, match="max_cases"):
        check_agent(a_scripted_agent(), max_cases=bad)


@pytest.mark.parametrize("candidate", [5, lambda case, context: None])
def test_what_is_no_agent_fails_or_is_refused(candidate: Any) -> None:
    report = check_agent(candidate, suite=a_suite())
    assert verdicts(report)["suite_load"] == "fail"
    with pytest.raises(AgentContractError):
        report.raise_for_failures()


def test_an_agent_without_a_suite_needs_one_named() -> None:
    with pytest.raises(ConfigurationError, match="suite"):
        check_agent(object())  # type: ignore[arg-type]


def test_a_budget_that_stops_the_preflight_is_no_pass() -> None:
    agent = a_scripted_agent(cost_usd=0.1)
    report = check_agent(agent, budget_usd=0.25, estimated_max_episode_cost_usd=0.1)
    assert len(agent.calls) == 2
    assert verdicts(report)["eligible_capture"] == "fail"
    assert "budget_stop" in detail(report, "eligible_capture")


def test_a_skip_is_not_a_pass() -> None:
    assert ConformanceStatus.SKIP is not ConformanceStatus.PASS


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals need the main thread")
def test_an_interrupt_is_not_followed_by_more_calls() -> None:
    def script(case: Any, context: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        return agent.result(context)

    agent = a_scripted_agent({"A": [script], "B": [script]})
    check_agent(agent)
    assert len(agent.calls) == 1
