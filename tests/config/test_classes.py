"""Each key of a run config, changed alone, moves the digest of its class and no other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dfah_cli.canonical import canonical_bytes
from dfah_cli.config.compose import compose_run, hydra_session
from dfah_cli.config.freeze import freeze
from dfah_cli.errors import ManifestMismatchError
from dfah_cli.loading.schema_files import properties
from dfah_cli.workflow.freezing import plan_only

# Every key with one value that differs from its default. A new key must be added here, and is told so by a test.
OTHER: dict[str, Any] = {
    "suite": "compliance-triage",
    "adapter": "dfah.demo:unstable_toy_agent",
    "agent.flip_rate": 0.25,
    "replays": 4,
    "seed": 7,
    "sample_rate": 0.5,
    "schedule": "blocks",
    "episode_timeout_s": 5.0,
    "case": "CASE-001",
    "limit": 1,
    "mode": "blocking",
    "plan": "only",
    "concurrency": 3,
    "budget_usd": 1.0,
    "max_episode_cost_usd": 0.5,
    "out": "elsewhere",
    "store": "another",
    "shards": 2,
    "capture_tool_arguments": "true",
    "tools": "record",
    "tools_file": "other.jsonl",
    "tools_key_env": "TOOLS_KEY",
    "tools_results": "own",
    "tools_latency": "first",
    "digest_key_env": "DIGEST_KEY",
    "recover_stale_lease": "true",
    "lease_token": "t",
    "isolation": "process",
    "worker_memory_mb": "null",
    "otel": "true",
    "otel_file": "spans.jsonl",
    "gate.min_dar": 0.5,
    "gate.min_tar_seq": 0.5,
    "gate.max_gap": 0.5,
    "gate.max_unanimous_path_change_rate": 0.5,
    "gate.max_flags_per_100_cases": 5,
    "gate.max_cost_per_case_usd": 1.0,
    "gate.required_replays": 3,
    "gate.min_eligible_fraction": 0.5,
    "gate.min_observed_groups": 2,
    "gate.require_complete": "false",
    "gate.require_artifact_verification": "false",
    "gate.by_task": "[{task: default, min_dar: 0.5}]",
    "gate.evidence": "confident",
    "gate.confidence": 0.9,
    "gate.at_replays": 2,
    "gate.non_inferiority.baseline": "other.json",
    "gate.non_inferiority.dar": 0.05,
    "gate.non_inferiority.tar_seq": 0.05,
    "gate.non_inferiority.flags_per_100": 5,
    "gate.by_case": "[{case: '*', min_dar: 0.5}]",
    "gate.waivers": "[{case: C, reason: known, expires: '2026-12-31'}]",
    "gate.max_attempts": 2,
    "gate.stop": "when-settled",
    "manifest.provider": "other",
    "manifest.model": "other",
    "manifest.endpoint": "other",
    "manifest.temperature": 0.5,
    "manifest.top_p": 0.5,
    "manifest.seed": 1,
    "manifest.request_parameters.top_k": 5,
    "manifest.adapter": "other",
    "manifest.adapter_version": "v9",
    "manifest.library_version": "9.9.9",
    "manifest.git_sha": "0" * 40,
    "manifest.implementation_hash": "0" * 64,
    "engine.name": "ray",
    "engine.address": "somewhere",
    "engine.workers": 2,
    "engine.episodes_per_worker": 2,
    "engine.cpus_per_episode": 0.5,
    "engine.resources_per_episode.GPU": 1,
    "engine.cpus": 4,
    "engine.runtime_env.working_dir": ".",
    "engine.start_timeout_s": 10.0,
    "report.html.file": "r.html",
    "report.md.file": "r.md",
    "report.junit.file": "r.xml",
    "report.json.file": "r.json",
}
# What else has to be set for a value to be allowed at all; the same for both sides of the comparison.
BESIDE = {
    "agent.flip_rate": ["adapter=dfah.demo:unstable_toy_agent"],
    "mode": ["gate.min_dar=0.9"],
    **{
        f"gate.non_inferiority.{name}": ["gate.non_inferiority.baseline=base.json", "gate.non_inferiority.dar=0.1"]
        for name in ("baseline", "dar", "tar_seq", "flags_per_100")
    },
    "budget_usd": ["max_episode_cost_usd=0.5"],
    "tools": ["tools=replay", "tools_file=one.jsonl"],
    "tools_key_env": ["tools=record", "tools_file=new.jsonl"],
    **{f"tools_{name}": ["tools=replay", "tools_file=one.jsonl"] for name in ("file", "results", "latency")},
    **{
        f"engine.{name}": ["engine=ray"]
        for name in ("address", "workers", "episodes_per_worker", "cpus_per_episode", "cpus", "start_timeout_s")
    },
    "engine.resources_per_episode.GPU": ["engine=ray"],
    "engine.runtime_env.working_dir": ["engine=ray"],
    **{f"report.{name}.file": [f"report={name}"] for name in ("html", "md", "junit", "json")},
}
IGNORED = {"gate.schema_version"}


def class_of(key: str) -> str:
    schema: Any = {"properties": properties("run")}
    for part in key.split("."):
        found = schema.get("properties", {}).get(part)
        if found is None:
            break
        schema = found
    return str(schema["x-dfah-class"])


def leaves(keys: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for name, key in keys.items():
        if "properties" in key:
            yield from leaves(key["properties"], f"{prefix}{name}.")
        else:
            yield prefix + name


def test_every_key_is_changed_by_this_test() -> None:
    open_ends = (".flip_rate", ".top_k", ".GPU", ".working_dir")
    covered = {key.rsplit(".", 1)[0] if key.endswith(open_ends) else key for key in OTHER}
    assert set(leaves(properties("run"))) - IGNORED == covered


def digests(*overrides: str) -> tuple[str, str | None]:
    given = [*overrides] if any(text.startswith("suite=") for text in overrides) else ["suite=toy-risk", *overrides]
    with hydra_session():
        request = freeze(compose_run(given))
    plan = plan_only(request)
    return plan.plan.sha256, plan.policy_sha256


def recordings(folder: Path) -> None:
    """Two recordings without a result, of different runs."""
    for name, run in (("one", "1"), ("other", "2")):
        facts = {"format": "dfah-tools-1", "suite_id": "toy-risk", "suite_version": "1.0.0", "cipher": None}
        hashes = {"fixture_hash": "0" * 64, "tool_schema_hash": "0" * 64, "run_plan_sha256": run * 64}
        (folder / f"{name}.jsonl").write_bytes(canonical_bytes({**facts, **hashes}) + b"\n")


@pytest.mark.parametrize("key", OTHER)
def test_a_key_moves_the_digest_of_its_class_and_no_other(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    recordings(tmp_path)
    monkeypatch.setenv("DIGEST_KEY", "k" * 32)
    monkeypatch.setenv("TOOLS_KEY", "t" * 32)
    beside = BESIDE.get(key, [])
    is_open = key.startswith(
        ("agent.", "manifest.request_parameters.", "engine.resources_per_episode.", "engine.runtime_env.")
    )
    before = digests(*beside)
    change = [*beside, f"{'++' if is_open else ''}{key}={OTHER[key]}"]
    kind = class_of(key)
    if key.startswith("manifest."):
        assert kind == "identity"
        with pytest.raises(ManifestMismatchError, match=key.replace(".", r"\.")):
            digests(*change)
        return
    after = digests(*change)
    moved = {"identity": before[0] != after[0], "policy": before[1] != after[1]}
    assert moved == {"identity": kind == "identity", "policy": kind == "policy"}
