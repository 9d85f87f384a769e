"""An episode as an instance record of the Every Eval Ever format: digests and states, never text. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from typing import Any

from dfah_cli.canonical import digest
from dfah_cli.records.enums import ChannelState, EpisodeStatus
from dfah_cli.records.episode import NO_USAGE, Episode
from dfah_cli.records.trajectory import ToolCall
from dfah_cli.render.every_eval_ever import PROFILE, RETENTION, SCHEMA, Placement, model_id
from dfah_cli.report.record import ReportColumns


def instance(
    report: ReportColumns, place: Placement, episode: Episode, eligible: Set[tuple[str, str]]
) -> dict[str, Any]:
    """The record of one replay. eligible: (task, case id) of the groups that are in the numbers."""
    counted = (episode.task, episode.case_id) in eligible
    raw = f"[input withheld; artifact_case_id={episode.case_id}]"
    return {
        "schema_version": f"instance_level_eval_{SCHEMA}",
        "evaluation_id": place.evaluation_id,
        "model_id": model_id(report),
        "evaluation_name": f"{report.suite_id}: Eligible episodes",
        "evaluation_result_id": RETENTION,
        "sample_id": f"{episode.case_id}/replay-{episode.replay_index}",
        "sample_hash": digest({"raw": raw, "reference": []}),
        "interaction_type": "agentic",
        "input": {"raw": raw, "reference": [], "formatted": None, "choices": None},
        "output": None,
        "messages": [_message(episode)],
        "answer_attribution": [_answer(episode)],
        "evaluation": {
            # The format has no other word; what it means here stands in the metadata.
            "is_correct": counted,
            "score": float(counted),
            "num_turns": 1,
            "tool_calls_count": len(episode.trajectory.tool_calls),
        },
        "token_usage": _tokens(episode),
        "performance": {
            "latency_ms": episode.latency_ms,
            "generation_time_ms": None,
            "time_to_first_token_ms": None,
            "additional_details": {"cost_nusd": str(episode.cost_nusd)},
        },
        "error": None if episode.error is None else episode.error.kind,
        "metadata": _metadata(report, episode, counted),
    }


def _message(episode: Episode) -> dict[str, Any]:
    calls = [_call(call, number) for number, call in enumerate(episode.trajectory.tool_calls)]
    return {
        "turn_idx": 0,
        "role": "assistant",
        "content": None,
        "reasoning_trace": None,
        "tool_call_id": None,
        "tool_calls": calls,
    }


def _call(call: ToolCall, number: int) -> dict[str, Any]:
    arguments = {
        "dfah_arguments_sha256": call.argument_hash,
        "dfah_output_sha256": call.output_hash,
        "dfah_result_state": call.result_state.value,
        "dfah_execution_state": call.execution_state.value,
    }
    known = {name: value for name, value in arguments.items() if value is not None}
    return {"id": call.call_id or f"call-{number:04d}", "name": call.name, "arguments": known}


def _answer(episode: Episode) -> dict[str, Any]:
    label = None if episode.decision is None else episode.decision.label
    return {
        "turn_idx": 0,
        "source": "dfah.parse_provenance",
        "extracted_value": label or f"[no decision: {episode.status.value}]",
        "extraction_method": episode.parse.strategy,
        "is_terminal": True,
    }


def _tokens(episode: Episode) -> dict[str, Any] | None:
    usage = episode.usage
    if usage == NO_USAGE:
        return None
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "input_tokens_cache_read": usage.cached_input_tokens,
        "input_tokens_cache_write": None,
        "reasoning_tokens": usage.reasoning_tokens,
    }


def _metadata(report: ReportColumns, episode: Episode, counted: bool) -> Mapping[str, str]:
    reasons = capture_reasons(episode)
    decision = ChannelState.UNAVAILABLE if episode.decision is None else ChannelState.OBSERVED_NONEMPTY
    wire = episode.wire_request
    return {
        "dfah_export_profile": PROFILE,
        "dfah_evaluation_semantics": "in_an_eligible_replay_group_not_correctness_of_the_decision",
        "dfah_input_redacted": "true",
        "dfah_report_id": report.report_id,
        "dfah_manifest_sha256": episode.manifest_hash,
        "dfah_suite_version": episode.suite_version,
        "dfah_task": episode.task,
        "dfah_replay_index": str(episode.replay_index),
        "dfah_replay_group_id": f"{episode.manifest_hash}:{episode.case_id}",
        "dfah_replay_group_eligible": _flag(counted),
        "dfah_episode_status": episode.status.value,
        "dfah_episode_capture_eligible": _flag(not reasons),
        "dfah_episode_capture_eligibility_reasons": json.dumps(reasons, separators=(",", ":")),
        "dfah_decision_channel": decision.value,
        "dfah_trajectory_channel": episode.trajectory.state.value,
        "dfah_evidence_channel": ChannelState.UNAVAILABLE.value,
        "dfah_parse_strategy": episode.parse.strategy,
        "dfah_parse_accepted": _flag(episode.parse.accepted),
        "dfah_parse_fallback": _flag(episode.parse.fallback),
        "dfah_wire_payload_sha256": ChannelState.UNAVAILABLE.value if wire is None else wire.payload_hash,
    }


def capture_reasons(episode: Episode) -> list[str]:
    """Why an episode alone could not be counted; empty when it could."""
    found = []
    if episode.status is not EpisodeStatus.VALID:
        found.append(f"terminal_status_{episode.status.value}")
    if episode.decision is None or episode.status is not EpisodeStatus.VALID:
        found.append("decision_missing_or_invalid")
    if not episode.trajectory.state.observed:
        found.append("trajectory_missing_or_malformed")
    return found


def _flag(value: bool) -> str:
    return "true" if value else "false"
