"""The only shuffle: in which order the slots are dispatched."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from hashlib import sha256
from json.encoder import encode_basestring
from random import Random

from dfah_cli.records.run_plan import Slot

# Hashing a million slots at once would need their whole text in memory.
_CHUNK = 4096
BLOCK = 20  # cases; small enough that whole cases are finished early, large enough that their order tells nothing
SHUFFLED, BLOCKS = "shuffled", "blocks"


class Schedule:
    """All slots in dispatch order: cases sorted by pseudonym, replay indices within, then shuffled by the seed.

    order: `shuffled` mixes all slots; `blocks` draws the cases into blocks of twenty and mixes the slots of each block,
    so that whole cases are finished long before the run is.

    Compact (4 bytes a slot). A slot's *ordinal* is its place in the schedule; its *rank* is its place before the
    shuffle, `case index * replays + replay index`.
    """

    def __init__(self, case_tasks: Mapping[str, str], replays: int, seed: int, order: str = SHUFFLED) -> None:
        self.case_ids = tuple(sorted(case_tasks))
        self.tasks = tuple(case_tasks[case_id] for case_id in self.case_ids)
        self.replays = replays
        mixed = _blocks if order == BLOCKS else _shuffled
        self.ranks = array("I", mixed(len(self.case_ids), replays, Random(seed)))

    def __len__(self) -> int:
        return len(self.ranks)

    def __getitem__(self, ordinal: int) -> Slot:
        case_index, replay_index = divmod(self.ranks[ordinal], self.replays)
        return Slot(self.case_ids[case_index], self.tasks[case_index], replay_index)

    def __iter__(self) -> Iterator[Slot]:
        return (self[ordinal] for ordinal in range(len(self)))

    def sha256(self) -> str:
        """Digest of the canonical list of slots in dispatch order."""
        heads = [f'{{"case_id":{_quoted(case_id)},"replay_index":' for case_id in self.case_ids]
        tails = [f',"task":{_quoted(task)}}}' for task in self.tasks]
        hasher = sha256(b"[")
        for start in range(0, len(self.ranks), _CHUNK):
            places = (divmod(rank, self.replays) for rank in self.ranks[start : start + _CHUNK])
            chunk = ",".join(f"{heads[case]}{replay}{tails[case]}" for case, replay in places)
            hasher.update(("," if start else "").encode() + chunk.encode())
        hasher.update(b"]")
        return hasher.hexdigest()


def _shuffled(cases: int, replays: int, random: Random) -> list[int]:
    # The same permutation that a shuffle of the list of slots itself gives.
    ranks = list(range(cases * replays))
    random.shuffle(ranks)
    return ranks


def _blocks(cases: int, replays: int, random: Random) -> list[int]:
    drawn = list(range(cases))
    random.shuffle(drawn)
    ranks: list[int] = []
    for start in range(0, cases, BLOCK):
        block = [case * replays + replay for case in drawn[start : start + BLOCK] for replay in range(replays)]
        random.shuffle(block)
        ranks.extend(block)
    return ranks


def _quoted(text: str) -> str:
    return encode_basestring(text)
