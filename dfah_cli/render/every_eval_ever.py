"""A report as the aggregate record of the Every Eval Ever format. Pure.

Numbers that are unavailable are left out; a record without any eligible group does not exist. Nothing private is in
it: digests, counts and names that the report has already. Valid under schema 0.2.2, which it names, and under 0.3.0,
whose layout of files it follows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

from attrs import frozen

from dfah_cli.canonical import digest
from dfah_cli.errors import EligibilityError
from dfah_cli.render.every_eval_ever_metrics import METRICS, TASK_MEAN, Metric
from dfah_cli.report.cases import MetricInterval
from dfah_cli.report.limits import intervals_by_name
from dfah_cli.report.record import ReportColumns
from dfah_cli.version import __version__

SCHEMA = "0.2.2"
PROFILE = "privacy_safe_hash_only"
LIBRARY = "dfah-cli"
RETENTION = "dfah.eligible_fraction"
RESERVED = {"CON", "PRN", "AUX", "NUL", *(f"{device}{n}" for device in ("COM", "LPT") for n in range(1, 10)), "DATA"}
UNSAFE = re.compile(r'[<>:"\\|?*/\x00-\x1f\x7f]')


@frozen(kw_only=True)
class Placement:
    """Where the record stands below the output directory. evaluation_id: a UUID that equal evidence gives again."""

    evaluation_id: str
    folder: str

    @property
    def aggregate(self) -> str:
        return f"{self.folder}/{self.evaluation_id}.json"

    @property
    def instances(self) -> str:
        return f"{self.folder}/{self.evaluation_id}_samples.jsonl"


@frozen(kw_only=True)
class Source:
    """Who says so."""

    organization: str
    relationship: str


@frozen(kw_only=True)
class Samples:
    """The file of single episodes, once it is known."""

    sha256: str
    rows: int


def placement(report: ReportColumns, source: Source) -> Placement:
    """Identity and folder of the record: data/<suite>/<provider>/<model>."""
    seed = digest(["every-eval-ever", SCHEMA, report.report_sha256, source.organization, source.relationship])
    parts = (report.suite_id, report.manifest.provider, report.manifest.model)
    return Placement(
        evaluation_id=str(UUID(bytes=bytes.fromhex(seed)[:16], version=4)),
        folder="/".join(("data", *map(portable, parts))),
    )


def portable(name: str) -> str:
    """A name as one component of a path on every system."""
    shown = UNSAFE.sub("_", name.strip()).rstrip(". ") or "_"
    return f"{shown}_" if shown.split(".")[0].upper() in RESERVED else shown


def model_id(report: ReportColumns) -> str:
    """provider/model, as the folder spells them."""
    return f"{portable(report.manifest.provider)}/{portable(report.manifest.model)}"


def aggregate(report: ReportColumns, place: Placement, source: Source, samples: Samples | None) -> dict[str, Any]:
    """The record.

    Raises: EligibilityError when no replay group is eligible: what is unavailable is never written as a score.
    """
    if not report.metrics_available:
        raise EligibilityError("nothing to export: no replay group of this run is eligible, so there is no number")
    record: dict[str, Any] = {
        "schema_version": SCHEMA,
        "evaluation_id": place.evaluation_id,
        "evaluation_timestamp": _when(report).isoformat(),
        "retrieved_timestamp": f"{_when(report).timestamp():.6f}",
        "source_metadata": _source(report, source),
        "eval_library": _library(report),
        "model_info": _model(report),
        "evaluation_results": list(_results(report)),
    }
    if samples is not None:
        record["detailed_evaluation_results"] = _detailed(report, place, samples)
    return record


def _when(report: ReportColumns) -> datetime:
    assert report.created_at is not None  # an eligible group has episodes
    return report.created_at


def _source(report: ReportColumns, source: Source) -> dict[str, Any]:
    return {
        "source_name": "replay run with verified evidence",
        "source_type": "evaluation_run",
        "source_organization_name": source.organization,
        "evaluator_relationship": source.relationship,
        "additional_details": {
            "dfah_report_id": report.report_id,
            "dfah_manifest_sha256": report.manifest.hash,
            "dfah_episode_artifact_root_sha256": report.episode_artifact_root_sha256,
            "dfah_commitment": report.commitment,
            "dfah_export_profile": PROFILE,
        },
    }


def _library(report: ReportColumns) -> dict[str, Any]:
    return {
        "name": LIBRARY,
        "version": __version__,
        "additional_details": {
            "dfah_suite_id": report.suite_id,
            "dfah_suite_version": report.suite_version,
            "dfah_run_plan_sha256": report.run_plan_sha256,
        },
    }


def _model(report: ReportColumns) -> dict[str, Any]:
    manifest = report.manifest
    return {
        "name": manifest.model,
        "id": model_id(report),
        "developer": manifest.provider,
        "inference_platform": manifest.provider,
        "additional_details": {
            "dfah_adapter": manifest.adapter,
            "dfah_adapter_version": manifest.adapter_version or "unspecified",
            # Not part of a manifest, so not known.
            "deployment_type": "unknown",
            "model_availability": "unknown",
        },
    }


def _results(report: ReportColumns) -> Iterator[dict[str, Any]]:
    intervals = intervals_by_name(report)
    for metric in METRICS:
        number = metric.number(report)
        if number is not None:
            yield _result(report, metric, number, intervals.get(metric.interval or ""))


def _result(report: ReportColumns, metric: Metric, number: float, interval: MetricInterval | None) -> dict[str, Any]:
    return {
        "evaluation_name": f"{report.suite_id}: {metric.name}",
        "evaluation_result_id": f"dfah.{metric.key}",
        "evaluation_timestamp": _when(report).isoformat(),
        "source_data": {
            "dataset_name": report.suite_id,
            "source_type": "other",
            "additional_details": {
                "dfah_suite_version": report.suite_version,
                "dfah_fixture_sha256": report.manifest.fixture_hash,
                "dfah_tool_schema_sha256": report.manifest.tool_schema_hash,
                "dfah_case_population": str(report.suite_cases_total),
                "dfah_cases_selected": str(report.cases_selected),
            },
        },
        "metric_config": {
            "metric_id": f"dfah.{metric.key}",
            "metric_name": metric.name,
            "metric_kind": "replay_agreement",
            "metric_unit": metric.unit,
            "metric_parameters": {
                "replays": report.replays_requested,
                "task_weighted": metric.denominator == TASK_MEAN,
            },
            "evaluation_description": metric.says,
            "lower_is_better": metric.lower_is_better,
            "score_type": "continuous",
            "min_score": metric.low,
            "max_score": metric.high,
            "additional_details": {"dfah_denominator": metric.denominator, "dfah_not_accuracy": "true"},
        },
        "score_details": _score(report, number, interval),
        "generation_config": _generation(report),
    }


def _score(report: ReportColumns, number: float, interval: MetricInterval | None) -> dict[str, Any]:
    counts = {"planned": report.episodes_planned, "eligible": report.episodes_eligible}
    details = {f"{name}_episodes": str(count) for name, count in counts.items()}
    details |= {"suite_version": report.suite_version, "eligible_groups": str(report.observed_groups)}
    found: dict[str, Any] = {"score": number, "details": details}
    if interval is not None:
        found["uncertainty"] = {
            "confidence_interval": {
                "lower": interval.low,
                "upper": interval.high,
                "confidence_level": interval.level,
                "method": interval.method,
            },
            "num_samples": interval.n,
        }
    return found


def _generation(report: ReportColumns) -> dict[str, Any]:
    manifest = report.manifest
    design = {
        "eligible_groups": report.observed_groups,
        "episodes_eligible": report.episodes_eligible,
        "episodes_planned": report.episodes_planned,
        "replays_requested": report.replays_requested,
        "required_channels": ["decision", "trajectory"],
        "sample_rate": report.sample_rate,
        "schedule_seed": report.schedule_seed,
    }
    details = {
        "dfah_replay_design": json.dumps(design, sort_keys=True, separators=(",", ":")),
        "dfah_request_parameters_sha256": digest(manifest.request_parameters),
        "dfah_wire_attestation": "the manifest is compared with the echo of each request",
    }
    if manifest.seed is not None:
        details["dfah_seed"] = str(manifest.seed)
    given: dict[str, Any] = {"temperature": manifest.temperature, "top_p": manifest.top_p}
    arguments = {name: value for name, value in given.items() if value is not None}
    arguments["agentic_eval_config"] = {"additional_details": {"dfah_tool_schema_sha256": manifest.tool_schema_hash}}
    return {"additional_details": details, "generation_args": arguments}


def _detailed(report: ReportColumns, place: Placement, samples: Samples) -> dict[str, Any]:
    return {
        "format": "jsonl",
        "file_path": place.instances,
        "hash_algorithm": "sha256",
        "checksum": samples.sha256,
        "total_rows": samples.rows,
        "additional_details": {
            "dfah_export_profile": PROFILE,
            "dfah_interaction_semantics": "one record for each replay",
            "dfah_instance_score_semantics": "1 when the episode is in an eligible replay group, else 0",
            "dfah_instance_aggregation": "sum of scores / planned episodes; an unrecorded episode has no row",
            "dfah_planned_episodes": str(report.episodes_planned),
            "dfah_uncommitted_episodes": str(report.episodes_planned - report.episodes_completed),
        },
    }
