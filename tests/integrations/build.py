"""The same small agent for every framework, the provider it talks to, and what its run came to."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from dfah_cli.integrations.declared import agent_from_mapping
from dfah_cli.integrations.loopback.conversation import Answer, Behaviour, Fault
from dfah_cli.integrations.loopback.seeded import Seeded
from dfah_cli.integrations.loopback.server import LoopbackProvider
from dfah_cli.integrations.seam import ObservedAgent
from dfah_cli.records.case import Case
from dfah_cli.records.episode import Episode
from dfah_cli.records.suite import Suite
from dfah_cli.records.tool_spec import ToolSpec
from dfah_cli.report.record import Report
from dfah_cli.workflow.analyze import episodes as recorded_episodes
from dfah_cli.workflow.replay import Replay

ARGUMENTS = {
    "type": "object",
    "properties": {"customer": {"type": "string"}},
    "required": ["customer"],
    "additionalProperties": False,
}
SUITE = Suite(
    suite_id="refunds",
    suite_version="1.0.0",
    decisions=("approve", "reject"),
    cases=[
        Case(case_id=f"T-{n}", artifact_case_id=f"CASE-{n}", input={"customer": f"C-{n}", "amount": 10 * n})
        for n in (1, 2)
    ],
    tools=[
        ToolSpec(name="lookup_customer", description="Who it is.", input_schema=ARGUMENTS),
        ToolSpec(name="read_policy", description="What is allowed.", input_schema=ARGUMENTS),
    ],
)


def lookup_customer(customer: str) -> dict[str, Any]:
    return {"customer": customer, "tier": "gold"}


async def read_policy(customer: str) -> list[str]:
    return ["refund within 30 days"]


def failing_policy(customer: str) -> list[str]:
    raise RuntimeError("the policy server is down")


TOOLS = {"lookup_customer": lookup_customer, "read_policy": read_policy}
FAILING = {"lookup_customer": lookup_customer, "read_policy": failing_policy}


@frozen
class Framework:
    """One way to write the agent. package: what must be installed; extra: how to install it."""

    kind: str
    extra: str
    package: str
    options: dict[str, Any]

    def __str__(self) -> str:
        return "-".join([self.kind, *(name if value is True else str(value) for name, value in self.options.items())])

    @property
    def is_messages(self) -> bool:
        return self.kind == "anthropic" or self.options.get("api") == "messages"


def _frameworks() -> Iterator[Framework]:
    openai = [{}, {"stream": True}, {"api": "responses"}, {"api": "responses", "stream": True}]
    for options in openai:
        yield Framework("openai", "openai", "openai", options)
    for options in ({}, {"stream": True}):
        yield Framework("anthropic", "anthropic", "anthropic", options)
    for options in ({}, {"stream": True}, {"api": "responses"}):
        yield Framework("langgraph", "langgraph", "langchain_openai", options)
    yield Framework("langgraph", "langgraph", "langchain_anthropic", {"api": "messages"})
    for options in openai:
        yield Framework("pydantic-ai", "pydantic-ai", "pydantic_ai", options)
        yield Framework("openai-agents", "openai-agents", "agents", options)


FRAMEWORKS = list(_frameworks())
ONE_OF_EACH = [one for one in FRAMEWORKS if not one.options or one.options == {"api": "messages"}]


def needs(package: str, extra: str) -> None:
    """Skips the test with the command that makes it run."""
    try:
        found = importlib.util.find_spec(package)
    except ModuleNotFoundError:
        found = None  # what it is a part of is missing too
    if found is None:
        pytest.skip(f"needs {package}: pip install 'dfah-cli[{extra}]'")


@frozen
class Ran:
    """A finished run and what the provider saw of it."""

    report: Report
    episodes: list[Episode]
    provider: LoopbackProvider
    told: list[Any]

    def statuses(self) -> set[str]:
        return {episode.status.value for episode in self.episodes}

    def paths(self) -> list[tuple[object, ...]]:
        """What the tool session recorded, in the order of cases and replays."""
        return [tuple(call.step for call in episode.trajectory.tool_calls) for episode in self.episodes]


def declaration(framework: Framework, provider: LoopbackProvider, **changes: Any) -> dict[str, Any]:
    """The mapping that declares the agent in a framework."""
    base = provider.url if framework.is_messages else provider.openai_url
    made = {
        "kind": framework.kind,
        "model": "loopback-1",
        "base_url": base,
        "tools": "tests.integrations.build:TOOLS",
        "parameters": {"temperature": 0.0, "top_p": 1.0},
        "max_retries": 0,
        **framework.options,
    }
    return {**made, **changes}


@contextmanager
def agent_in(
    framework: Framework, behaviour: Behaviour | list[Answer | Fault] | None = None, **changes: Any
) -> Iterator[tuple[ObservedAgent, LoopbackProvider]]:
    """The agent, and a provider for it to talk to."""
    needs(framework.package, framework.extra)
    with LoopbackProvider(behaviour) as provider:
        yield agent_from_mapping(declaration(framework, provider, **changes), SUITE), provider


def ran_in(
    framework: Framework,
    out: Path,
    behaviour: Behaviour | list[Answer | Fault] | None = None,
    *,
    replays: int = 2,
    limit_s: float | None = 30.0,
    **changes: Any,
) -> Ran:
    """The agent's run against a provider that behaves in a certain way."""
    with agent_in(framework, behaviour or Seeded(), **changes) as (agent, provider):
        return run_of(agent, out, provider, replays=replays, limit_s=limit_s)


def run_of(
    agent: ObservedAgent, out: Path, provider: LoopbackProvider, *, replays: int = 2, limit_s: float | None = 30.0
) -> Ran:
    """The run of any agent over its suite."""
    told: list[Any] = []
    replay = Replay(suite=agent.suite, replays=replays, out=out, episode_timeout_s=limit_s, observer=told.append)
    report = replay.run(agent)
    episodes = sorted(recorded_episodes(out), key=lambda one: (one.case_id, one.replay_index))
    return Ran(report, episodes, provider, told)
