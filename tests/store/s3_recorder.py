"""A runner on object storage as a process of its own: `python -m tests.store.s3_recorder URL EPISODES CALLS [OPTIONS]`.

Every call to the pretended provider is one line in the file CALLS, every acknowledged episode another. The requests it
sent go to standard output. A rival believes every other runner dead and takes over whenever it can.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import sys
import time
from collections.abc import Iterator
from typing import Any

from dfah_cli.errors import DFAHError, FencedError, LeaseError
from dfah_cli.store.host import Host
from dfah_cli.store.object_store import ObjectStore
from dfah_cli.store.opening import open_store
from dfah_cli.store.places import RunUrl, bucket_of
from dfah_cli.store.protocol import Body, RunWriter, SlotState
from tests.contract.store_contract import MANIFEST, a_plan, an_episode, an_intent, fixed_clock, planned

TAKEOVERS = 6
WINDOW = 4096


class Rival(Host):
    """A machine of its own, from which no other process can be seen."""

    def __init__(self) -> None:
        self._name = f"rival-{os.getpid()}"

    def boot_id(self) -> str:
        return self._name

    def machine(self) -> str:
        return self._name


def note(file: int, text: str) -> None:
    os.write(file, f"{text}\n".encode())


async def worker(writer: RunWriter, slots: Iterator[int], calls: int, call_s: float) -> None:
    terminal: list[Body] = []
    done = None
    for slot in slots:
        window = [] if writer.slots[slot] != SlotState.ABSENT else [_window(writer, slot)]
        await writer.commit([*terminal, *window, an_intent(slot)])
        if done is not None:
            note(calls, f"ack {done}")
        note(calls, f"call {slot}")
        await asyncio.sleep(call_s)
        terminal, done = [an_episode(slot)], slot
    await writer.commit(terminal)
    if done is not None:
        note(calls, f"ack {done}")


def _window(writer: RunWriter, slot: int) -> Body:
    low = slot - slot % WINDOW
    return planned(low, min(low + WINDOW, len(writer.slots)))


async def record(writer: RunWriter, calls: int, concurrency: int, call_s: float) -> None:
    left = [slot for slot, state in enumerate(writer.slots) if state == SlotState.DISPATCHING]
    writer.commit_now([an_episode(slot, status="interrupted") for slot in left])
    waiting = iter([slot for slot, state in enumerate(writer.slots) if state <= SlotState.PLANNED])
    await asyncio.gather(*(worker(writer, waiting, calls, call_s) for _ in range(concurrency)))


def session(store: Any, given: argparse.Namespace, calls: int, **options: Any) -> None:
    with store.open_writer(
        plan_bytes=a_plan(given.episodes),
        manifest_bytes=MANIFEST,
        clock=fixed_clock,
        concurrency=given.concurrency,
        **options,
    ) as writer:
        asyncio.run(record(writer, calls, given.concurrency, given.call_s))
        while writer.next_part():
            asyncio.run(record(writer, calls, given.concurrency, given.call_s))


def rival(given: argparse.Namespace, calls: int) -> None:
    """Takes over again and again, from whoever has the run."""
    token: str | None = None
    for _ in range(TAKEOVERS):
        store = ObjectStore(bucket_of(RunUrl(given.url)), host=Rival())
        try:
            session(store, given, calls, recover_stale_lease=True, lease_token=token)
        except FencedError:
            note(calls, "fenced")
        except LeaseError as held:
            found = re.search(r"--lease-token ([0-9a-f]+)", str(held))
            token = found[1] if found else None
            continue
        time.sleep(random.random() * 0.3)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("episodes", type=int)
    parser.add_argument("calls")
    parser.add_argument("--concurrency", type=int, default=1)
    parser.add_argument("--shards", type=int, default=None)
    parser.add_argument("--call-s", type=float, default=0.0)
    parser.add_argument("--recover", action="store_true")
    parser.add_argument("--rival", action="store_true")
    given = parser.parse_args(arguments)
    calls = os.open(given.calls, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    started = time.perf_counter()
    try:
        if given.rival:
            rival(given, calls)
            return 0
        store = open_store(given.url, shards=given.shards)
        session(store, given, calls, recover_stale_lease=given.recover)
    except DFAHError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return int(error.exit_code)
    requests = dict(store.bucket.requests) if not isinstance(store, str) else {}  # type: ignore[union-attr]
    print(json.dumps({"requests": requests, "seconds": time.perf_counter() - started}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
