"""Agents over the packaged suites: steady ones, and one that is unstable on purpose."""

from __future__ import annotations

import asyncio
import hashlib
import pathlib
from collections.abc import Mapping
from typing import Any

from dfah import (
    AgentResult,
    CallableAgent,
    Case,
    ConfigurationError,
    Manifest,
    RunContext,
    Suite,
    ToolExecutionError,
    ToolRegistry,
    Usage,
    WireRequest,
    agent,
    build_manifest,
)
from dfah._demo.instability import Instability, Script, script
from dfah._demo.policies import Path, Policy, compliance_policy, dataops_policy, toy_policy, walk
from dfah._demo.tools import DRIFT, OUTAGE, local_tools, registry_of

POLICIES: dict[str, Policy] = {
    "toy-risk": toy_policy,
    "compliance-triage": compliance_policy,
    "dataops-exceptions": dataops_policy,
}
STEADY_PARAMETERS = {"temperature": 0.0, "top_p": 1.0, "seed": 42}


class ProviderOutageError(RuntimeError):
    """The demonstration provider that was told to fail."""


def code_hash() -> str:
    """Digest of the demonstration's own source files."""
    digest = hashlib.sha256()
    for file in sorted(pathlib.Path(__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def manifest_for(suite: Suite, model: str, parameters: Mapping[str, Any]) -> Manifest:
    """The manifest of a demonstration agent."""
    return build_manifest(
        suite,
        provider="local",
        model=model,
        adapter="dfah.demo",
        adapter_version="1.0.0",
        implementation_hash=code_hash(),
        request_parameters=dict(parameters),
    )


def echo_of(manifest: Manifest, case_id: str) -> WireRequest:
    """What the agent would have sent; the same for every replay of a case."""
    return WireRequest.from_payload(
        provider=manifest.provider,
        model=manifest.model,
        payload={"model": manifest.model, **manifest.request_parameters, "case_id": case_id},
        parameters=manifest.request_parameters,
        adapter=manifest.adapter,
        adapter_version=manifest.adapter_version,
    )


def steady_agent(suite: Suite) -> CallableAgent:
    """An agent that follows the suite's policy and nothing else."""
    policy = _policy_of(suite)
    manifest = manifest_for(suite, f"{suite.suite_id}-policy-v1", STEADY_PARAMETERS)

    @agent(manifest=manifest, tools=registry_of(suite), suite=suite)
    async def follow(case: Case, context: RunContext) -> AgentResult:
        assert context.tools is not None
        going = policy(case)
        answer = None
        while True:
            try:
                step = going.send(answer)
            except StopIteration as end:
                label = end.value
                break
            answer = await context.tools.call(step.tool, **step.arguments)
        return AgentResult(
            output_text=f"Followed the rule for {case.task}.\nDECISION: {label.upper()}\n",
            trajectory=context.tools.trajectory(),
            wire_request=echo_of(manifest, context.case_id),
            usage=Usage(input_tokens=200, output_tokens=12),
        )

    return follow


def _policy_of(suite: Suite) -> Policy:
    policy = POLICIES.get(suite.suite_id)
    if policy is None:
        raise ConfigurationError(f"dfah.demo has no policy for suite {suite.suite_id!r}; it has {', '.join(POLICIES)}")
    return policy


class UnstableAgent:
    """Follows the suite's policy, disturbed at known rates; `script` tells beforehand what it will do."""

    def __init__(self, suite: Suite, instability: Instability | None = None) -> None:
        self.suite = suite
        self.instability = instability or Instability()
        self.tools: ToolRegistry = registry_of(suite)
        self._specs = {spec.name: spec for spec in suite.tools}
        functions, policy = local_tools(suite), _policy_of(suite)
        self._paths = {case.effective_case_id: walk(policy, case, functions) for case in suite.cases}
        parameters = {"temperature": 1.0, "top_p": 1.0, **self.instability.as_parameters()}
        self._manifest = manifest_for(suite, f"{suite.suite_id}-unstable-v1", parameters)

    @property
    def manifest(self) -> Manifest:
        """The request contract; its parameters are the rates."""
        return self._manifest

    def with_parameters(self, parameters: Mapping[str, Any]) -> UnstableAgent:
        """Another agent with some rates changed, for configuration files; `suite` names another packaged suite.

        Raises: ConfigurationError naming an unknown parameter, or one that is out of range.
        """
        rest = dict(parameters)
        name = rest.pop("suite", None)
        suite = self.suite if name is None else Suite.load(name)
        return UnstableAgent(suite, self.instability.with_parameters(rest))

    def for_suite(self, suite: Suite) -> UnstableAgent:
        """The same rates on another packaged suite."""
        return UnstableAgent(suite, self.instability)

    def steady_path(self, case_id: str) -> Path:
        """What it does on a case (by its artifact id) when nothing disturbs it."""
        return self._paths[case_id]

    def script(self, case_id: str, replay_index: int) -> Script:
        """What it will do in one slot: the known truth. case_id: the artifact id."""
        labels = self._manifest.decision_ontology
        return script(self.instability, self._paths[case_id], labels, self._specs, case_id, replay_index)

    async def arun(self, case: Case, context: RunContext) -> AgentResult:
        """Plays the script of the slot."""
        assert context.tools is not None
        todo = self.script(context.case_id, context.replay_index)
        if todo.latency_ms:
            await asyncio.sleep(todo.latency_ms / 1000)
        if todo.ending == "failure":
            raise ProviderOutageError("the demonstration provider is down")
        for scripted in todo.steps:
            DRIFT.set(scripted.drift)
            OUTAGE.set(scripted.fails)
            try:
                await context.tools.call(scripted.step.tool, **scripted.step.arguments)
            except ToolExecutionError:
                break
        return AgentResult(
            output_text=_text(todo),
            trajectory=context.tools.trajectory(),
            wire_request=echo_of(self._manifest, context.case_id),
            usage=Usage(input_tokens=200 + 40 * len(todo.steps), output_tokens=12),
            cost_usd=self.instability.cost_usd,
            refused=todo.ending == "refusal",
        )


def _text(todo: Script) -> str:
    if todo.ending == "refusal":
        return "I cannot help with this case.\n"
    if todo.ending == "malformed":
        return f"The case looks like {todo.label}, I would say.\n"
    return f"Looked at {len(todo.steps)} answers.\nDECISION: {todo.label.upper()}\n"
