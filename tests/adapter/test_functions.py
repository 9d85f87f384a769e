from __future__ import annotations

import asyncio
import functools
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

from dfah_cli.adapter import functions
from dfah_cli.adapter.functions import Patience, Raised, Returned, in_thread, is_async, run


async def later() -> int:
    return 1


def plain() -> int:
    return 1


class AsyncCallable:
    async def __call__(self) -> int:
        return 1

    async def method(self) -> int:
        return 1


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (later, True),
        (functools.partial(later), True),
        (functools.partial(functools.partial(later)), True),
        (AsyncCallable(), True),
        (AsyncCallable().method, True),
        (plain, False),
        (functools.partial(plain), False),
        (lambda: later(), False),
        (AsyncCallable, False),
        (int, False),
    ],
)
def test_async_functions_are_told_from_plain_ones(function: Any, expected: bool) -> None:
    assert is_async(function) is expected


@pytest.mark.parametrize("function", [later, plain, AsyncCallable(), lambda: later()])
def test_every_kind_of_function_gives_its_value(function: Any) -> None:
    assert asyncio.run(run(function)) == 1


def test_an_outcome_is_a_value_or_any_exception() -> None:
    async def main() -> list[Any]:
        return [await in_thread(plain), await in_thread(sys.exit)]

    returned, raised = asyncio.run(main())
    assert returned == Returned(1)
    assert isinstance(raised, Raised)
    assert type(raised.problem) is SystemExit


def test_one_call_after_the_other_uses_one_thread() -> None:
    async def main() -> set[int]:
        return {(await in_thread(threading.get_ident)).value for _ in range(20)}  # type: ignore[union-attr]

    assert len(asyncio.run(main())) == 1


def test_idle_threads_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions, "IDLE_SECONDS", 0.05)
    monkeypatch.setattr(functions, "_WORKERS", functions._Workers())

    async def main() -> list[Any]:
        both = threading.Barrier(2, timeout=5)

        def meet() -> threading.Thread:
            both.wait()
            return threading.current_thread()

        return await asyncio.gather(in_thread(meet), in_thread(meet))

    threads = [outcome.value for outcome in asyncio.run(main())]
    assert len(set(threads)) == 2
    for thread in threads:
        thread.join(timeout=5)
        assert not thread.is_alive()


def test_a_thread_that_never_ends_does_not_keep_the_program(tmp_path: Any) -> None:
    code = (
        "import asyncio, time\nfrom dfah_cli.adapter.functions import in_thread\n"
        "async def main():\n    try:\n        await asyncio.wait_for(in_thread(lambda: time.sleep(60)), 0.1)\n"
        "    except TimeoutError:\n        print('left behind')\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stdout) == (0, "left behind\n")


def test_threads_work_again_in_a_forked_process() -> None:
    code = (
        "import asyncio, os\nfrom dfah_cli.adapter.functions import in_thread\n"
        "call = lambda: asyncio.run(asyncio.wait_for(in_thread(lambda: 7), 5)).value\n"
        "assert call() == 7\n"
        "child = os.fork()\n"
        "if child == 0:\n    os._exit(call())\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=30)
    assert done.stdout == "7\n", done.stderr


def test_patience_ends_for_a_function_that_is_never_quick() -> None:
    patience = Patience()

    async def main() -> float:
        # More calls than needed: on a busy machine this thread may wake up after the answer now and then.
        for _ in range(10 * Patience.CREDIT):
            if patience._credit:
                await in_thread(lambda: time.sleep(0.02), patience)
        return patience._credit

    assert asyncio.run(main()) == 0


def test_a_slow_function_is_answered_through_the_loop() -> None:
    async def main() -> Any:
        return await in_thread(lambda: time.sleep(0.05), Patience())

    assert asyncio.run(main()) == Returned(None)
