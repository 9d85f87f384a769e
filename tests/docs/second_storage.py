"""Section "In object storage" of docs/store-format.md, written from the page alone; see `second_reader`."""

from __future__ import annotations

import json

from tests.docs.second_format import body_of, digest, head_bytes_of, need, padding
from tests.docs.second_reader import Get

ZEROS = "0" * 64


def in_storage(get: Get, log: int = 0) -> Get:
    """`get` of a run below a prefix, as if it were a directory: segments are put together from slots."""
    logs = json.loads(get("store.json") or b'{"logs":1}')["logs"]
    whole = logs == 1 or get("seal.json") is not None
    number = (logs if logs > 1 else 0) if whole else log
    first = json.loads(get("packed.json") or b'{"from":{}}')["from"].get(f"{number:04d}", 0)
    segments, seq, before = dict[int, bytes](), first, None
    while (slot := get(f"log/{number:04d}/{seq:012d}")) is not None:
        header, _, batch = slot.partition(b"\n")
        body = (body_of(header + b"\n") or ("", {}))[1]
        need(body.get("t") == "slot" and body["seq"] == seq, f"slot {seq} is damaged")
        expected = before or (body["prev"] if first else ZEROS)
        need(body["prev"] == expected, f"slot {seq} does not follow the one before")
        held = segments.setdefault(body["seg"], b"")
        if batch:
            need(body["off"] == len(held) or (first and not held), f"slot {seq} leaves a gap")
            segments[body["seg"]] = held + batch + padding(body["off"] + len(batch))
        before, seq = digest(slot), seq + 1

    def found(name: str) -> bytes | None:
        if name.startswith("segments/"):
            return (get(name) if whole else None) or segments.get(int(name[9:17]))
        if name == "head":
            return None if (seal := get("seal.json")) is None else sealed_head(seal)
        return get(name) if whole or name in ("plan.json", "manifest.json") or name.startswith("objects/") else None

    return found


def sealed_head(seal: bytes) -> bytes:
    said = json.loads(seal)
    return head_bytes_of({"len": said["length"], "n": said["log_n"], "root": said["log_root"], "seg": said["segment"]})
