"""The checks of a preflight: what two passes over a few cases showed -> a status, an observation, a remedy. Pure.

Each is a function of a `Trial`; `CHECKS` names them in the order they are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import field, frozen

from dfah_cli.records.enums import ConformanceStatus, EpisodeStatus, ReportStatus
from dfah_cli.records.episode import ASKED_AGAIN, Episode
from dfah_cli.workflow.json_difference import first_difference
from dfah_cli.workflow.recording import Recorded

PASS, FAIL, SKIP = ConformanceStatus.PASS, ConformanceStatus.FAIL, ConformanceStatus.SKIP
Verdict = tuple[ConformanceStatus, str, str | None]

# Errors whose text is about the contract: made here, or by an adapter in the words of the contract.
CONTRACT_ERRORS = ("AgentContractError", "ValidationError")


@frozen(kw_only=True)
class Trial:
    """What the two passes showed.

    payloads: by their digest, as far as the adapter built its echo from one. told: texts of contract errors, redacted.
    tool_names: of the suite.
    """

    first: Recorded
    second: Recorded
    made: tuple[Episode, ...]
    expected_tools: Mapping[str, tuple[str, ...]]
    tool_names: frozenset[str]
    payloads: Mapping[str, Mapping[str, Any]] = field(factory=dict)
    told: tuple[str, ...] = ()


def _resumes(trial: Trial) -> Verdict:
    calls = trial.second.tally.calls
    same = trial.first.verified.commitment == trial.second.verified.commitment
    if trial.first.tally.stop_reason:
        stopped = f"the first pass stopped early ({trial.first.tally.stop_reason}), so nothing could be resumed whole"
        return SKIP, stopped, "raise the budget, or let the check run to its end"
    if calls or not same:
        return (
            FAIL,
            f"running it again made {calls} calls; committed episodes must be reused byte for byte",
            "build the manifest from fixed values only: the same code must give the same manifest each time",
        )
    return PASS, "running it again reused every committed episode and called nobody", None


def _parses(trial: Trial) -> Verdict:
    judged = [e for e in trial.made if e.parse.reason != "not_parsed"]
    bad = [e for e in judged if not e.parse.accepted]
    if not judged:
        return SKIP, "no episode came as far as its decision", "mend the checks that failed first"
    if bad:
        reasons = ", ".join(sorted({str(e.parse.reason) for e in bad}))
        return (
            FAIL,
            f"{len(bad)} of {len(judged)} outputs have no decision ({reasons})",
            "end the output with exactly one line DECISION: LABEL, LABEL being one of the suite; say so in the prompt",
        )
    return PASS, f"{len(judged)} decisions read from one strict marker each", None


def _wire(trial: Trial) -> Verdict:
    bad = [e for e in trial.made if e.status is EpisodeStatus.CONTRACT_ERROR]
    if bad:
        # The text of what was raised says more than its record does.
        judged = {f"{e.error.kind}: {e.error.message}" for e in bad if e.error and e.error.kind not in CONTRACT_ERRORS}
        told = "; ".join([*sorted(judged), *trial.told])
        fix = (
            "correct what this names; a manifest declares what is really sent: provider, model, adapter, endpoint, "
            "parameters"
        )
        return FAIL, f"{len(bad)} episodes broke the contract ({told})", fix
    echoed = [e for e in trial.made if e.wire_request is not None]
    if not echoed:
        return SKIP, "no episode returned a wire request", "mend the checks that failed first"
    hashes: dict[str, list[str]] = {}
    for episode in echoed:
        assert episode.wire_request is not None
        hashes.setdefault(episode.case_id, []).append(episode.wire_request.payload_hash)
    varying = {case_id: sorted(set(seen)) for case_id, seen in hashes.items() if len(set(seen)) > 1}
    if varying:
        where = "; ".join(f"{case_id}: {_where(trial, *seen[:2])}" for case_id, seen in varying.items())
        return (
            FAIL,
            f"wire_payload_mismatch: the payload differs between replays of {len(varying)} cases: {where}",
            "keep times, random ids and counters out of the payload; use context.idempotency_key as a header",
        )
    return PASS, f"{len(echoed)} wire requests match the manifest, one payload a case", None


def _where(trial: Trial, one: str, other: str) -> str:
    if one not in trial.payloads or other not in trial.payloads:
        return "the place is not known, because the echo was not built with WireRequest.from_payload"
    return (
        first_difference(trial.payloads[one], trial.payloads[other]) or "the order of keys or the spelling of numbers"
    )


def _declared(trial: Trial) -> Verdict:
    called = [call.name for episode in trial.made for call in episode.trajectory.tool_calls]
    unknown = sorted({name for name in called if name not in trial.tool_names})
    offered = [text for text in trial.told if "offers tools" in text]
    by_hand = sum(e.error is not None and e.error.kind == "undeclared_tool" for e in trial.made)
    fix = "declare every tool the agent may call in the suite (name and input_schema), or stop offering it"
    if unknown:
        return FAIL, f"tools were called that the suite does not declare: {', '.join(unknown)}", fix
    if offered:
        return FAIL, "; ".join(offered), fix
    if by_hand:
        return FAIL, f"{by_hand} hand-built trajectories have a tool that the suite does not declare", fix
    return PASS, f"{len(called)} tool calls, all of tools the suite declares", None


def _attempts(trial: Trial) -> Verdict:
    told = [e.usage.provider_usage for e in trial.made if "transport_attempts" in e.usage.provider_usage]
    if not told:
        return (
            SKIP,
            "the adapter does not tell how often it sends a request, so hidden retries would not be seen",
            "watch the client (bring does), or tell transport_attempts and requests in usage.provider_usage",
        )
    attempts, requests = (sum(_number(one, key) for one in told) for key in ("transport_attempts", "requests"))
    again = sum(_number(one, ASKED_AGAIN) for one in told)
    if again:
        return (
            FAIL,
            f"{again} requests that had been answered were asked again, word for word: a second try picks answers",
            "return the first answer, also when it cannot be parsed; every replay is its own call",
        )
    failures = sorted({status for one in told for status in one.get("failed_statuses", [])})
    if attempts > requests:
        known = f" (status {', '.join(map(str, failures))})" if failures else ""
        return (
            PASS,
            f"WARNING: {attempts} attempts for {requests} answers{known}: the client repeats requests by itself",
            "set max_retries=0 where a repeated request is not wanted; attempts are recorded either way",
        )
    return PASS, f"{requests} answers, each at the first attempt", None


def _number(told: Mapping[str, Any], key: str) -> int:
    value = told.get(key, 0)
    return value if type(value) is int else 0


def _tool_outputs(trial: Trial) -> Verdict:
    outputs: dict[tuple[str, str | None], set[str | None]] = {}
    for call in (call for episode in trial.made for call in episode.trajectory.tool_calls):
        outputs.setdefault((call.name, call.argument_hash), set()).add(call.output_hash)
    if not outputs:
        return SKIP, "the agent made no tool calls", None
    varying = sorted({name for (name, _), seen in outputs.items() if len(seen) > 1})
    if varying:
        return (
            FAIL,
            f"equal arguments gave different results in {', '.join(varying)}; the tool is not deterministic",
            "leave times, ids and unordered lists out of the result, or replay recorded results (tools: replay)",
        )
    return PASS, f"{len(outputs)} distinct calls, each with one result", None


def _expected(trial: Trial) -> Verdict:
    if not trial.expected_tools:
        return SKIP, "no expectation given", None
    for case_id, names in trial.expected_tools.items():
        for episode in (e for e in trial.made if e.case_id == case_id):
            called = tuple(call.name for call in episode.trajectory.tool_calls)
            if called != names:
                return (
                    FAIL,
                    f"{case_id}: called {', '.join(called) or 'nothing'}; expected {', '.join(names) or 'nothing'}",
                    "call tools through context.tools or recorded(...) functions, so that they are seen",
                )
    return PASS, f"{len(trial.expected_tools)} cases called the expected tools in order", None


def _stability(trial: Trial) -> Verdict:
    report = trial.first.report
    if not report.metrics_available:
        return SKIP, "no replay group is eligible", "mend the checks that failed first"
    varying = [c for c in report.case_reports if c.dar < 1.0 or c.tar.strong != 1.0]
    if varying:
        told = f"{len(varying)} of {len(report.case_reports)} cases vary in decision or path between replays"
        return PASS, f"WARNING: {told}", None
    return PASS, "two replays agree; this does not prove the absence of wall-clock or ambient-state dependence", None


def _eligible(trial: Trial) -> Verdict:
    report = trial.first.report
    if report.status is ReportStatus.COMPLETE:
        return PASS, f"all {report.episodes_eligible} episodes are eligible", None
    told = ", ".join(f"{one.reason} ({one.groups})" for one in report.ineligibility_reasons)
    why = f"; {report.partial_reason}" if report.partial_reason else ""
    return (
        FAIL,
        f"{report.episodes_eligible} of {report.episodes_planned} episodes are eligible{why}: {told}",
        "mend the failed checks, or what the log says of each episode that failed; docs/adapters.md lists all kinds",
    )


CHECKS: Mapping[str, Callable[[Trial], Verdict]] = {
    "resumability_idempotence": _resumes,
    "parse_provenance": _parses,
    "wire_manifest_echo": _wire,
    "declared_tools": _declared,
    "provider_attempts": _attempts,
    "deterministic_tool_outputs": _tool_outputs,
    "expected_tool_capture": _expected,
    "replay_stability_smoke": _stability,
    "eligible_capture": _eligible,
}
