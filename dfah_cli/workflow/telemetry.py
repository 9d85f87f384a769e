"""OpenTelemetry export: to a file, or through the endpoint that the `OTEL_*` variables name. Only when asked for.

Exported is what is recorded, after it is durable: nothing here can change a run or its verdict. A file holds all
episodes of the run, made anew each time; an endpoint is sent those that this session made.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from dfah_cli.canonical import canonical_bytes
from dfah_cli.errors import ConfigurationError, DFAHError, OptionalDependencyError, install_command
from dfah_cli.execution.events import EpisodeFinished, Event, Observer, TracesExported
from dfah_cli.records.episode import Episode
from dfah_cli.records.manifest import Manifest
from dfah_cli.render.otlp import RESOURCE, SCHEMA_URL, SCOPE, Span, otlp_document, spans_of
from dfah_cli.store.places import RunUrl, is_address
from dfah_cli.version import __version__
from dfah_cli.workflow.analyze import analyze, episodes
from dfah_cli.workflow.export import check_place, write_chunks

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
EXPORTER = "opentelemetry.exporter.otlp.proto.http.trace_exporter"
BATCH = 200
BATCH_S = 60.0
"""Longest wait for the answer to a batch: the exporter's own limit is for one read, and an answer can drip for ever."""


@frozen(kw_only=True)
class Telemetry:
    """Where the spans of a run go. sends: through the endpoint of the environment. file: None for none."""

    sends: bool = False
    file: Path | None = None

    @classmethod
    def asked_for(cls, otel: bool, file: str | Path | None, environment: Mapping[str, str] | None = None) -> Telemetry:
        """What is asked for, when all of it is there.

        Raises: ConfigurationError without an endpoint, or for a file that could not be written; OptionalDependencyError
        without the SDK.
        """
        environment = os.environ if environment is None else environment
        if file is not None and not isinstance(file, str | Path):
            raise ConfigurationError(f"otel_file: found {type(file).__name__}; expected a path")
        if otel:
            _exporter_class()
            _check_endpoint(environment)
        if file is not None:
            _check_file(file)
        return cls(sends=otel, file=None if file is None else Path(file))

    @property
    def wanted(self) -> bool:
        """Whether anything is exported."""
        return self.sends or self.file is not None


@define
class Session:
    """Remembers which episodes were made here. run: where they are recorded."""

    telemetry: Telemetry
    observer: Observer
    made: set[tuple[str, int]] = field(factory=set)

    def __call__(self, event: Event) -> None:
        """An observer that passes on what it hears."""
        if isinstance(event, EpisodeFinished):
            self.made.add((event.case_id, event.replay_index))
        self.observer(event)

    def export(self, run: Path | RunUrl, manifest: Manifest, run_plan_sha256: str) -> None:
        """Writes and sends what was asked for; what fails is told to the observer and changes nothing else."""
        if self.telemetry.file is not None:
            lines = _lines(episodes(run), manifest, run_plan_sha256)
            self._told(str(self.telemetry.file), lambda: write_chunks(self.telemetry.file or "", lines))
        if self.telemetry.sends and self.made:
            new = (one for one in episodes(run) if (one.case_id, one.replay_index) in self.made)
            spans = (span for episode in new for span in spans_of(episode, manifest, run_plan_sha256))
            self._told("the OTLP endpoint", lambda: send(spans))

    def _told(self, where: str, work: Any) -> None:
        try:
            work()
        except DFAHError as problem:
            self.observer(TracesExported(where=where, problem=str(problem).removeprefix(f"{where}: ")))
        except Exception as problem:  # noqa: BLE001 - a collector that is away is no failure of the run
            # The text may have headers of the request in it.
            self.observer(TracesExported(where=where, problem=type(problem).__name__))
        else:
            self.observer(TracesExported(where=where))


class NotAcceptedError(Exception):
    """The endpoint did not take the spans."""


def send(spans: Iterable[Span]) -> None:
    """Sends spans through the SDK's exporter, which reads its `OTEL_EXPORTER_OTLP_*` variables itself.

    Raises: NotAcceptedError when a batch was not accepted; what the exporter raises.
    """
    # Its complaints quote headers, addresses and whatever the endpoint answers.
    logging.getLogger("opentelemetry").addHandler(logging.NullHandler())
    exporter = _exporter_class()()
    try:
        left = iter(spans)
        while batch := [_readable(span) for span in islice(left, BATCH)]:
            found = _within(BATCH_S, exporter.export, batch)
            if getattr(found, "name", "") != "SUCCESS":
                raise NotAcceptedError
    finally:
        exporter.shutdown()


def _within(limit_s: float, act: Callable[[Any], Any], argument: Any) -> Any:
    """What `act` returns. Raises: what it raises; TimeoutError when it does not end in time."""
    answer: Future[Any] = Future()

    def work() -> None:
        try:
            answer.set_result(act(argument))
        except BaseException as problem:  # noqa: BLE001 - raised again where it is waited for
            answer.set_exception(problem)

    threading.Thread(target=work, name="dfah-spans", daemon=True).start()
    return answer.result(limit_s)


def export_otlp(run: str | Path, out: str | Path) -> Path:
    """The spans of a verified run as OTLP JSON lines; `dfah measure` reads them.

    Raises: ArtifactError when the evidence does not hold.
    """
    found = analyze(run)
    return write_chunks(out, _lines(episodes(run), found.report.manifest, found.report.run_plan_sha256))


def _lines(made: Iterable[Episode], manifest: Manifest, run_plan_sha256: str) -> Iterator[bytes]:
    for episode in made:
        yield canonical_bytes(otlp_document(spans_of(episode, manifest, run_plan_sha256))) + b"\n"


def _check_endpoint(environment: Mapping[str, str]) -> None:
    found = {name: environment[name] for name in ENDPOINTS if environment.get(name)}
    if not found:
        raise ConfigurationError(
            f"otel: neither {ENDPOINTS[0]} nor {ENDPOINTS[1]} is set; set one to your collector's address, "
            "or write the spans to a file (otel_file, --otel-file FILE)"
        )
    for name, address in found.items():
        if not is_address(address):
            raise ConfigurationError(
                f"{name}: found no address; expected http:// or https:// with a host, such as http://127.0.0.1:4318"
            )


def _check_file(file: str | Path) -> None:
    try:
        check_place(file)
    except ConfigurationError as problem:
        raise ConfigurationError(f"otel_file: {problem}") from None


def _exporter_class() -> Any:
    try:
        import_module("opentelemetry.sdk.trace")
        return import_module(EXPORTER).OTLPSpanExporter
    except ImportError:
        raise OptionalDependencyError(
            f"otel: the export needs the OpenTelemetry SDK; run: {install_command('otel')}, or "
            "write the spans to a file (otel_file, --otel-file FILE), which needs nothing"
        ) from None


def _readable(span: Span) -> Any:
    """The span as the SDK's exporter takes it."""
    api, trace = import_module("opentelemetry.trace"), import_module("opentelemetry.sdk.trace")
    resources = import_module("opentelemetry.sdk.resources")
    scopes = import_module("opentelemetry.sdk.util.instrumentation")

    def context(span_id: str) -> Any:
        flags = api.TraceFlags(api.TraceFlags.SAMPLED)
        return api.SpanContext(int(span.trace_id, 16), int(span_id, 16), is_remote=False, trace_flags=flags)

    code = api.StatusCode.ERROR if span.failed else api.StatusCode.UNSET
    return trace.ReadableSpan(
        name=span.name,
        context=context(span.span_id),
        parent=None if span.parent_id is None else context(span.parent_id),
        resource=resources.Resource(dict(RESOURCE), SCHEMA_URL),
        attributes=dict(span.attributes),
        kind=api.SpanKind.INTERNAL,
        status=api.Status(code),
        start_time=span.start_ns,
        end_time=span.end_ns,
        instrumentation_scope=scopes.InstrumentationScope(SCOPE, __version__, SCHEMA_URL),
    )
