"""Section "Inside a terminal record" of docs/store-format.md, written from the page alone; see `second_reader`."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from typing import Any

from tests.docs.second_format import canonical, digest, need

STATUSES = "valid parse_failure refusal tool_error provider_error budget_stop interrupted contract_error"
DISPATCH = ["planned", "reserved", "dispatching", "responded", "unknown_after_dispatch", "captured", "complete"]
CHANNEL = ["observed_nonempty", "observed_empty", "unavailable", "malformed"]
EXECUTION = ["executed", "requested", "rejected", "error"]
OBSERVED = CHANNEL[:2]
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")

Shape = Callable[[Any], bool]


def one_of(*allowed: str) -> Shape:
    return lambda value: type(value) is str and value in allowed


def maybe(shape: Shape) -> Shape:
    return lambda value: value is None or shape(value)


def flag(value: Any) -> bool:
    return type(value) is bool


def count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**53


def name(value: Any) -> bool:
    if type(value) is not str or not value.strip() or len(value) > 4096:
        return False
    return not any(unicodedata.category(character) in ("Cc", "Cs") for character in value)


def hex64(value: Any) -> bool:
    return type(value) is str and re.fullmatch("[0-9a-f]{64}", value) is not None


def time(value: Any) -> bool:
    return type(value) is str and TIME.fullmatch(value) is not None


def text_of(kind: type | tuple[type, ...], holds: Shape = lambda _: True) -> Shape:
    def check(value: Any) -> bool:
        try:
            found = json.loads(value) if type(value) is str else None
        except ValueError:
            return False
        return type(found) in (kind if isinstance(kind, tuple) else (kind,)) and holds(found) and (
            kind is not dict or canonical(found).decode() == value
        )  # fmt: skip

    return check


PARSE = {
    "strategy": one_of("strict_marker", "typed_output", "none"),
    "raw_span": maybe(name),
    "accepted": flag,
    "fallback": flag,
    "confidence": maybe(text_of((int, float), lambda share: 0 <= share <= 1)),
    "reason": maybe(name),
}
CALL = {
    "name": name,
    "arguments_hash": maybe(hex64),
    "arguments": maybe(text_of(dict)),
    "call_id": maybe(name),
    "output_hash": maybe(hex64),
    "result_state": one_of(*CHANNEL),
    "execution_state": one_of(*EXECUTION),
    "latency_us": maybe(count),
}
ECHO = {
    "provider": name,
    "model": name,
    "endpoint": maybe(name),
    "adapter": name,
    "adapter_version": maybe(name),
    "parameters_attested": flag,
    "parameters_sha256": hex64,
    "payload_hash": hex64,
}
USAGE = {
    **dict.fromkeys(("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens"), count),
    "provider_usage": text_of(dict),
}
ERROR = {"kind": name, "message": name, "retryable": flag, "dispatch_state": one_of(*DISPATCH)}


def of_shape(shapes: dict[str, Shape]) -> Shape:
    return lambda value: (
        type(value) is dict and value.keys() == shapes.keys() and all(shapes[key](value[key]) for key in shapes)
    )


WHOLE = {
    "status": one_of(*STATUSES.split()),
    "response": maybe(name),
    "started_at": time,
    "ended_at": time,
    "parse": of_shape(PARSE),
    "wire_request": maybe(of_shape(ECHO)),
    "usage": maybe(of_shape(USAGE)),
    "error": maybe(of_shape(ERROR)),
    "cost_nusd": count,
    "latency_us": count,
    "replay_index": count,
}


def check_terminal(body: Any, path: Any, manifest: Any, what: str) -> None:
    for field, shape in WHOLE.items():
        need(field in body and shape(body[field]), f"{what}: {field}")
    status, valid = body["status"], body["status"] == "valid"
    state = "unknown_after_dispatch" if status == "interrupted" else "complete"
    need(body["dispatch_state"] == state, f"{what}: state")
    need(valid == (body["error"] is None), f"{what}: error")
    if valid:
        need(body["decision"] in manifest["decision_ontology"], f"{what}: no label of the manifest")
        need(body["parse"]["accepted"] and not body["parse"]["fallback"], f"{what}: not accepted")
        need(body["parse"]["raw_span"] == "DECISION: " + body["decision"].upper(), f"{what}: another marker")
    else:
        need(body["decision"] is None and not body["parse"]["accepted"], f"{what}: decided")
    check_path(path, valid, what)
    check_echo(body["wire_request"], status, manifest, what)


def check_path(path: Any, valid: bool, what: str) -> None:
    need(path.keys() == {"state", "calls"} and type(path["calls"]) is list, f"{what}: path")
    need(path["state"] in (OBSERVED if valid else CHANNEL), f"{what}: path state")
    need(bool(path["calls"]) == (path["state"] == "observed_nonempty"), f"{what}: path state")
    for call in path["calls"]:
        need(of_shape(CALL)(call), f"{what}: a call")
        executed = call["execution_state"] == "executed"
        need(executed or not valid, f"{what}: a call was not executed")
        observed = call["result_state"] in OBSERVED and call["output_hash"] is not None
        need(observed or not executed, f"{what}: a call without its result")
        hashed = call["arguments_hash"] is not None
        need(hashed or call["execution_state"] == "rejected", f"{what}: a call without its arguments")
        text = call["arguments"]
        need(text is None or digest(text.encode()) == call["arguments_hash"], f"{what}: arguments")


def check_echo(echo: Any, status: str, manifest: Any, what: str) -> None:
    need(echo is not None or status != "valid", f"{what}: no echo")
    if echo is not None and status != "contract_error":
        for field in ("provider", "model", "endpoint", "adapter", "adapter_version"):
            need(echo[field] == manifest[field], f"{what}: another {field}")
        parameters = digest(canonical(manifest["request_parameters"]))
        need(echo["parameters_attested"] and echo["parameters_sha256"] == parameters, f"{what}: other parameters")
