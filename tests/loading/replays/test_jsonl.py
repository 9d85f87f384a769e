from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from dfah_cli.errors import ValidationError
from dfah_cli.loading.replays import jsonl
from dfah_cli.loading.replays.recorded import RecordedReplay
from tests.builders import shared
from tests.loading.replays.lines import a_file, a_line


def one(folder: Path, **changes: Any) -> RecordedReplay:
    (found,) = jsonl.read(a_file(folder, a_line(**changes))).replays
    return found


def test_a_line_becomes_a_replay(tmp_path: Path) -> None:
    found = one(tmp_path, cost_usd=0.25, latency_ms=1.5, payload_hash="f", endpoint="https://x")
    assert found.steps == (("T", "a", "r", "observed_nonempty", "executed"),)
    assert (found.decision, found.task, found.agent) == ("yes", "t", ("p", "m", None))
    assert (found.cost_nusd, found.latency_us, found.wire, found.endpoint) == (250_000_000, 1500, "f", "https://x")


def test_what_was_not_recorded_is_unavailable_and_not_empty(tmp_path: Path) -> None:
    found = one(tmp_path, decision=None, tool_calls=None)
    assert (found.decision, found.steps) == (None, None)
    assert one(tmp_path, tool_calls=[]).steps == ()
    assert one(tmp_path, tool_calls=[{"name": "T"}]).steps == (("T", None, None, "observed_nonempty", "executed"),)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"case_id": ...}, "case_id: expected a non-empty string, found nothing"),
    ({"case_id": "  "}, "case_id"),
    ({"case_id": 7}, "case_id: expected a non-empty string, found int"),
    ({"replay_index": -1}, "replay_index"),
    ({"replay_index": True}, "replay_index: expected an integer from 0 on, found bool"),
    ({"replay_index": 1.0}, "replay_index"),
    ({"decision": 3}, "decision"),
    ({"status": "ok"}, "status: expected one of valid"),
    ({"status": []}, "status"),
    ({"surprise": 1}, "1 unknown fields"),
    ({"tool_calls": {}}, "tool_calls: expected an array, found dict"),
    ({"tool_calls": [3]}, r"tool_calls\[0\]: expected an object"),
    ({"tool_calls": [{"argument_hash": "a"}]}, r"tool_calls\[0\]: name"),
    ({"tool_calls": [{"name": "T", "args": 1}]}, "unknown fields"),
    ({"cost_usd": -1}, "cost_usd"),
    ({"cost_usd": True}, "cost_usd"),
    ({"channels": {"decision": "unavailable"}}, "decision: its channel says unavailable"),
    ({"channels": {"path": "observed_empty"}}, "found 1 calls"),
    ({"channels": {"path": "unavailable"}}, "yet there are calls"),
    ({"channels": {"results": "unavailable"}}, "result_hash: its channel says unavailable"),
    ({"channels": {"smell": "observed"}}, "channels: 1 unknown fields"),
]


@pytest.mark.parametrize(("changes", "message"), BAD)
def test_a_malformed_line_is_refused_with_its_number(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = a_file(tmp_path, a_line(), a_line(replay_index=1), a_line(**changes))
    with pytest.raises(ValidationError, match=message) as caught:
        list(jsonl.read(path).replays)
    assert "replays.jsonl line 3" in str(caught.value)
    assert "nothing was imported" in str(caught.value)


def test_broken_json_is_refused_with_line_and_column_and_without_its_text(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(a_line()) + "\n\n{secret\n", encoding="utf-8")
    with pytest.raises(ValidationError, match=r"x\.jsonl line 3: not JSON: .* at column 2") as caught:
        list(jsonl.read(path).replays)
    assert "secret" not in str(caught.value)


def schema_accepts(line: Any) -> bool:
    return not list(jsonschema.Draft202012Validator(_referring()).iter_errors(line))


def _referring() -> dict[str, Any]:
    from importlib import resources

    text = resources.files("dfah_cli.loading.schemas").joinpath("recorded_replay.json").read_text("utf-8")
    found = json.loads(text)
    assert isinstance(found, dict)
    return found


# What one field says about another is beyond a schema, and to it 1.0 is an integer.
IN_SCHEMA = [changes for changes, _ in BAD if changes.get("replay_index") != 1.0 and "channels" not in changes]


@pytest.mark.parametrize("changes", IN_SCHEMA)
def test_the_published_schema_refuses_the_same_lines(changes: dict[str, Any]) -> None:
    assert not schema_accepts(a_line(**changes))


def test_the_published_schema_accepts_what_the_reader_accepts() -> None:
    assert schema_accepts(a_line())
    assert schema_accepts({"configuration_id": "x", "case_id": "A", "replay_index": 0})
    path = shared("corpus", "retrospective_episodes.jsonl")
    lines = path.read_bytes().splitlines()[::50]
    assert all(schema_accepts(json.loads(line)) for line in lines)
    assert len(list(jsonl.read(path).replays)) == 6208
