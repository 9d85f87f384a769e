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
from dfah_cli.errors import AgentContractError, ConfigurationError, GateViolationError, OptionalDependencyError
from dfah_cli.execution.clock import Clock, SystemClock
from dfah_cli.execution.events import Observer, silent
from dfah_cli.execution.session import Settings
from dfah_cli.gate.evaluate import GateResult, Verdict
from dfah_cli.planning.plan import Design, PlannedRun, default_directory_name, make_plan
from dfah_cli.records.enums import ReplayMode
from dfah_cli.records.manifest import Manifest
from dfah_cli.records.money import budget_nusd, reservation_nusd
from dfah_cli.records.policy import GatePolicy
from dfah_cli.records.suite import Suite
from dfah_cli.report.record import Report
from dfah_cli.store.protocol import RunStore
from dfah_cli.version import __version__
from dfah_cli.workflow.recording import Job, Recorded, record_run

DEFAULT_STORE = Path(".dfah/runs")
MAX_CONCURRENCY = 10_000


class Replay:
    """One design over one suite; `run` replays an agent under it and returns the report.

    Design (part of the run's identity): suite, replays, seed, sample_rate, episode_timeout_s, only, limit, schedule.
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
        tools: ToolRegistry | None = None,
        capture_tool_arguments: bool = False,
        recover_stale_lease: bool = False,
        episode_timeout_s: float | None = None,
        store: str | Path | None = None,
        lease_token: str | None = None,
        only: tuple[str, ...] | list[str] = (),
        limit: int | None = None,
        schedule: str = "shuffled",
        provenance: dict[str, Any] | None = None,
        observer: Observer = silent,
        clock: Clock | None = None,
    ) -> None:
        """Checks everything that can be checked without an agent.

        out: the run directory; None makes one under `store`. budget_usd needs a positive
        estimated_max_episode_cost_usd. only: pseudonyms of the cases to run; empty means all. provenance: facts
        recorded beside the run and never hashed; its `parent` is the run that this one succeeds.
        Raises: ConfigurationError (ValidationError for a value of the wrong type) before anything is written.
        """
        self.suite = Suite.load(suite)
        self.design = Design(
            replays=replays,
            seed=seed,
            sample_rate=sample_rate,
            episode_timeout_s=episode_timeout_s,
            only=only,  # converted and checked by the record
            limit=limit,
            schedule=schedule,
        )
        self.mode = _mode(mode)
        self.policy = _policy(gate, self.mode)
        if provenance is not None and not isinstance(provenance, dict):
            raise ConfigurationError(f"provenance: found {type(provenance).__name__}; expected an object")
        self.provenance = dict(provenance or {})
        self.settings = Settings(
            parent=self.provenance.get("parent", {}).get("commitment"),
            concurrency=_whole("concurrency", concurrency),
            capture_arguments=_flag("capture_tool_arguments", capture_tool_arguments),
            **_money(budget_usd, estimated_max_episode_cost_usd),
        )
        if _flag("otel", otel):
            raise OptionalDependencyError("otel=True: telemetry export is not part of this version; leave it out")
        if tools is not None and not isinstance(tools, ToolRegistry):
            raise ConfigurationError(f"tools: found {type(tools).__name__}; expected a ToolRegistry")
        self.tools = tools
        self.out = None if out is None else _place("out", out)
        self.store = DEFAULT_STORE if store is None else _place("store", store)
        self.recover_stale_lease = _flag("recover_stale_lease", recover_stale_lease)
        self.lease_token = lease_token
        self.observer = observer
        self.clock = clock or SystemClock()
        self.last_gate_result: GateResult | None = None

    def output_path(self, manifest: Manifest) -> Path:
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
        job = evolve(self._job(agent), halt=halt)
        recorded = record_run(job, _run_store(self.output_path(job.manifest)), self.clock, self.observer)
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
            provenance={**_surroundings(self.settings), **self.provenance},
            recover_stale_lease=self.recover_stale_lease,
            lease_token=self.lease_token,
        )

    def _enforce(self, recorded: Recorded, agent: Agent) -> None:
        result = recorded.gate_result
        if self.mode is ReplayMode.BLOCKING and result is not None and result.verdict is not Verdict.PASS:
            place = self.output_path(recorded.report.manifest) / "gates" / f"{recorded.gate_ordinal}.json"
            try:
                result.raise_for_failures()
            except GateViolationError as violation:
                raise GateViolationError(f"{violation} (recorded in {place})") from None


def _run_store(path: Path) -> RunStore:
    from dfah_cli.store.log import LogStore

    return LogStore(path)


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


def _mode(mode: ReplayMode | str) -> ReplayMode:
    try:
        return ReplayMode(mode)
    except ValueError:
        raise ConfigurationError(f"mode: found {mode!r}; expected shadow or blocking") from None


def _policy(gate: GatePolicy | None, mode: ReplayMode) -> GatePolicy | None:
    if gate is not None and not isinstance(gate, GatePolicy):
        raise ConfigurationError(f"gate: found {type(gate).__name__}; expected a GatePolicy")
    if gate is None and mode is ReplayMode.BLOCKING:
        raise ConfigurationError("mode: blocking needs a gate; pass a GatePolicy, or use shadow")
    return gate


def _whole(name: str, value: int) -> int:
    if type(value) is not int or not 1 <= value <= MAX_CONCURRENCY:
        raise ConfigurationError(f"{name}: expected a whole number from 1 to {MAX_CONCURRENCY}")
    return value


def _place(name: str, value: str | Path) -> Path:
    if not isinstance(value, str | Path):
        raise ConfigurationError(f"{name}: found {type(value).__name__}; expected a path")
    return Path(value)


def _flag(name: str, value: bool) -> bool:
    if type(value) is not bool:
        raise ConfigurationError(f"{name}: found {type(value).__name__}; expected true or false")
    return value


def _money(budget: float | None, estimate: float | None) -> dict[str, int]:
    amounts: dict[str, int] = {}
    for name, value, key, rounded in (
        ("budget_usd", budget, "budget_nusd", budget_nusd),
        ("estimated_max_episode_cost_usd", estimate, "estimate_nusd", reservation_nusd),
    ):
        if value is None:
            continue
        if type(value) not in (int, float) or not 0 < value <= 9_000_000:
            raise ConfigurationError(f"{name}: expected a number of dollars above 0 and at most 9000000")
        amounts[key] = rounded(float(value))
    if "budget_nusd" in amounts and "estimate_nusd" not in amounts:
        raise ConfigurationError(
            "budget_usd: needs estimated_max_episode_cost_usd, to know how many episodes it admits"
        )
    return amounts


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
        "budget_nusd": settings.budget_nusd,
        "estimate_nusd": settings.estimate_nusd,
        "capture_tool_arguments": settings.capture_arguments,
    }
