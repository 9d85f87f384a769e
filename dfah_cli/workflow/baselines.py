"""Baselines: pinned from a run, read from a file or a run directory."""

from __future__ import annotations

from pathlib import Path

from dfah_cli.canonical import parse
from dfah_cli.errors import ArtifactError, ConfigurationError, DFAHError, EligibilityError
from dfah_cli.metrics.paired import Measured
from dfah_cli.records.codec import plain, record
from dfah_cli.records.enums import ReportStatus
from dfah_cli.render.json import json_text
from dfah_cli.report.baseline import Baseline, baseline_of
from dfah_cli.workflow.analyze import analyze

MAX_BYTES = 1 << 30


def load_baseline(source: str | Path) -> Baseline:
    """The baseline in a file, or the one that a run directory is.

    Raises: ConfigurationError when there is neither; ArtifactError when it cannot be believed.
    """
    place = Path(source)
    if place.is_dir():
        found = analyze(place)
        return baseline_of(found.report, Measured(found.verified.table, found.measurement))
    return baseline_from(place)


def baseline_from(place: Path) -> Baseline:
    """The baseline in a file.

    Raises: ConfigurationError when there is none; ArtifactError when the digest in it is not its own.
    """
    if not place.is_file():
        raise ConfigurationError(f"{place}: no baseline; pin one with: dfah baseline accept RUN -o FILE")
    if place.stat().st_size > MAX_BYTES:
        raise ArtifactError(f"{place}: larger than any baseline")
    try:
        value = parse(place.read_bytes(), str(place))
    except OSError as problem:
        raise ConfigurationError(f"{place}: cannot be read ({problem.strerror})") from None
    except DFAHError as problem:
        raise ArtifactError(str(problem)) from None
    if not isinstance(value, dict) or "baseline_sha256" not in value:
        raise ArtifactError(f"{place}: no baseline file; pin one with: dfah baseline accept RUN -o FILE")
    stated = value.pop("baseline_sha256")
    try:
        found = record(Baseline, value)
    except DFAHError as problem:
        raise ArtifactError(f"{place}: {problem}") from None
    if found.sha256 != stated:
        raise ArtifactError(f"{place}: differs from its own digest; it was edited after it was accepted")
    return found


def accept(run: str | Path, *, allow_partial: bool = False) -> Baseline:
    """The baseline of a run, for review.

    Raises: EligibilityError when the run is not complete and that is not allowed.
    """
    found = analyze(run)
    if found.report.status is not ReportStatus.COMPLETE and not allow_partial:
        raise EligibilityError(f"{run}: the run is {found.report.status}, not complete; pass --allow-partial to pin it")
    return baseline_of(found.report, Measured(found.verified.table, found.measurement))


def baseline_text(baseline: Baseline) -> str:
    """The text of a baseline's file: indented, for a diff that people read."""
    return json_text({"baseline_sha256": baseline.sha256, **_object(baseline)})


def _object(baseline: Baseline) -> dict[str, object]:
    value = plain(baseline)
    assert isinstance(value, dict)
    return value
