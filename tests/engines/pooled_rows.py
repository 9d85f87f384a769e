"""Every row of the table of misbehaviour as one case of a suite, so that one run shows what becomes of all of them."""

from __future__ import annotations

import asyncio
from typing import Any

from dfah_cli.adapter.contract import RunContext
from dfah_cli.records.case import Case
from dfah_cli.records.episode import AgentResult
from dfah_cli.records.suite import Suite
from tests.adapter import misbehaviour
from tests.adapter.build import a_manifest
from tests.adapter.misbehaviour import MANIFEST, ROWS, Row, agent_of, tools


class Pooled:
    """Misbehaves as the row says that the case is named after, in replay 0; behaves in replay 1."""

    def __init__(self, rows: tuple[Row, ...]) -> None:
        self._rows = {row.name: row for row in rows}
        self.suite = Suite(
            suite_id="misbehaviour",
            suite_version="1.0.0",
            decisions=misbehaviour.SUITE.decisions,
            cases=[Case(case_id=name, artifact_case_id=name, input={"n": 0}) for name in self._rows],
            tools=misbehaviour.SUITE.tools,
        )
        self._pinned = a_manifest(self.suite)
        self.manifest = self._pinned
        self.tools = tools()

    def _one(self, context: RunContext) -> Any:
        self.manifest = self._pinned
        return agent_of(self._rows[context.case_id])


class Async(Pooled):
    """The rows whose adapter is async."""

    async def arun(self, case: Case, context: RunContext) -> AgentResult:
        one = self._one(context)
        if context.replay_index:
            assert context.tools is not None
            await context.tools.call("look", n=0)
            return one.result(context)  # type: ignore[no-any-return]
        found = one.misbehave(one, case, context)
        result = await found if asyncio.iscoroutine(found) else found
        if one.manifest is not MANIFEST:
            self.manifest = one.manifest
        return result  # type: ignore[no-any-return]


class Plain(Pooled):
    """The rows whose adapter is a plain function."""

    def arun(self, case: Case, context: RunContext) -> AgentResult:
        one = self._one(context)
        if context.replay_index:
            assert context.tools is not None
            context.tools.call_sync("look", n=0)
            return one.result(context)  # type: ignore[no-any-return]
        return one.misbehave(one, case, context)  # type: ignore[no-any-return]


async_agent = Async(tuple(row for row in ROWS if not row.plain))
plain_agent = Plain(tuple(row for row in ROWS if row.plain))
