"""`Replay`: the public way to run a suite against an agent."""

from __future__ import annotations

import asyncio
import platform
import sys
from pathlib import Path
from typing import Any

from attrs import evolve

from dfah_cli.adapter.contract import Agent, agent_problem
from dfah_cli.adapter.git import git_state
from dfah_cli.adapter.registry import ToolRegistry
from dfah_cli.engines.drive import Halt
from dfah_cli.errors import AgentContractError, ConfigurationError, GateViolationError
from dfah_cli.execution.clock import Clock, SystemClock
from dfah_cli.execution.events import Observer, silent
from dfah_cli.execution.session import Settings
from dfah_cli.gate.evaluate import GateResult, Verdict
from dfah_cli.planning.plan import Design, PlannedRun, default_directory_name, make_plan
from dfah_cli.records.engine import Engine
from dfah_cli.records.enums import ReplayMode
from dfah_cli.records.manifest import Manifest
from dfah_cli.records.policy import GatePolicy
from dfah_cli.records.suite import Suite
from dfah_cli.report.record import Report
from dfah_cli.store.places import RunUrl
from dfah_cli.store.protocol import RunStore
from dfah_cli.version import __version__
from dfah_cli.workflow.arguments import MAX_SHARDS, flag, mode_of, money, place, policy_of, whole
from dfah_cli.workflow.isolating import engine_of, isolation_of, placed
from dfah_cli.workflow.observing import Observing
from dfah_cli.workflow.recording import Job, Recorded, record_run
from dfah_cli.workflow.telemetry import Session, Telemetry

DEFAULT_STORE = Path(".dfah/runs")


class Replay:
    """One design over one suite; `run` replays an agent under it and returns the report.

    Design (part of the run's identity): suite, replays, seed, sample_rate, episode_timeout_s, only, limit, schedule,
    mode and recording of the tools, the key of digests.
    Everything else may change when a run is resumed.
    """

    def __init__(
        self,
        *,
        suite: Suite | str | Path,
        replays: int = 3,
        seed: int = 42,
        out: str | Path | None = None,
        concurrency: int = 1,
        sample_rate: float = 1.0,
        mode: ReplayMode | str = ReplayMode.SHADOW,
        budget_usd: float | None = None,
        estimated_max_episode_cost_usd: float | None = None,
        gate: GatePolicy | None = None,
        otel: bool = False,
        otel_file: str | Path | None = None,
        tools: ToolRegistry | None = None,
        capture_tool_arguments: bool = False,
        recover_stale_lease: bool = False,
        episode_timeout_s: float | None = None,
        store: str | Path | None = None,
        shards: int | None = None,
        lease_token: str | None = None,
        only: tuple[str, ...] | list[str] = (),
        limit: int | None = None,
        schedule: str = "shuffled",
        isolation: str | None = None,
        worker_memory_mb: int | None = None,
        engine: Engine | str = "local",
        tools_mode: str = "live",
        tools_file: str | Path | None = None,
        tools_key_env: str | None = None,
        tools_results: str = "first",
        tools_latency: str = "none",
        digest_key_env: str | None = None,
        provenance: dict[str, Any] | None = None,
        observer: Observer = silent,
        clock: Clock | None = None,
    ) -> None:
        """Checks everything that can be checked without an agent, and reads what is replayed.

        out: the run directory; None makes one under `store`. budget_usd needs a positive
        estimated_max_episode_cost_usd. only: pseudonyms of the cases to run; empty means all. provenance: facts
        recorded beside the run and never hashed; its `parent` is the run that this one succeeds. tools_mode: live,
        record or replay; see docs/recorded-tools.md for the options beside it. digest_key_env: names the variable with
        the key of digests. isolation: process for episodes in worker processes, fresh for a new one each.
        engine: ray for episodes on a Ray cluster, or an `Engine` that says which and how; see docs/engines.md.
        otel: send spans to the endpoint of the `OTEL_*` variables; otel_file: write them to a file.
        Raises: ConfigurationError (ValidationError for a value of the wrong type) before anything is written.
        """
        self.suite = Suite.load(suite)
        self.observed = Observing(
            tools=tools_mode,
            tools_file=tools_file,  # converted and checked by the record
            tools_key_env=tools_key_env,
            tools_results=tools_results,
            tools_latency=tools_latency,
            digest_key_env=digest_key_env,
        ).found()
        self.design = self.observed.design(
            Design(
                replays=replays,
                seed=seed,
                sample_rate=sample_rate,
                episode_timeout_s=episode_timeout_s,
                only=only,  # converted and checked by the record
                limit=limit,
                schedule=schedule,
            )
        )
        self.mode = mode_of(mode)
        self.policy = policy_of(gate, self.mode)
        if provenance is not None and not isinstance(provenance, dict):
            raise ConfigurationError(f"provenance: found {type(provenance).__name__}; expected an object")
        self.provenance = dict(provenance or {})
        amounts = money(budget_usd, estimated_max_episode_cost_usd)
        self.settings = Settings(
            parent=self.provenance.get("parent", {}).get("commitment"),
            concurrency=whole("concurrency", concurrency),
            capture_arguments=flag("capture_tool_arguments", capture_tool_arguments),
            budget_nusd=amounts.get("budget_nusd"),
            estimate_nusd=amounts.get("estimate_nusd", 0),
        )
        if self.observed.digest_key is not None and self.settings.capture_arguments:
            raise ConfigurationError(
                "digest_key_env: captured arguments would stand beside their digests; capture none"
            )
        self.telemetry = Telemetry.asked_for(flag("otel", otel), otel_file)
        if tools is not None and not isinstance(tools, ToolRegistry):
            raise ConfigurationError(f"tools: found {type(tools).__name__}; expected a ToolRegistry")
        self.tools = tools
        self.out = None if out is None else place("out", out)
        self.isolation = isolation_of(isolation, worker_memory_mb)
        self.worker_memory_mb = worker_memory_mb
        self.engine = engine_of(engine, self.isolation)
        self.shards = None if shards is None else whole("shards", shards, MAX_SHARDS)
        self.store = DEFAULT_STORE if store is None else place("store", store)
        self.recover_stale_lease = flag("recover_stale_lease", recover_stale_lease)
        self.lease_token = lease_token
        self.observer = observer
        self.clock = clock or SystemClock()
        self.last_gate_result: GateResult | None = None

    def output_path(self, manifest: Manifest) -> Path | RunUrl:
        """The run directory of a run under this manifest."""
        return self.out if self.out is not None else self.store / default_directory_name(manifest, self.design)

    def plan(self, agent: Agent) -> PlannedRun:
        """The frozen plan for an agent; nothing is written and nothing is called.

        Raises: ManifestMismatchError when the agent was made for another suite.
        """
        return make_plan(self.suite, _manifest(agent), self.design)

    def run(self, agent: Agent) -> Report:
        """Replays the agent and returns the report; works inside a running event loop too.

        Raises: GateViolationError in blocking mode when the gate does not pass; see `record` for the rest.
        """
        return self._run(agent, None)

    async def arun(self, agent: Agent) -> Report:
        """`run` for async callers: the replay has a thread and a loop of its own, the caller's loop stays free."""
        halt = Halt()
        work = asyncio.get_running_loop().run_in_executor(None, self._run, agent, halt)
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            # What is in flight is drained and committed before the caller goes on.
            halt("interrupted")
            await asyncio.wait({work})
            raise

    def record(self, agent: Agent) -> Recorded:
        """`run` with everything it came to, and without raising for a gate.

        Raises: ConfigurationError, LeaseError, DesignMismatchError before any call; ArtifactError when what is
        recorded cannot be believed; StorageError when the disk fails.
        """
        return self._record(agent, None)

    def _run(self, agent: Agent, halt: Halt | None) -> Report:
        recorded = self._record(agent, halt)
        self._enforce(recorded, agent)
        return recorded.report

    def _record(self, agent: Agent, halt: Halt | None) -> Recorded:
        agent = placed(agent, self.suite, self.engine, self.isolation, self.worker_memory_mb)
        job = evolve(self._job(agent), halt=halt)
        run, session = self.output_path(job.manifest), Session(self.telemetry, self.observer)
        observer = session if self.telemetry.wanted else self.observer
        recorded = record_run(job, _run_store(run, self.shards), self.clock, observer)
        session.export(run, job.manifest, job.planned.plan.sha256)
        self.last_gate_result = recorded.gate_result
        return recorded

    def _job(self, agent: Agent) -> Job:
        # Copies: the adapter has the originals, and what it does to them must reach neither plan nor records.
        manifest = evolve(_manifest(agent))
        registry = _registry(agent, self.tools)
        if registry is not None:
            registry.check_suite(self.suite)
            registry.freeze()
        planned = make_plan(self.suite, manifest, self.design)
        self.observed.check(planned.plan, self.output_path(manifest), has_tools=registry is not None)
        return Job(
            planned=evolve(planned, cases={name: case.fresh() for name, case in planned.cases.items()}),
            manifest=manifest,
            agent=agent,
            registry=registry,
            tools=self.suite.tools,
            settings=self.settings,
            mode=self.mode,
            policy=self.policy,
            where=str(self.output_path(manifest)),
            provenance={**_surroundings(self.settings), **self.provenance, **_money(self.settings)},
            recover_stale_lease=self.recover_stale_lease,
            lease_token=self.lease_token,
            observed=self.observed,
        )

    def _enforce(self, recorded: Recorded, agent: Agent) -> None:
        result = recorded.gate_result
        if self.mode is ReplayMode.BLOCKING and result is not None and result.verdict is not Verdict.PASS:
            place = self.output_path(recorded.report.manifest) / "gates" / f"{recorded.gate_ordinal}.json"
            try:
                result.raise_for_failures()
            except GateViolationError as violation:
                raise GateViolationError(f"{violation} (recorded in {place})") from None


def _run_store(path: Path | RunUrl, shards: int | None) -> RunStore:
    from dfah_cli.store.opening import open_store
    from dfah_cli.store.places import place_of, refuse_evidence, refuse_nesting

    refuse_evidence(place_of(path))
    refuse_nesting(place_of(path))
    return open_store(path, shards=shards)


def _manifest(agent: Agent) -> Manifest:
    problem = agent_problem(agent)
    if problem:
        raise AgentContractError(f"the agent {problem}")
    return agent.manifest


def _registry(agent: Agent, given: ToolRegistry | None) -> ToolRegistry | None:
    bound = getattr(agent, "tools", None)
    if not isinstance(bound, ToolRegistry):
        return given
    if given is not None and given is not bound:
        raise ConfigurationError("tools: the agent is bound to another ToolRegistry; pass that one, or none")
    return bound


def _surroundings(settings: Settings) -> dict[str, Any]:
    """What surrounds a run and is never part of its identity."""
    git = git_state(Path.cwd())
    return {
        "dfah_cli": __version__,
        "python": platform.python_version(),
        "platform": sys.platform,
        "git_sha": git.sha,
        "git_dirty": git.dirty,
        "concurrency": settings.concurrency,
        "capture_tool_arguments": settings.capture_arguments,
    }


def _money(settings: Settings) -> dict[str, Any]:
    """What the reservations of a session are checked against, so no fact of a caller's may stand in its place."""
    return {"budget_nusd": settings.budget_nusd, "estimate_nusd": settings.estimate_nusd}
