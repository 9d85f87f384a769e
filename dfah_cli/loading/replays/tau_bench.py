"""tau-bench result files: a list of runs with chat messages; the decision of a run is its reward.

The user is simulated by a model too, so not all variation is the agent's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dfah_cli.loading.replays import chat, typed
from dfah_cli.loading.replays.recorded import RecordedReplay, Recording, read_document, refused, shown

NOTES = (
    "the user is simulated by a model: not all variation is the agent's",
    "the decision of a run is its reward",
)


def recognised(document: Any) -> bool:
    """Whether a JSON document has this shape."""
    return isinstance(document, list) and bool(document) and isinstance(document[0], dict) and "traj" in document[0]


def read(path: Path) -> Recording:
    """Every run of a result file; the file's name names the configuration. Raises: ValidationError."""
    place = shown(path)
    runs = typed.items(typed.parse(read_document(path), place), place)
    replays = tuple(_replay(run, path.stem, f"{place} run {number}") for number, run in enumerate(runs))
    return Recording(source=str(path), format="tau-bench", replays=replays, notes=NOTES)


def _replay(value: Any, configuration: str, where: str) -> RecordedReplay:
    run = typed.mapping(value, where)
    reward = run.get("reward")
    if isinstance(reward, bool) or not isinstance(reward, int | float):
        raise refused(where, "reward: expected a number")
    return RecordedReplay(
        configuration_id=configuration,
        agent=(configuration,),
        task="default",
        case_id=str(typed.index(run, "task_id", where)),
        replay_index=typed.index(run, "trial", where),
        decision=f"reward={float(reward)}",
        steps=chat.steps(typed.items(run.get("traj"), where), where),
        where=where,
    )
