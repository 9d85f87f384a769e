"""Replay JSONL files for the tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def a_line(**changes: Any) -> dict[str, Any]:
    """One valid replay, with the given differences; a value of `...` removes the key."""
    line = {
        "configuration_id": "p:m",
        "provider": "p",
        "model": "m",
        "task": "t",
        "case_id": "A",
        "replay_index": 0,
        "decision": "Yes",
        "tool_calls": [{"name": "T", "argument_hash": "a", "result_hash": "r"}],
    }
    return {key: value for key, value in {**line, **changes}.items() if value is not ...}


def a_file(folder: Path, *lines: dict[str, Any], name: str = "replays.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path
