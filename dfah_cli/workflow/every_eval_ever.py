"""A run directory -> the two files of an Every Eval Ever record, and their validation by its own package.

Equal evidence gives equal files under equal names, so exporting twice changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from dfah_cli.errors import ArtifactError, ConfigurationError, OptionalDependencyError, install_command
from dfah_cli.render.every_eval_ever import Placement, Samples, Source, aggregate, placement
from dfah_cli.render.every_eval_ever_rows import instance
from dfah_cli.workflow.analyze import Analysis, analyze, episodes
from dfah_cli.workflow.export import write_chunks
from dfah_cli.workflow.spool import in_key_order

RELATIONSHIPS = ("first_party", "third_party", "collaborative", "other")
VALIDATOR_TIMEOUT_S = 600
INSTALL = f"the Every Eval Ever validator needs Python 3.12 or newer and: {install_command('eee')}"


# A dataclass, because callers of the reference unpack it with `dataclasses`.
@dataclass(frozen=True)
class EveryEvalEverExportResult:
    """What an export wrote. instances_path, instances_sha256: None when only the aggregate was asked for."""

    aggregate_path: Path
    instances_path: Path | None
    evaluation_id: str
    instance_count: int
    instances_sha256: str | None
    officially_validated: bool


def export_every_eval_ever(
    run_path: str | Path,
    out: str | Path,
    *,
    source_organization_name: str = "unspecified",
    evaluator_relationship: str = "other",
    include_instances: bool = True,
    validate: bool = False,
) -> EveryEvalEverExportResult:
    """The record of a verified run below `out`: `data/<suite>/<provider>/<model>/<id>.json` and `<id>_samples.jsonl`.

    Raises: ConfigurationError for a wrong argument; EligibilityError when no group is eligible; ArtifactError when the
    evidence does not hold; OptionalDependencyError, before anything is written, when the validator is missing.
    """
    if not source_organization_name.strip():
        raise ConfigurationError("source_organization_name: found an empty name; leave it out, or name who publishes")
    if evaluator_relationship not in RELATIONSHIPS:
        raise ConfigurationError(f"evaluator_relationship: expected one of {', '.join(RELATIONSHIPS)}")
    if validate:
        _validator()
    source = Source(organization=source_organization_name, relationship=evaluator_relationship)
    analysis = analyze(run_path)
    place = placement(analysis.report, source)
    # Before the rows are written: a run without numbers leaves nothing behind.
    aggregate(analysis.report, place, source, None)
    samples = _write_samples(analysis, place, Path(out)) if include_instances else None
    record = aggregate(analysis.report, place, source, samples)
    first = write_chunks(Path(out) / place.aggregate, [_line(record)])
    second = None if samples is None else Path(out) / place.instances
    if validate:
        validate_every_eval_ever(first, second)
    return EveryEvalEverExportResult(
        aggregate_path=first,
        instances_path=second,
        evaluation_id=place.evaluation_id,
        instance_count=0 if samples is None else samples.rows,
        instances_sha256=None if samples is None else samples.sha256,
        officially_validated=validate,
    )


def _write_samples(analysis: Analysis, place: Placement, out: Path) -> Samples:
    running, rows = sha256(), 0

    def counted() -> Iterator[bytes]:
        nonlocal rows
        for line in in_key_order(_rows(analysis, place)):
            running.update(line)
            rows += 1
            yield line

    write_chunks(out / place.instances, counted())
    return Samples(sha256=running.hexdigest(), rows=rows)


def _rows(analysis: Analysis, place: Placement) -> Iterator[tuple[tuple[str, int], bytes]]:
    report = analysis.report
    eligible = frozenset((case.task, case.case_id) for case in report.case_reports)
    for episode in episodes(analysis.path):
        line = _line(instance(report, place, episode, eligible))
        yield (episode.case_id, episode.replay_index), line


def _line(record: dict[str, Any]) -> bytes:
    text = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode() + b"\n"


def validate_every_eval_ever(aggregate_path: str | Path, instances_path: str | Path | None = None) -> None:
    """Nothing, when the validator of the format accepts the files.

    Raises: OptionalDependencyError without the package; ArtifactError naming what it does not accept.
    """
    import subprocess

    paths = [str(Path(path).resolve()) for path in (aggregate_path, instances_path) if path is not None]
    command = [_validator(), "-m", "every_eval_ever", "validate", "--format", "json", *paths]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=VALIDATOR_TIMEOUT_S)
    try:
        reports = json.loads(done.stdout)
    except ValueError:
        raise ArtifactError("the Every Eval Ever validator gave no answer; run it by hand on the files") from None
    faults = [f"{Path(found['file']).name}: {error['loc']}: {error['msg']}" for found in reports
              for error in found["errors"]]  # fmt: skip
    if faults or not all(found["valid"] for found in reports):
        raise ArtifactError(f"not a valid Every Eval Ever record: {'; '.join(faults[:5])}")


def _validator() -> str:
    """The interpreter that has the validator: this one. Raises: OptionalDependencyError."""
    import sys
    from importlib.util import find_spec

    if find_spec("every_eval_ever") is None:
        raise OptionalDependencyError(INSTALL)
    return sys.executable
