"""The state of every schedule ordinal, and the only changes a log may make to it.

absent -> planned -> dispatching -> committed. Pure: applying the same records gives the same states.
"""

from __future__ import annotations

from dfah_cli.errors import ArtifactError, EpisodeConflictError
from dfah_cli.store.protocol import Body, SlotState
from dfah_cli.store.vocabulary import AFTER_CLOSE

_ABSENT, _PLANNED, _DISPATCHING, _COMMITTED, _ = (int(state) for state in SlotState)
_PLAN = bytes([_PLANNED, *range(1, 256)])  # translation table: absent becomes planned, the rest stays


class SlotTable:
    """One byte per ordinal, and the digest of each terminal record (32 bytes per ordinal)."""

    __slots__ = ("_before", "_manifest_hash", "_terminals", "_undo", "closed", "committed", "states")

    def __init__(self, episodes_planned: int, manifest_hash: str | None, *, terminals: bool = True) -> None:
        """terminals: keep the digests, so that a repeated terminal record is told from a conflict."""
        self.states = bytearray(episodes_planned)
        self.committed = 0
        self.closed = False
        self._manifest_hash = manifest_hash
        self._terminals = bytearray(32 * episodes_planned if terminals else 0)
        self._undo: list[tuple[int, bytes]] | None = None
        self._before = (0, False)

    def rollback(self) -> SlotTable:
        """For a `with`: all records applied inside are taken, or none of them when one is refused."""
        return self

    def __enter__(self) -> None:
        self._undo = []
        self._before = self.committed, self.closed

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        undo, self._undo = self._undo, None
        if kind is not None:
            for start, old in reversed(undo or ()):
                self.states[start : start + len(old)] = old
            self.committed, self.closed = self._before

    def _set(self, ordinal: int, state: int) -> None:
        if self._undo is not None:
            self._undo.append((ordinal, bytes([self.states[ordinal]])))
        self.states[ordinal] = state

    def apply(self, kind: str, body: Body, h: str) -> bool:
        """Takes one record of a known type; False when it repeats a terminal record byte for byte.

        Raises: EpisodeConflictError for two different terminal records of one slot; ArtifactError for an
        intent after a terminal, a terminal without intent, an intent without plan, an ordinal outside the
        plan, another manifest, or evidence after the close record.
        """
        if self.closed and kind not in AFTER_CLOSE:
            raise ArtifactError(f"{kind} record after the close record")
        if kind == "episode":
            return self._episode(body, h)
        if kind == "dispatching":
            self._dispatching(self._ordinal(body["i"]))
        elif kind == "planned":
            self._planned(body["from"], body["to"])
        elif kind == "close":
            self._close(body["episodes"])
        return True

    def _ordinal(self, ordinal: object) -> int:
        if type(ordinal) is not int or not 0 <= ordinal < len(self.states):
            raise ArtifactError(f"slot outside the plan of {len(self.states)} episodes")
        return ordinal

    def _planned(self, low: object, high: object) -> None:
        if type(low) is not int or type(high) is not int or not 0 <= low < high <= len(self.states):
            raise ArtifactError(f"planned window outside the plan of {len(self.states)} episodes")
        old = bytes(self.states[low:high])
        if self._undo is not None:
            self._undo.append((low, old))
        self.states[low:high] = old.translate(_PLAN)

    def _dispatching(self, ordinal: int) -> None:
        state = self.states[ordinal]
        if state != _PLANNED:
            raise ArtifactError(f"intent for slot {ordinal}, which is {_NAMES[state]}, not planned")
        self._set(ordinal, _DISPATCHING)

    def _episode(self, body: Body, h: str) -> bool:
        ordinal = self._ordinal(body["i"])
        if self._manifest_hash is not None and body["manifest_hash"] != self._manifest_hash:
            raise ArtifactError(f"episode of slot {ordinal} belongs to another manifest than the plan")
        state = self.states[ordinal]
        if state == _COMMITTED:
            if self._terminals and self._terminals[32 * ordinal : 32 * ordinal + 32] == bytes.fromhex(h):
                return False
            raise EpisodeConflictError(f"second, different terminal record for slot {ordinal}")
        if state != _DISPATCHING:
            raise ArtifactError(f"terminal record for slot {ordinal}, which is {_NAMES[state]}, not dispatching")
        self._set(ordinal, _COMMITTED)
        self.committed += 1
        if self._terminals:
            self._terminals[32 * ordinal : 32 * ordinal + 32] = bytes.fromhex(h)
        return True

    def _close(self, episodes: object) -> None:
        if episodes != self.committed or self.committed != len(self.states):
            raise ArtifactError(
                f"close record while {self.committed} of {len(self.states)} planned episodes are committed"
            )
        self.closed = True


def advance(states: bytearray, kind: str, body: Body) -> None:
    """Takes a record that a `SlotTable` has accepted before."""
    if kind == "episode":
        states[body["i"]] = _COMMITTED
    elif kind == "dispatching":
        states[body["i"]] = _DISPATCHING
    elif kind == "planned":
        states[body["from"] : body["to"]] = states[body["from"] : body["to"]].translate(_PLAN)


_NAMES = tuple(state.name.lower() for state in SlotState)
