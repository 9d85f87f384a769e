"""A run directory on disk -> verified evidence, its measurement and its report. Reads only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from dfah_cli.canonical import parse
from dfah_cli.errors import ArtifactError, ConfigurationError, ValidationError
from dfah_cli.evidence.claims import CheckResult
from dfah_cli.evidence.verify import Examination, VerifiedRun, examine
from dfah_cli.gate.record import GateRecord, read_gate_record
from dfah_cli.metrics.measure import RunMeasurement
from dfah_cli.records.codec import record
from dfah_cli.records.enums import ReplayMode
from dfah_cli.records.episode import Episode
from dfah_cli.records.journal import episode_from_body
from dfah_cli.records.manifest import Manifest
from dfah_cli.report.explain import CaseExplanation, explain
from dfah_cli.report.file import read_report
from dfah_cli.report.recheck import in_mode
from dfah_cli.report.record import Report, ReportColumns
from dfah_cli.store import layout
from dfah_cli.store.places import RunUrl, place_of
from dfah_cli.store.protocol import RunReader
from dfah_cli.workflow.checking import believe

MAX_REPORT_BYTES = 1 << 30
OUR_NAMES = frozenset({layout.PLAN, layout.MANIFEST, layout.SEGMENTS})


@frozen(kw_only=True)
class Analysis:
    """One run as its bytes prove it."""

    path: Path | RunUrl
    report: Report
    verified: VerifiedRun
    measurement: RunMeasurement

    @property
    def checks(self) -> tuple[CheckResult, ...]:
        """Every decided claim."""
        return self.verified.checks


def open_run(path: str | Path | RunUrl, *, sync: bool = False) -> RunReader:
    """A reader of a run directory.

    Raises: ConfigurationError when there is none; ArtifactError when it cannot be read as one.
    """
    from dfah_cli.store.opening import open_store

    place = place_of(path)
    if isinstance(place, Path) and not place.exists():
        raise ConfigurationError(f"{place}: no such run directory; list runs with: dfah ls")
    try:
        return open_store(place).open_reader(sync=sync)
    except ArtifactError as problem:
        check_is_run(place)
        # A comparison opens several runs.
        raise ArtifactError(f"{place}: {problem}", part=problem.part) from None


def check_is_run(place: Path | RunUrl) -> None:
    """Nothing, where something of a run is, damaged or not.

    Raises: ConfigurationError.
    """
    if not any((place / name).exists() for name in OUR_NAMES):
        raise ConfigurationError(f"{place}: not a run directory; list runs with: dfah ls") from None


def examine_run(path: str | Path, *, keep_examples: bool = False) -> Examination:
    """Every claim about a run directory decided; never raises for evidence that fails."""
    reader = open_run(path)
    return examine(reader.plan_bytes, reader.manifest_bytes, reader.records(), keep_examples=keep_examples)


def analyze(
    path: str | Path | RunUrl, *, mode: ReplayMode | str | None = None, keep_examples: bool = False
) -> Analysis:
    """The report stated afresh from the bytes, and compared with the newest one recorded.

    mode: None takes the mode of the newest recorded report, else shadow.
    Raises: ArtifactError naming every claim that does not hold.
    """
    believed = believe(open_run(path, sync=True), str(path), keep_examples=keep_examples)
    newest = believed.reports[max(believed.reports)] if believed.reports else None
    if mode is None:
        mode = ReplayMode.SHADOW if newest is None else newest.mode
    report = in_mode(believed.fresh, ReplayMode(mode))
    return Analysis(path=place_of(path), report=report, verified=believed.run, measurement=believed.measurement)


def load_report(path: str | Path, *, allow_unverified: bool = False) -> ReportColumns:
    """A run directory's report, stated afresh; or a `DetachedReport` from a file.

    Raises: ArtifactError for a file without `allow_unverified`, or one whose digest does not match.
    """
    place = place_of(path)
    if isinstance(place, RunUrl) or place.is_dir():
        return analyze(place).report
    if not allow_unverified:
        raise ArtifactError(
            f"{place}: a report file alone is no evidence. Open its run directory, "
            "or pass allow_unverified=True (--allow-unverified) to look at it"
        )
    return read_report(_json_file(place), str(place))


def load_gate_record(path: str | Path) -> GateRecord:
    """A gate record from its file."""
    return read_gate_record(_json_file(Path(path)), str(path))


def _json_file(place: Path) -> object:
    try:
        if not place.is_file():
            raise ConfigurationError(f"{place}: no such file")
        if place.stat().st_size > MAX_REPORT_BYTES:
            raise ArtifactError(f"{place}: larger than any report")
        return parse(place.read_bytes(), str(place))
    except ValidationError as problem:
        raise ArtifactError(str(problem)) from None
    except OSError as problem:
        raise ConfigurationError(f"{place}: cannot be read ({problem.strerror})") from None


def episodes(path: str | Path | RunUrl, case_id: str | None = None) -> Iterator[Episode]:
    """The recorded episodes of a run, streaming, in log order; of one case when it is named.

    The caller has verified the run (`analyze`); a damaged log raises ArtifactError here too.
    """
    reader = open_run(path)
    manifest = record(Manifest, parse(reader.manifest_bytes))
    for _, body in reader.records():
        if body["t"] == "episode" and (case_id is None or body["case_id"] == case_id):
            yield episode_from_body(body, manifest)


def explain_case(run_dir: str | Path, case_id: str, *, expected: ReportColumns | None = None) -> CaseExplanation:
    """All replays of one case side by side, as hashes.

    Raises: ConfigurationError for a case this run does not have; ArtifactError when the run is not the report's.
    """
    analysis = analyze(run_dir)
    if expected is not None and expected.run_plan_sha256 != analysis.report.run_plan_sha256:
        raise ArtifactError(f"{run_dir}: holds another run than the report was made from")
    return explain(analysis.verified.plan, case_id, episodes(run_dir, case_id))
