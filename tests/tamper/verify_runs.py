"""Small finished runs, their bytes held in memory, and forged ones whose every digest is right again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dfah_cli.evidence.claims import CheckStatus, Claim
from dfah_cli.merkle import commitment, episode_root
from dfah_cli.planning.plan import plan_from_bytes
from dfah_cli.records.policy import GatePolicy
from dfah_cli.store.host import Host
from dfah_cli.store.log import LogStore
from dfah_cli.workflow.verification import Verification, verify_run
from tests.builders import STEADY, Script, a_scripted_agent, replayed

Body = dict[str, Any]
Change = Callable[[Body], Body | None]
POLICY = GatePolicy(min_dar=0.9, max_gap=0.1)
WRITTEN = ("SHA256SUMS", "gates", "head", "manifest.json", "plan.json", "reports", "seal.json", "segments")


class ElsewhereHost(Host):
    """A machine that never wrote the run: no crash can be told from a cut write by its boot."""

    def boot_id(self) -> str:
        return "another boot"


class Bytes:
    """A file system that only reads, from a mapping of path to bytes; what a test changes there is what is read."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = dict(files)
        self._open: dict[int, str] = {}

    def _handle(self, name: str) -> int:
        number = len(self._open) + 1
        self._open[number] = name
        return number

    def open_root(self, path: str, *, create: bool) -> int:
        return self._handle("")

    def open_dir(self, parent: int, name: str) -> int:
        place = f"{self._open[parent]}{name}/"
        if not any(file.startswith(place) for file in self.files):
            raise FileNotFoundError(name)
        return self._handle(place)

    def names(self, directory: int) -> list[str]:
        place = self._open[directory]
        return sorted({file[len(place) :].partition("/")[0] for file in self.files if file.startswith(place)})

    def open_read(self, directory: int, name: str) -> int:
        place = f"{self._open[directory]}{name}"
        if place not in self.files:
            raise FileNotFoundError(name)
        return self._handle(place)

    def size(self, file: int) -> int:
        return len(self.files[self._open[file]])

    def read(self, file: int, size: int, offset: int) -> bytes:
        return self.files[self._open[file]][offset : offset + size]

    def close(self, handle: int) -> None:
        """Handles are never given out twice."""


def a_finished_run(out: Path, paths: Mapping[str, list[Script]] | None = None, **options: Any) -> Path:
    """A sealed run with one report and one gate record."""
    replayed(a_scripted_agent(paths or {"A": [STEADY]}), out, **{"replays": 2, "gate": POLICY, **options})
    return out


def evidence_files(run: Path) -> dict[str, bytes]:
    """Every file of evidence with its bytes, by its name inside the run directory."""
    files = {str(place.relative_to(run)): place.read_bytes() for place in run.rglob("*") if place.is_file()}
    return {name: payload for name, payload in files.items() if name.partition("/")[0] in WRITTEN}


def broken(run: Path) -> set[Claim]:
    """The claims that verification refuses."""
    return broken_in(verify_run(run))


def broken_in(found: Verification) -> set[Claim]:
    return {check.claim for check in found.checks if check.status is CheckStatus.FAIL}


def forged(run: Path, out: Path, *, body: Change = lambda b: b, payload: Callable[[str, bytes], bytes] | None = None,
           keep: Callable[[Body], bool] = lambda b: True) -> Path:  # fmt: skip
    """The records of a run written again by a writer of ours, changed on the way: every digest and root is right.

    body: changes a record, None drops it. payload: changes the file of a report or gate record ("report", bytes).
    """
    reader = LogStore(run).open_reader()
    records = [dict(record) for _, record in reader.records()]
    with LogStore(out).open_writer(
        plan_bytes=reader.plan_bytes, manifest_bytes=reader.manifest_bytes, clock=lambda: "2026-01-31T09:00:00.000000Z"
    ) as writer:
        for record in records:
            changed = body(dict(record))
            if changed is None or record["t"] == "segment":
                continue
            if record["t"] == "close":
                found = [
                    (b["case_id"], b["replay_index"], h) for h, b in writer.reader().records() if b["t"] == "episode"
                ]
                root, plan = episode_root(found), plan_from_bytes(reader.plan_bytes)
                digest = commitment(episodes=len(found), episode_root=root, plan_sha256=plan.sha256)
                writer.seal(episodes=len(found), episode_root=root, commitment=digest)
            elif record["t"] in ("report", "gate"):
                text = (reader.report if record["t"] == "report" else reader.gate)(record["ordinal"])
                text = text if payload is None else payload(record["t"], text)
                stated = {key: value for key, value in changed.items() if key not in ("t", "ordinal", "sha256")}
                if record["t"] == "report":
                    tail = writer.reader().tail()
                    stated |= {"log_n": tail.n, "log_root": tail.root}
                (writer.publish_report if record["t"] == "report" else writer.publish_gate)(text, stated)
            else:
                writer.commit_now([changed])
    return out
