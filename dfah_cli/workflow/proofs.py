"""The proof that one episode belongs to a published commitment: a handful of digests instead of the whole run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from dfah_cli import merkle
from dfah_cli.errors import ArtifactError, ConfigurationError
from dfah_cli.store.blobs import encode_record
from dfah_cli.workflow.analyze import open_run
from dfah_cli.workflow.checking import believe

FORMAT = "dfah-proof-1"
_KEY = re.compile(r"[0-9a-f]{64}")


def prove(path: str | Path, episode: str) -> dict[str, Any]:
    """The inclusion proof of an episode, named as CASE/REPLAY or by its key (64 hex digits).

    Raises: ConfigurationError when it has no terminal record; ArtifactError when the run cannot be believed.
    """
    run = believe(open_run(path), str(path)).run
    leaves: list[tuple[tuple[bytes, int], str]] = []
    wanted: tuple[tuple[bytes, int], str, dict[str, Any]] | None = None
    is_named = _named(episode)
    for h, body in open_run(path).records():
        if body["t"] == "episode":
            place = merkle.episode_order(body["case_id"], body["replay_index"])
            leaves.append((place, h))
            if is_named(body):
                wanted = (place, h, body)
    if wanted is None:
        raise ConfigurationError(f"{path}: no terminal record of episode {episode!r}; dfah log {path} shows them")
    leaves.sort()
    place, h, body = wanted
    index = leaves.index((place, h))
    text = _record_text(body, h)
    proof = merkle.inclusion_proof([bytes.fromhex(leaf) for _, leaf in leaves], index)
    return {
        "format": FORMAT,
        "plan": run.plan.sha256,
        "commitment": run.commitment,
        "episodes": run.episodes,
        "episode_root": run.episode_root,
        "case_id": body["case_id"],
        "replay_index": body["replay_index"],
        "index": index,
        "h": h,
        "record": text,
        "path": [node.hex() for node in proof],
    }


def _named(episode: str) -> Any:
    if _KEY.fullmatch(episode):
        return lambda body: body["k"] == episode
    case_id, slash, replay = episode.rpartition("/")
    if not slash or not (replay.isascii() and replay.isdigit()):
        raise ConfigurationError(f"--episode: found {episode!r}; expected CASE/REPLAY, such as CASE-001/0, or a key")
    return lambda body: (body["case_id"], body["replay_index"]) == (case_id, int(replay))


def _record_text(body: dict[str, Any], h: str) -> str:
    """The record as its digest covers it: a long trajectory stands there by name."""
    for line in encode_record(body).lines:
        if line.h == h:
            return line.raw.decode("utf-8")
    raise ArtifactError(f"the record of slot {body['i']} does not have its own digest")
