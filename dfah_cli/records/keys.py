"""Identities of slots, made fast: one digest over a prepared text instead of a general encoding."""

from __future__ import annotations

from hashlib import sha256
from json.encoder import encode_basestring


class SlotKeys:
    """Episode and idempotency keys under one manifest; each 64 hex digits.

    Equal to `run_plan.episode_key` and `run_plan.idempotency_key`, which define them. Only a successor of another run
    has idempotency keys of its own, so that no provider answers it from what the parent was answered.
    """

    def __init__(self, manifest_hash: str, *, parent: str | None = None) -> None:
        """parent: commitment of the run that this one succeeds."""
        self._manifest_hash = manifest_hash
        self._parent = "" if parent is None else f',"parent":"{parent}"'

    def episode(self, case_id: str, replay_index: int) -> str:
        """Identity of an episode; its first 32 digits are the episode id."""
        case = encode_basestring(case_id)
        text = f'{{"case_id":{case},"manifest_hash":"{self._manifest_hash}","replay_index":{replay_index}}}'
        return sha256(text.encode()).hexdigest()

    def idempotency(self, case_id: str, replay_index: int) -> str:
        """The key an adapter may hand to its provider."""
        case = encode_basestring(case_id)
        text = f'{{"case":{case},"manifest":"{self._manifest_hash}"{self._parent},"replay":{replay_index}}}'
        return sha256(text.encode()).hexdigest()
