"""The default engine: asyncio on this machine."""

from __future__ import annotations

import asyncio

from dfah_cli.execution.runner import Runner


async def run_local(runner: Runner, concurrency: int) -> None:
    """Works through what is left with that many workers, never more than there are slots.

    Raises: the first error of a worker (StorageError); the others are stopped before it is passed on.
    """
    left = runner.settle()
    if not left:
        return
    runner.watch().start()
    workers = [asyncio.ensure_future(runner.work()) for _ in range(min(concurrency, left))]
    try:
        await asyncio.gather(*workers)
    except BaseException:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        raise
    finally:
        runner.watch().stop()
    runner.finish()
