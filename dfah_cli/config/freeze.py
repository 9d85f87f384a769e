"""A composed run config -> the frozen request. Pure but for the lookup of the suite's default adapter."""

from __future__ import annotations

from typing import Any

from dfah_cli.errors import ConfigurationError
from dfah_cli.loading import resources, strict_yaml
from dfah_cli.loading.policies import asked_for, policy_from
from dfah_cli.loading.validate import check_document
from dfah_cli.records.engine import Engine
from dfah_cli.records.policy import GatePolicy
from dfah_cli.workflow.request import DECLARED, REPORT_FORMATS, ReportFile, RunRequest

# Keys that stand in a request under their own name and with their own value.
SAME = (
    *("replays", "seed", "sample_rate", "episode_timeout_s", "limit", "mode", "concurrency", "out", "store", "shards"),
    *("budget_usd", "max_episode_cost_usd", "capture_tool_arguments", "recover_stale_lease", "lease_token"),
    *("isolation", "worker_memory_mb", "schedule", "digest_key_env"),
    *("otel", "otel_file"),
    *("tools", "tools_file", "tools_key_env", "tools_results", "tools_latency"),
)


def freeze(config: dict[str, Any]) -> RunRequest:
    """The request of a valid, resolved run config.

    Raises: ConfigurationError when suite and adapter cannot be found, or keys contradict each other.
    """
    suite = config["suite"]
    # By name again: what was composed is a text, and only a name may be looked up.
    resources.find("suites", suite, "suite")
    return RunRequest(
        **{key: config[key] for key in SAME if key in config},
        **_adapter(config, suite),
        suite=suite,
        expected={key: item for key, item in config.get("manifest", {}).items() if item not in (None, {})},
        case=_ids(config.get("case")),
        policy=gate_policy(config.get("gate") or {}),
        engine=Engine(**config.get("engine", {})),
        report=_reports(config.get("report") or {}),
    )


def _adapter(config: dict[str, Any], suite: str) -> dict[str, Any]:
    """Reference and parameters of the adapter; a declaration is the parameters of the one that makes agents of them."""
    adapter, parameters = config.get("adapter"), config.get("agent") or {}
    if not isinstance(adapter, dict):
        return {"adapter": adapter or default_adapter(suite), "agent": parameters}
    if parameters:
        raise ConfigurationError("agent: a declared adapter has its parameters in `adapter`; leave `agent` out")
    return {"adapter": DECLARED, "agent": adapter}


def gate_policy(gate: dict[str, Any]) -> GatePolicy | None:
    """The policy of a gate config; None when every key of it is null: no gate is asked for."""
    return policy_from(gate) if asked_for(gate) else None


def default_adapter(suite: str) -> str:
    """The adapter reference a suite is run with when none is named; a project's table hides the packaged one.

    Raises: ConfigurationError when no table names the suite.
    """
    for folder in resources.folders("configs"):
        path = folder.path / "adapters.yaml"
        if not path.exists():
            continue
        document = strict_yaml.load(path)
        check_document(document, "adapters")
        if suite in document.value:
            return str(document.value[suite])
    raise ConfigurationError(
        f"suite '{suite}' has no default adapter; write adapter=pkg.module:name, or list it in configs/adapters.yaml"
    )


def _ids(case: str | list[str] | None) -> tuple[str, ...]:
    return (case,) if isinstance(case, str) else tuple(case or ())


def _reports(report: dict[str, Any]) -> tuple[ReportFile, ...]:
    chosen = [(name, report[name]) for name in REPORT_FORMATS if report.get(name) is not None]
    return tuple(ReportFile(format=name, file=options.get("file")) for name, options in chosen)
