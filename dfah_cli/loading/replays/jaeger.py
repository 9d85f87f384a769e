"""Jaeger JSON (`{"data": [{"traceID": …, "spans": […]}]}`), as its interface and API export traces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dfah_cli.loading.replays import typed
from dfah_cli.loading.replays.recorded import Recording, read_document, shown
from dfah_cli.loading.replays.spans import SEMCONV, Span, replays


def recognised(document: Any) -> bool:
    """Whether a JSON document has this shape."""
    data = document.get("data") if isinstance(document, dict) else None
    return isinstance(data, list) and bool(data) and isinstance(data[0], dict) and "spans" in data[0]


def read(path: Path) -> Recording:
    """Every agent run in the file. Raises: ValidationError naming the span that is malformed."""
    found, notes = replays(list(_spans(path)))
    notes = (f"read with OpenTelemetry semantic conventions {SEMCONV}", *notes)
    return Recording(source=str(path), format="jaeger", replays=found, notes=notes)


def _spans(path: Path) -> Iterator[Span]:
    place = shown(path)
    document = typed.mapping(typed.parse(read_document(path), place), place)
    for number, trace in enumerate(typed.items(document.get("data"), place)):
        where = f"{place} trace {number}"
        for at, span in enumerate(typed.items(typed.mapping(trace, where).get("spans"), where)):
            yield _span(typed.mapping(span, where), f"{where} span {at}")


def _span(span: Mapping[str, Any], where: str) -> Span:
    trace = typed.text(span, "traceID", where)
    start = typed.index_64(span, "startTime", where)
    tags = {
        typed.text(typed.mapping(tag, where), "key", where): tag.get("value")
        for tag in typed.items(span.get("tags", []), where)
    }
    return Span(
        trace=trace,
        span_id=typed.text(span, "spanID", where),
        parent=_parent(span, trace, where),
        name=str(span.get("operationName", "")),
        start=start * 1000,
        end=(start + typed.index_64(span, "duration", where)) * 1000,
        attributes=tags,
        failed=tags.get("otel.status_code") == "ERROR" or tags.get("error") in (True, "true"),
        where=where,
    )


def _parent(span: Mapping[str, Any], trace: str, where: str) -> str | None:
    for reference in typed.items(span.get("references", []), where):
        found = typed.mapping(reference, where)
        if found.get("refType") == "CHILD_OF" and found.get("traceID") == trace:
            return typed.text(found, "spanID", where)
    return None
