"""What one run is asked to do, from whichever front end: frozen, validated, without a value of the suite."""

from __future__ import annotations

from typing import Any

from attrs import field, frozen

from dfah_cli.errors import ConfigurationError
from dfah_cli.planning.plan import Design
from dfah_cli.records import fields
from dfah_cli.records.engine import Engine
from dfah_cli.records.enums import ReplayMode
from dfah_cli.records.policy import GatePolicy
from dfah_cli.workflow.observing import Observing

REPORT_FORMATS = ("html", "md", "junit", "json")
# The adapter of a request whose `agent` is a declaration such as {kind: openai, …}.
DECLARED = "dfah_cli.integrations.declared:agent_from_mapping"
ISOLATIONS = ("process", "fresh")

USD = fields.optional(fields.real(0.0, above=True))


@frozen(kw_only=True)
class ReportFile:
    """A report to write. file: None for `report.<format>` in the run directory."""

    format: str = field(validator=fields.one_of(*REPORT_FORMATS))
    file: str | None = field(default=None, validator=fields.optional(fields.name))


def _mode(value: Any) -> Any:
    return ReplayMode(value) if type(value) is str and value in tuple(ReplayMode) else value


@frozen(kw_only=True)
class RunRequest:
    """One run. Fields are identity (they change the run plan digest or are refused), policy or operational.

    Identity
    adapter: reference, `pkg.module:name` or a dotted path. suite: name or path; None for the adapter's own.
    agent: parameters the adapter is configured with. expected: fields the adapter's manifest must have.
    case: ids to run; empty for all. limit: cut the selection after so many cases.
    episode_timeout_s: seconds; None for no limit.
    tools, tools_results, tools_latency, digest_key_env: as in `Observing`; of a recording and a key only digests are
    identity, not their places and names.

    Policy
    policy: None when no gate is asked for.

    Operational
    out: the run directory; None for one named after the plan, inside `store`.
    budget_usd, max_episode_cost_usd: US dollars; None for no limit.
    tools_file, tools_key_env: as in `Observing`.
    otel: send spans to the endpoint of the environment. otel_file: write them to a file.
    isolation: process for episodes in worker processes, fresh for a new one each; None for none.
    """

    adapter: str = field(validator=fields.name)
    suite: str | None = field(default=None, validator=fields.optional(fields.name))
    agent: dict[str, Any] = field(factory=dict, converter=fields.to_json, validator=fields.json_map)
    expected: dict[str, Any] = field(factory=dict, converter=fields.to_json, validator=fields.json_map)
    # Checked by `design`, which every request makes.
    replays: int = 3
    seed: int = 42
    sample_rate: float = field(default=1.0, converter=fields.to_float)
    episode_timeout_s: float | None = field(default=None, converter=fields.to_float)
    case: tuple[str, ...] = field(default=(), converter=fields.to_tuple)
    limit: int | None = None
    schedule: str = "shuffled"
    tools: str = "live"
    tools_results: str = "first"
    tools_latency: str = "none"
    digest_key_env: str | None = None

    policy: GatePolicy | None = field(default=None, validator=fields.optional(fields.instance_of(GatePolicy)))

    mode: ReplayMode = field(default=ReplayMode.SHADOW, converter=_mode, validator=fields.instance_of(ReplayMode))
    concurrency: int = field(default=1, validator=fields.integer(1, 100_000))
    budget_usd: float | None = field(default=None, converter=fields.to_float, validator=USD)
    max_episode_cost_usd: float | None = field(default=None, converter=fields.to_float, validator=USD)
    out: str | None = field(default=None, validator=fields.optional(fields.name))
    store: str = field(default=".dfah/runs", validator=fields.name)
    shards: int | None = field(default=None, validator=fields.optional(fields.integer(1, 9000)))
    capture_tool_arguments: bool = field(default=False, validator=fields.flag)
    tools_file: str | None = None
    tools_key_env: str | None = None
    recover_stale_lease: bool = field(default=False, validator=fields.flag)
    isolation: str | None = field(default=None, validator=fields.optional(fields.one_of(*ISOLATIONS)))
    otel: bool = field(default=False, validator=fields.flag)
    otel_file: str | None = field(default=None, validator=fields.optional(fields.name))
    worker_memory_mb: int | None = field(default=None, validator=fields.optional(fields.integer(16)))
    lease_token: str | None = field(default=None, repr=False, validator=fields.optional(fields.name))
    engine: Engine = field(factory=Engine, validator=fields.instance_of(Engine))
    report: tuple[ReportFile, ...] = field(
        default=(), converter=fields.to_tuple, validator=fields.tuple_of(fields.instance_of(ReportFile))
    )

    def __attrs_post_init__(self) -> None:
        _ = self.design, self.observing
        if self.mode is ReplayMode.BLOCKING and self.policy is None:
            raise ConfigurationError("mode 'blocking' needs a gate; name one, or use mode 'shadow'")
        if self.budget_usd is not None and self.max_episode_cost_usd is None:
            raise ConfigurationError("budget_usd needs max_episode_cost_usd: the most that one episode can cost")
        if self.worker_memory_mb is not None and self.isolation is None:
            raise ConfigurationError("worker_memory_mb needs isolation: process (or fresh)")
        if self.isolation is not None and self.engine.name != "local":
            raise ConfigurationError(f"isolation needs engine=local; {self.engine.name} has processes of its own")

    @property
    def observing(self) -> Observing:
        """Where tool results come from, and the key of digests, as asked for."""
        return Observing(
            tools=self.tools,
            tools_file=self.tools_file,
            tools_key_env=self.tools_key_env,
            tools_results=self.tools_results,
            tools_latency=self.tools_latency,
            digest_key_env=self.digest_key_env,
        )

    @property
    def design(self) -> Design:
        """Replays, seed, sample rate, time limit and selection: the part of the plan that is asked for."""
        return Design(
            replays=self.replays,
            seed=self.seed,
            sample_rate=self.sample_rate,
            episode_timeout_s=self.episode_timeout_s,
            only=self.case,
            limit=self.limit,
            schedule=self.schedule,
        )
