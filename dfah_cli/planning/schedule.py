"""The only shuffle: in which order the slots are dispatched."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from random import Random

from dfah_cli.records.run_plan import Slot

# Hashing a million slots at once would need their whole text in memory.
_CHUNK = 4096


def make_schedule(case_tasks: Mapping[str, str], replays: int, seed: int) -> list[Slot]:
    """All slots, sorted by pseudonym and replay index, then shuffled by the seed."""
    slots = [Slot(case_id, case_tasks[case_id], index) for case_id in sorted(case_tasks) for index in range(replays)]
    Random(seed).shuffle(slots)
    return slots


def schedule_sha256(slots: Sequence[Slot]) -> str:
    """Digest of the canonical list of slots."""
    hasher = hashlib.sha256(b"[")
    encoded: dict[str, str] = {}
    for start in range(0, len(slots), _CHUNK):
        chunk = ",".join(_slot_text(slot, encoded) for slot in slots[start : start + _CHUNK])
        hasher.update(("," if start else "").encode() + chunk.encode())
    hasher.update(b"]")
    return hasher.hexdigest()


def _slot_text(slot: Slot, encoded: dict[str, str]) -> str:
    case_id = encoded.get(slot.case_id) or encoded.setdefault(slot.case_id, _quoted(slot.case_id))
    task = encoded.get(slot.task) or encoded.setdefault(slot.task, _quoted(slot.task))
    return f'{{"case_id":{case_id},"replay_index":{slot.replay_index},"task":{task}}}'


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
