"""The one way in which the harness calls an adapter."""

from __future__ import annotations

import sys

from dfah_cli.adapter.contract import Agent, RunContext
from dfah_cli.adapter.functions import run
from dfah_cli.errors import AgentContractError
from dfah_cli.records.case import Case
from dfah_cli.records.episode import AgentResult

LEAST_DEPTH = sys.getrecursionlimit()


async def invoke(agent: Agent, case: Case, context: RunContext) -> AgentResult:
    """The result of one episode; a plain `arun` runs in a worker thread, so that a time limit can pass it by.

    Raises: AgentContractError for another return type; otherwise whatever the adapter raises, SystemExit and the like
    included, so the caller catches BaseException in the same task.
    """
    try:
        return checked_result(await run(agent.arun, case, context))
    finally:
        # An adapter may have lowered what everything after it needs; raised, another that still runs may need it.
        if sys.getrecursionlimit() < LEAST_DEPTH:
            sys.setrecursionlimit(LEAST_DEPTH)


def checked_result(result: object) -> AgentResult:
    """The result itself; nothing is coerced into one.

    Raises: AgentContractError naming the type found.
    """
    if isinstance(result, AgentResult):
        return result
    raise AgentContractError(f"the adapter returned {type(result).__name__}; expected an AgentResult from every call")
