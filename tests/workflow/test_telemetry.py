"""OpenTelemetry export: to a file, to an endpoint, and back through `measure` with the same numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dfah_cli.errors import ConfigurationError
from dfah_cli.execution.events import TracesExported
from dfah_cli.loading.replays import otlp
from dfah_cli.loading.replays.collect import collect
from dfah_cli.metrics.measure import measure
from dfah_cli.render.otlp import spans_of
from dfah_cli.workflow import telemetry
from dfah_cli.workflow.analyze import analyze, episodes
from dfah_cli.workflow.replay import Replay
from dfah_cli.workflow.telemetry import Telemetry, export_otlp
from tests.builders import STEADY, a_registry, a_scripted_agent, a_suite
from tests.integrations.build import needs
from tests.integrations.collector import collector, dripping

SDK = "opentelemetry.exporter.otlp.proto.http"

PATHS: dict[str, Any] = {
    "A": [("Y", "T U"), ("Y", "U T"), ("Y", "T U")],
    "B": [("Y", "T"), ("N", "T k"), ("Y", "T")],
    "C": [STEADY],
    "D": [("maybe", "T"), STEADY, STEADY],
    "E": [("Y", "")],
}


def recorded(out: Path, **options: Any) -> Replay:
    agent = a_scripted_agent(PATHS)
    replay = Replay(suite=agent.suite, replays=3, out=out, **options)
    replay.run(agent)
    return replay


def test_what_was_exported_measures_like_the_run_itself(tmp_path: Path) -> None:
    recorded(tmp_path / "run", otel_file=tmp_path / "spans.jsonl")
    own = analyze(tmp_path / "run").measurement
    (group,) = collect([otlp.read(tmp_path / "spans.jsonl")])
    measured = measure(group.table, replays=3)
    assert (measured.dar, measured.tar, measured.flagged) == (own.dar, own.tar, own.flagged)
    assert (measured.episodes_eligible, measured.groups_eligible) == (own.episodes_eligible, own.groups_eligible)
    assert (measured.reasons, measured.cost_nusd, measured.latency_us) == (own.reasons, own.cost_nusd, own.latency_us)
    assert own.dar is not None
    assert own.dar < 1


def test_the_file_is_the_same_whenever_it_is_made(tmp_path: Path) -> None:
    agent = a_scripted_agent(PATHS)
    replay = Replay(suite=agent.suite, replays=3, out=tmp_path / "run", otel_file=tmp_path / "spans.jsonl")
    replay.run(agent)
    first = (tmp_path / "spans.jsonl").read_bytes()
    replay.run(agent)
    assert (tmp_path / "spans.jsonl").read_bytes() == first
    assert export_otlp(tmp_path / "run", tmp_path / "again.jsonl").read_bytes() == first
    assert len(first.splitlines()) == 15


def test_a_span_follows_the_conventions_and_has_no_content(out: Path) -> None:
    async def script(case: Any, context: Any) -> Any:
        await context.tools.call("k", x="private")
        return agent.result(context)

    suite = a_suite(("A",))
    agent = a_scripted_agent({"A": [script]}, suite=suite, tools=a_registry(suite))
    Replay(suite=suite, replays=2, out=out).run(agent)
    report = analyze(out).report
    root, tool = list(spans_of(next(iter(episodes(out))), report.manifest, report.run_plan_sha256))
    assert (root.name, root.attributes["gen_ai.operation.name"]) == ("invoke_agent ad", "invoke_agent")
    assert root.attributes["gen_ai.provider.name"] == "p"
    assert (tool.name, tool.parent_id, tool.trace_id) == ("execute_tool k", root.span_id, root.trace_id)
    assert not tool.failed
    assert "private" not in str((root, tool))
    assert "gen_ai.tool.call.arguments" not in tool.attributes


def test_a_failed_episode_is_an_error_span(out: Path) -> None:
    async def broken(case: Any, context: Any) -> None:
        raise ValueError("private text")

    agent = a_scripted_agent({"A": [broken]})
    Replay(suite=agent.suite, replays=2, out=out).run(agent)
    report = analyze(out).report
    (root,) = spans_of(next(iter(episodes(out))), report.manifest, report.run_plan_sha256)
    assert (root.failed, root.attributes["error.type"]) == (True, "ValueError")
    assert "private text" not in str(root)


def test_a_file_that_could_not_be_written_is_refused_before_anything_is_paid_for(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place, problem in ((tmp_path / "file" / "spans.jsonl", "Not a directory"), (tmp_path, "Is a directory")):
        with pytest.raises(ConfigurationError, match=rf"otel_file: .*cannot be written \({problem}\)"):
            recorded(tmp_path / "run", otel_file=place)
    assert not (tmp_path / "run").exists()


def test_a_file_that_can_no_longer_be_written_changes_nothing_else(tmp_path: Path) -> None:
    told: list[Any] = []

    def observer(event: Any) -> None:
        told.append(event)
        (tmp_path / "spans.jsonl").mkdir(exist_ok=True)

    recorded(tmp_path / "run", otel_file=tmp_path / "spans.jsonl", observer=observer)
    problems = [event.problem for event in told if isinstance(event, TracesExported)]
    assert problems == ["cannot be written (Is a directory)"]
    assert analyze(tmp_path / "run").report.episodes_completed == 15


def test_an_endpoint_is_sent_what_this_session_made_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs(SDK, "otel")
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    with collector() as (address, bodies):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        recorded(tmp_path / "run", otel=True)
        sent = len(bodies)
        recorded(tmp_path / "run", otel=True)
    assert len(bodies) == sent
    spans = [
        span
        for body in bodies
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    roots = {span.trace_id.hex() for span in spans if not span.parent_span_id}
    assert roots == {episode.episode_id for episode in episodes(tmp_path / "run")}


def test_an_endpoint_that_is_away_changes_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs(SDK, "otel")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    told: list[Any] = []
    recorded(tmp_path / "run", otel=True, observer=told.append)
    (exported,) = [event for event in told if isinstance(event, TracesExported)]
    assert exported.problem is not None


def test_an_answer_that_never_ends_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    needs(SDK, "otel")
    monkeypatch.setattr(telemetry, "BATCH_S", 0.5)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "a-secret-without-a-name")
    told: list[Any] = []
    with dripping() as address:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        recorded(tmp_path / "run", otel=True, observer=told.append)
    assert [event.problem for event in told if isinstance(event, TracesExported)] == ["TimeoutError"]
    assert "secret" not in "".join(capfd.readouterr())


@pytest.mark.parametrize("address", ["nonsense", "ftp://example.org", "http://", "http://a b/"])
def test_an_endpoint_that_is_no_address_is_refused_before_anything_is_paid_for(address: str) -> None:
    needs(SDK, "otel")
    with pytest.raises(ConfigurationError, match="OTEL_EXPORTER_OTLP_ENDPOINT: found no address; expected http"):
        Telemetry.asked_for(True, None, {"OTEL_EXPORTER_OTLP_ENDPOINT": address})


def test_without_an_endpoint_nothing_is_dispatched(out: Path) -> None:
    needs(SDK, "otel")
    with pytest.raises(ConfigurationError, match="OTEL_EXPORTER_OTLP_ENDPOINT"):
        Telemetry.asked_for(True, None, {})
    assert not Telemetry.asked_for(False, None, {}).wanted


def test_every_line_is_one_document(tmp_path: Path) -> None:
    recorded(tmp_path / "run", otel_file=tmp_path / "spans.jsonl")
    for line in (tmp_path / "spans.jsonl").read_text().splitlines():
        assert list(json.loads(line)) == ["resourceSpans"]
