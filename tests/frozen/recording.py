"""Records what this folder keeps: `python -m tests.frozen.recording FILE.tar.xz` packs runs of the version at hand.

Once committed, a file is never made again: it stands for all that the version of its time has recorded anywhere.
"""

from __future__ import annotations

import io
import lzma
import sys
import tarfile
import tempfile
from contextlib import chdir, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from dfah_cli.errors import GateViolationError
from dfah_cli.records.policy import CaseGatePolicy, GatePolicy, NonInferiorityPolicy, TaskGatePolicy, Waiver
from tests.builders import FIXED, STEADY, Script, a_case, a_replay, a_scripted_agent, a_suite

STRICT = GatePolicy(min_dar=0.9, max_gap=0.1, required_replays=4)
RULES = GatePolicy(
    min_tar_seq=0.5,
    max_flags_per_100_cases=80.0,
    require_complete=False,
    by_task=(TaskGatePolicy(task="kyc", min_dar=0.5),),
    by_case=(CaseGatePolicy(case="*", min_dar=0.6),),
    waivers=(Waiver(case="C", reason="known to waver", expires="2099-12-31"),),
)
PROVEN: dict[str, Any] = {"min_dar": 0.3, "evidence": "confident", "confidence": 0.9, "max_attempts": 3}
PATHS: dict[str, list[Script]] = {
    "A": [("Y", "T U"), ("Y", "U T"), ("N", "T"), ("Y", "T U k=1")],
    "B": [STEADY],
    "C": [("N", "T T"), ("Y", "T")],
    "ü": [("Y", "k=1"), ("Y", "k=2"), ("Y", "")],
}
LONG: Script = ("Y", " ".join(["k=" + "x" * 400] * 600))
TASKS = {"A": "kyc", "B": "kyc", "C": "fraud", "ü": "fraud", "long": "fraud", "E": "kyc"}


class GoingClock:
    """A clock that goes on whenever it is read, so that the same version records the same times."""

    def __init__(self) -> None:
        self._now = FIXED

    def now(self) -> datetime:
        self._now += timedelta(milliseconds=1375)
        return self._now

    def monotonic_us(self) -> int:
        return int((self.now() - FIXED).total_seconds() * 1_000_000)


def failing(*_: Any) -> Any:
    raise RuntimeError("no answer")


def record(out: Path) -> None:
    """A run with failures; beside it one that its budget stopped, finished later and judged by several policies."""
    clock = GoingClock()

    def run(name: str, paths: dict[str, list[Script]], **options: Any) -> None:
        suite = a_suite([a_case(case, task=TASKS[case]) for case in paths], parallel=(("T", "U"),))
        agent = a_scripted_agent(paths, suite=suite, cost_usd=0.01)
        a_replay(agent, out / name, replays=4, clock=clock, capture_tool_arguments=True, **options).run(agent)

    run("failures", PATHS | {"E": [STEADY, failing]}, gate=RULES)
    whole = PATHS | {"long": [LONG, STEADY, LONG]}
    run("finished", whole, gate=RULES, budget_usd=0.10, estimated_max_episode_cost_usd=0.01)
    run("finished", whole, gate=RULES)
    with suppress(GateViolationError):
        run("finished", whole, gate=STRICT, mode="blocking")
    run("candidate", PATHS, gate=GatePolicy(**PROVEN))
    with chdir(out):  # the record of a gate names its baseline, and no place of this machine may stand there
        margins = NonInferiorityPolicy(baseline="candidate", dar=0.2, flags_per_100=30.0)
        run("candidate", PATHS, gate=GatePolicy(**PROVEN, non_inferiority=margins))


def pack(place: Path) -> None:
    """The runs as one file, with nothing in it that says who made it, or when."""
    with tempfile.TemporaryDirectory() as folder:
        record(Path(folder))
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as tar:
            tar.add(folder, arcname=".", filter=_anonymous)
        place.write_bytes(lzma.compress(packed.getvalue()))


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member


if __name__ == "__main__":
    pack(Path(sys.argv[1]))
