from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from dfah_cli.errors import ValidationError
from dfah_cli.loading.replays import formats, jaeger, otlp
from dfah_cli.loading.replays.collect import collect
from dfah_cli.loading.replays.recorded import RecordedReplay
from dfah_cli.metrics.measure import measure
from tests.builders import shared


def attribute(key: str, value: Any) -> dict[str, Any]:
    kind = "intValue" if isinstance(value, int) else "stringValue"
    return {"key": key, "value": {kind: str(value)}}


def a_span(span_id: int, parent: int | None, start: int, **attributes: Any) -> dict[str, Any]:
    names = {key.replace("__", "."): value for key, value in attributes.items()}
    return {
        "traceId": f"{7:032x}",
        "spanId": f"{span_id:016x}",
        "parentSpanId": "" if parent is None else f"{parent:016x}",
        "name": "x",
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 5000),
        "attributes": [attribute(key, value) for key, value in names.items()],
    }


def a_run(first: int, case: str, *tools: str, decision: str = "Yes", **more: Any) -> list[dict[str, Any]]:
    """An agent invocation with a chat span in between and the tool spans in reverse file order."""
    agent = {"gen_ai__operation__name": "invoke_agent", "gen_ai__agent__name": "bot", "dfah__case__id": case}
    spans = [
        a_span(first, None, first * 100, **agent, gen_ai__request__model="m", dfah__decision__label=decision, **more),
        a_span(first + 1, first, first * 100 + 1, gen_ai__operation__name="chat"),
    ]
    for at, tool in enumerate(tools):
        attributes = {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": tool}
        hashes = {"gen_ai__tool__call__arguments": '{"k": 1}', "gen_ai__tool__call__result": "ok"}
        spans.append(a_span(first + 2 + at, first + 1, first * 100 + 10 + at, **attributes, **hashes))
    return spans[::-1]


def a_document(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": list(spans)}]}]}


def read(folder: Path, text: str) -> list[RecordedReplay]:
    path = folder / "spans.json"
    path.write_text(text, encoding="utf-8")
    assert formats.detect(path) == "otlp"
    return list(otlp.read(path).replays)


SPANS = [*a_run(10, "A", "t", "u"), *a_run(20, "A", "u", "t"), *a_run(30, "B", "t")]


def test_a_document_becomes_replays_with_ordered_tools(tmp_path: Path) -> None:
    found = read(tmp_path, json.dumps(a_document(*SPANS), indent=1))
    assert [(r.case_id, [s[0] for s in r.steps or ()]) for r in found] == [
        ("A", ["t", "u"]),
        ("A", ["u", "t"]),
        ("B", ["t"]),
    ]
    assert {(r.configuration_id, r.decision, r.latency_us, r.model) for r in found} == {("bot:m", "yes", 5, "m")}
    (table,) = collect([formats.read(tmp_path / "spans.json")])
    run = measure(table.table, replays=None)
    assert [case.path_variation_kind for case in run.cases] == ["order_only"]


def test_one_document_a_line_gives_the_same_replays(tmp_path: Path) -> None:
    whole = read(tmp_path, json.dumps(a_document(*SPANS)))
    lines = read(tmp_path, "".join(json.dumps(a_document(span)) + "\n" for span in SPANS))
    assert [(r.case_id, r.steps) for r in lines] == [(r.case_id, r.steps) for r in whole]


def test_ids_in_base64_are_the_same_ids(tmp_path: Path) -> None:
    def encoded(span: dict[str, Any]) -> dict[str, Any]:
        ids = {
            key: base64.b64encode(bytes.fromhex(span[key])).decode() for key in ("traceId", "spanId", "parentSpanId")
        }
        return {**span, **ids}

    spans = [encoded(span) for span in SPANS]
    assert [r.steps for r in read(tmp_path, json.dumps(a_document(*spans)))] == [
        r.steps for r in read(tmp_path, json.dumps(a_document(*SPANS)))
    ]


def test_an_agent_called_by_an_agent_is_no_replay_of_its_own(tmp_path: Path) -> None:
    outer = a_run(10, "A", "t")
    inner = a_span(50, 10, 2000, gen_ai__operation__name="invoke_agent", gen_ai__agent__name="helper")
    tool = a_span(51, 50, 2001, gen_ai__operation__name="execute_tool", gen_ai__tool__name="deep")
    (found,) = read(tmp_path, json.dumps(a_document(*outer, inner, tool)))
    assert [step[0] for step in found.steps or ()] == ["t", "deep"]


def test_runs_without_a_case_attribute_are_not_compared(tmp_path: Path) -> None:
    runs = [a_span(n, None, n, gen_ai__operation__name="invoke_agent") for n in (1, 2)]
    (tmp_path / "spans.json").write_text(json.dumps(a_document(*runs)), encoding="utf-8")
    recording = otlp.read(tmp_path / "spans.json")
    assert len({replay.case_id for replay in recording.replays}) == 2
    assert any("case of its own" in note for note in recording.notes)


def test_missing_arguments_and_results_stay_unavailable(tmp_path: Path) -> None:
    tool = a_span(11, 10, 1001, gen_ai__operation__name="execute_tool", gen_ai__tool__name="t")
    (found,) = read(tmp_path, json.dumps(a_document(*a_run(10, "A")[-1:], tool)))
    assert found.steps == (("t", None, None, "unavailable", "executed"),)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"traceId": "zz"}, "32 hex digits"),
        ({"spanId": 5}, "spanId"),
        ({"startTimeUnixNano": "soon"}, "nanoseconds"),
        ({"attributes": {}}, "expected an array"),
    ],
)
def test_a_malformed_span_is_refused_with_its_line(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    good, bad = a_document(*a_run(10, "A")), a_document({**a_span(1, None, 1), **change})
    with pytest.raises(ValidationError, match=message) as caught:
        read(tmp_path, json.dumps(good) + "\n" + json.dumps(bad) + "\n")
    assert "line 2" in str(caught.value)


def test_a_span_id_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="twice"):
        read(tmp_path, json.dumps(a_document(*a_run(10, "A"), *a_run(10, "A"))))


def test_a_recorded_jaeger_run_is_one_replay_with_nothing_to_compare() -> None:
    path = shared("samples", "jaeger_helm_agent.json")
    assert formats.detect(path) == "jaeger"
    (found,) = jaeger.read(path).replays
    assert [step[0] for step in found.steps or ()] == ["helm_list_releases"]
    assert (found.steps or ())[0][1] is not None
    (table,) = collect([formats.read(path)])
    run = measure(table.table, replays=None)
    assert run.dar is None
    assert ("single_replay_nothing_to_compare", 1) in run.reasons


def test_what_the_responses_say_served_them_is_the_backend(tmp_path: Path) -> None:
    spans = a_run(1, "A", "T")
    spans[1]["attributes"] += [
        attribute("gen_ai.response.model", "m-2026"),
        attribute("openai.response.system_fingerprint", "fp"),
    ]
    path = tmp_path / "spans.json"
    path.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}))
    (found,) = formats.read(path).replays
    assert found.backend == "m-2026 [fp]"
    assert found.model == "m"
    assert found.started_at is not None
