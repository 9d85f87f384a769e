"""OTLP JSON: one document, or one per line as the collector's file exporter writes them. Ids in hex or base64."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dfah_cli.loading.replays import typed
from dfah_cli.loading.replays.recorded import Recording, read_document, refused, shown
from dfah_cli.loading.replays.spans import SEMCONV, Span, replays

HEX = re.compile(r"[0-9a-fA-F]+\Z")
TRACE_BYTES, SPAN_BYTES = 16, 8
ERROR_STATUS = (2, "STATUS_CODE_ERROR")
SCALARS = ("stringValue", "boolValue", "intValue", "doubleValue", "bytesValue")


def recognised(document: Any) -> bool:
    """Whether a JSON document has this shape."""
    return isinstance(document, dict) and "resourceSpans" in document


def read(path: Path) -> Recording:
    """Every agent run in the file. Raises: ValidationError with the line of the first malformed record."""
    found, notes = replays(list(_spans(path)))
    notes = (f"read with OpenTelemetry semantic conventions {SEMCONV}", *notes)
    return Recording(source=str(path), format="otlp", replays=found, notes=notes)


def _spans(path: Path) -> Iterator[Span]:
    for where, document in documents(read_document(path), shown(path)):
        for resource in typed.items(document.get("resourceSpans", []), where):
            yield from _resource_spans(typed.mapping(resource, where), where)


def _resource_spans(resource: Mapping[str, Any], where: str) -> Iterator[Span]:
    for scope in typed.items(resource.get("scopeSpans", []), where):
        for span in typed.items(typed.mapping(scope, where).get("spans", []), where):
            yield _span(typed.mapping(span, where), where)


def documents(payload: bytes, place: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(place, document) for a file that is one JSON document or has one on each line."""
    lines = [(number, line) for number, line in enumerate(payload.split(b"\n"), start=1) if line.strip()]
    if len(lines) > 1 and not _whole(lines[0][1]):
        yield place, typed.mapping(typed.parse(payload, place), place)
        return
    for number, line in lines:
        where = f"{place} line {number}"
        yield where, typed.mapping(typed.parse(line, where), where)


def _whole(line: bytes) -> bool:
    stripped = line.strip()
    return stripped.startswith(b"{") and stripped.endswith(b"}")


def _span(span: Mapping[str, Any], where: str) -> Span:
    trace = identifier(typed.text(span, "traceId", where), TRACE_BYTES, where)
    span_id = identifier(typed.text(span, "spanId", where), SPAN_BYTES, where)
    parent = span.get("parentSpanId")
    status = span.get("status")
    attributes = {
        typed.text(typed.mapping(pair, where), "key", where): _value(pair.get("value"), where)
        for pair in typed.items(span.get("attributes", []), where)
    }
    return Span(
        trace=trace,
        span_id=span_id,
        parent=identifier(parent, SPAN_BYTES, where) if parent else None,
        name=str(span.get("name", "")),
        start=_nanoseconds(span, "startTimeUnixNano", where),
        end=_nanoseconds(span, "endTimeUnixNano", where),
        attributes=attributes,
        failed=isinstance(status, dict) and status.get("code") in ERROR_STATUS,
        where=f"{where} span {span_id}",
    )


def identifier(value: Any, size: int, where: str) -> str:
    """A trace or span id as lower-case hex, from hex (OTLP JSON) or base64 (plain protobuf JSON)."""
    text = str(value)
    if len(text) == 2 * size and HEX.match(text):
        return text.lower()
    try:
        payload = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        payload = b""
    if len(payload) != size:
        raise refused(where, f"an id is neither {2 * size} hex digits nor base64 of {size} bytes")
    return payload.hex()


def _nanoseconds(span: Mapping[str, Any], key: str, where: str) -> int:
    # 64-bit integers are strings in protobuf JSON; some writers use numbers.
    value = str(span.get(key, ""))
    if not (value.isascii() and value.isdigit()):
        raise refused(where, f"{key}: expected nanoseconds as an integer")
    return int(value)


def _value(value: Any, where: str) -> Any:
    found = typed.mapping(value, where) if value is not None else {}
    if "intValue" in found:
        return int(found["intValue"]) if str(found["intValue"]).lstrip("-").isdigit() else None
    if "arrayValue" in found:
        return [_value(item, where) for item in typed.mapping(found["arrayValue"], where).get("values", [])]
    if "kvlistValue" in found:
        pairs = typed.mapping(found["kvlistValue"], where).get("values", [])
        return {str(pair.get("key")): _value(pair.get("value"), where) for pair in pairs}
    return next((found[kind] for kind in SCALARS if kind in found), None)
