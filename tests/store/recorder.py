"""A whole run as a process of its own, to be killed: `python -m tests.store.recorder DIR EPISODES CALLS [CONCURRENCY]`.

Every call to the pretended provider is one line in the file CALLS, every acknowledged episode another.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator

from dfah_cli.errors import DFAHError
from dfah_cli.store.log import open_writer
from dfah_cli.store.protocol import Body, RunWriter, SlotState
from tests.contract.store_contract import MANIFEST, a_plan, an_episode, an_intent, fixed_clock, planned


def note(file: int, text: str) -> None:
    os.write(file, f"{text}\n".encode())


async def worker(writer: RunWriter, slots: Iterator[int], calls: int) -> None:
    terminal: list[Body] = []
    done = None
    for slot in slots:
        await writer.commit([*terminal, an_intent(slot)])
        if done is not None:
            note(calls, f"ack {done}")
        note(calls, f"call {slot}")
        await asyncio.sleep(0)
        terminal, done = [an_episode(slot)], slot
    await writer.commit(terminal)
    if done is not None:
        note(calls, f"ack {done}")


async def record(writer: RunWriter, calls: int, concurrency: int) -> None:
    open_slots = [slot for slot, state in enumerate(writer.slots) if state == SlotState.DISPATCHING]
    writer.commit_now([an_episode(slot, status="interrupted") for slot in open_slots])
    absent = [slot for slot, state in enumerate(writer.slots) if state == SlotState.ABSENT]
    if absent:
        await writer.commit([planned(absent[0], len(writer.slots))])
    waiting = iter([slot for slot, state in enumerate(writer.slots) if state == SlotState.PLANNED])
    await asyncio.gather(*(worker(writer, waiting, calls) for _ in range(concurrency)))


def main(arguments: list[str]) -> int:
    directory, episodes, calls_path, *rest = arguments
    concurrency = int(rest[0]) if rest else 1
    calls = os.open(calls_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        with open_writer(
            directory,
            plan_bytes=a_plan(int(episodes)),
            manifest_bytes=MANIFEST,
            clock=fixed_clock,
            recover_stale_lease=True,
            concurrency=concurrency,
        ) as writer:
            asyncio.run(record(writer, calls, concurrency))
    except DFAHError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return int(error.exit_code)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
