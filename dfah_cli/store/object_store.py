"""A run in an object storage: the same log as in a directory, with a fence in every slot. See docs/store-format.md.

Opening order: the endpoint's conditional writes probed; number of logs, manifest and plan bound; the lease won as a
slot of the log; the whole log checked.
"""

from __future__ import annotations

from typing import Any

import orjson

from dfah_cli.errors import ArtifactError, ConfigurationError, DesignMismatchError
from dfah_cli.store import layout
from dfah_cli.store.bucket import Bucket
from dfah_cli.store.files import RunFiles
from dfah_cli.store.host import Host
from dfah_cli.store.lease import Lease, check_stale, my_lease, parse_lease
from dfah_cli.store.log import LogStore, Recovery
from dfah_cli.store.object_files import ObjectFiles
from dfah_cli.store.plan import PlanFacts, plan_facts
from dfah_cli.store.protocol import Clock, RunWriter, SlotState
from dfah_cli.store.safe_io import publish, storage_errors
from dfah_cli.store.slot_log import SlotLog
from dfah_cli.store.writer import Claim

BINDING = "store.json"
PACKED = "packed.json"


def log_folder(number: int) -> str:
    """Where the slots of a log lie."""
    return f"log/{number:04d}"


class ObjectStore(LogStore):
    """One run below a prefix that has one log; or one log of a run that has several."""

    def __init__(self, bucket: Bucket, *, host: Host | None = None, log: int = 0, logs: int = 1) -> None:
        """log: number of the log; below `logs`, when there are several, it is a part of the run and not the run."""
        self._bucket, self._number, self._logs = bucket, log, logs
        self._part = log < logs and logs > 1
        super().__init__(bucket.where, fs=self._files(), host=host)
        self.path = bucket.where

    @property
    def bucket(self) -> Bucket:
        return self._bucket

    def open_files(self) -> RunFiles:
        files = self._files()
        return RunFiles(files, files.open_root("", create=False))

    def open_writer(
        self,
        *,
        plan_bytes: bytes,
        manifest_bytes: bytes,
        clock: Clock,
        recover_stale_lease: bool = False,
        lease_token: str | None = None,
        concurrency: int = 1,
    ) -> RunWriter:
        with storage_errors(f"opening {self.path}"):
            if self._logs == 1:
                bind(self._bucket, plan_facts(plan_bytes, manifest_bytes), 1, self._host)
            self._fs = self._files()
        return super().open_writer(
            plan_bytes=plan_bytes,
            manifest_bytes=manifest_bytes,
            clock=clock,
            recover_stale_lease=recover_stale_lease,
            lease_token=lease_token,
            concurrency=concurrency,
        )

    def _files(self) -> ObjectFiles:
        first = first_slot(self._bucket, self._number)
        return ObjectFiles(self._bucket, SlotLog(self._bucket, log_folder(self._number), first), part=self._part)

    def _lease(self, files: RunFiles, facts: PlanFacts, recovery: Recovery, clock: Clock) -> Lease:
        mine = my_lease(self._host, facts.manifest_hash, clock())
        payload = files.read(layout.LEASE)
        if payload is not None:
            check_stale(
                parse_lease(payload),
                self._host,
                mine.at,
                recover=recovery.recover,
                token=recovery.token,
                locks=False,
            )
        publish(files.fs, files.root, layout.LEASE, mine.render())
        return mine

    def _claim(self, files: RunFiles, guard: int, facts: PlanFacts, mine: Lease) -> Claim:
        return Claim(files=files, facts=facts, lease=mine, host=self._host, guard=guard)

    def _own(self, states: bytearray) -> bytearray:
        if self._part:
            states[:] = [
                state if ordinal % self._logs == self._number else SlotState.ELSEWHERE
                for ordinal, state in enumerate(states)
            ]
        return states

    def say_done(self) -> None:
        """What the writer says when it releases the log: nothing is left to do in it."""
        assert isinstance(self._fs, ObjectFiles)
        self._fs.log.finished = True

    def _reserve(self, claim: Claim, concurrency: int) -> None:
        return  # nobody's disk


def bind(bucket: Bucket, facts: PlanFacts, shards: int | None, host: Host) -> int:
    """The number of logs of the run, which is fixed here the first time; plan and manifest are stored.

    Raises: DesignMismatchError when another plan is there; ConfigurationError when another number of logs is, or when
    the endpoint does not keep conditional writes.
    """
    recorded = bucket.get(layout.PLAN)
    if recorded is not None and recorded != facts.plan_bytes:
        raise _another_plan(bucket)
    bucket.check_conditional_create(host.new_token())
    if recorded is None:
        stated = {"logs": shards or 1, "run": facts.plan_sha256, "v": 1}
        bucket.put_new(BINDING, orjson.dumps(stated, option=orjson.OPT_SORT_KEYS))
    bound = bound_shards(bucket)
    if shards is not None and bound != shards and not (shards == 1 and bound is None):
        raise ConfigurationError(
            f"{bucket.where} was made with shards={bound or 1}, which is fixed; found shards={shards}. "
            "Leave it out, or use a new place."
        )
    if recorded is None:
        # The plan last: a place with a plan has a manifest and knows its logs.
        if not bucket.put_new(layout.MANIFEST, facts.manifest_bytes) or not bucket.put_new(
            layout.PLAN, facts.plan_bytes
        ):
            raise _another_plan(bucket)
    elif bucket.get(layout.MANIFEST) != facts.manifest_bytes:
        raise ArtifactError(f"{layout.MANIFEST} is not the one of this run plan. {layout.ADVICE}")
    return bound or 1


def bound_shards(bucket: Bucket) -> int | None:
    """The number of logs that was fixed; None when nothing was (a copied run has one). Raises: ArtifactError."""
    payload = bucket.get(BINDING)
    if payload is None:
        return None
    logs = _json(payload).get("logs")
    if type(logs) is not int or not 1 <= logs <= 9999:
        raise ArtifactError(f"{BINDING} does not state the number of logs. The stored run was edited or damaged.")
    return logs


def first_slot(bucket: Bucket, log: int) -> int:
    """The first slot of a log that is certainly kept; earlier ones may have been removed after they were packed."""
    payload = bucket.get(PACKED)
    kept = {} if payload is None else _json(payload).get("from")
    first = kept.get(f"{log:04d}", 0) if type(kept) is dict else None
    if type(first) is not int or first < 0:
        raise ArtifactError(f"{PACKED} does not state slots. The stored run was edited or damaged.")
    return first


def _json(payload: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(payload)
    except orjson.JSONDecodeError:
        return {}
    return found if type(found) is dict else {}


def _another_plan(bucket: Bucket) -> DesignMismatchError:
    return DesignMismatchError(
        f"{bucket.where} is bound to another run plan. Use a new place, or the design it was made for."
    )
