"""Stands before an agent during a preflight and keeps the payloads of its wire requests, in memory only."""

from __future__ import annotations

from typing import Any

from dfah_cli.adapter.contract import Agent, RunContext
from dfah_cli.adapter.invoke import invoke
from dfah_cli.records.case import Case
from dfah_cli.records.episode import AgentResult
from dfah_cli.records.manifest import Manifest
from dfah_cli.records.wire import PAYLOADS


class PayloadWatch:
    """An agent like the one behind it. payloads: by their digest."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self.payloads: dict[str, dict[str, Any]] = {}

    @property
    def manifest(self) -> Manifest:
        """The manifest of the agent behind."""
        return self._agent.manifest

    async def arun(self, case: Case, context: RunContext) -> AgentResult:
        """One episode of the agent behind.

        Raises: whatever it raises.
        """
        token = PAYLOADS.set(self.payloads)
        try:
            return await invoke(self._agent, case, context)
        finally:
            PAYLOADS.reset(token)

    def __getattr__(self, name: str) -> Any:
        # Tools, suite, and whatever an engine looks for.
        return getattr(self._agent, name)
