"""A new experiment over the cases that a finished run could not judge, with its lineage recorded.

Nothing of the parent is reused or merged: the successor has a plan, a directory and idempotency keys of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from dfah_cli.canonical import parse
from dfah_cli.errors import ConfigurationError
from dfah_cli.evidence.verify import VerifiedRun
from dfah_cli.records.run_plan import RunPlan
from dfah_cli.records.tool_source import RECORD, told
from dfah_cli.workflow.analyze import open_run
from dfah_cli.workflow.checking import BelievedRun, believe
from dfah_cli.workflow.request import RunRequest

MAX_SEED = 2**64 - 1


@frozen(kw_only=True)
class Succession:
    """What a successor runs. parent: plan digest and commitment. cases: pseudonyms, sorted."""

    request: RunRequest
    parent: dict[str, str]
    cases: tuple[str, ...]


def succeed(
    run_dir: str | Path, out: str | Path, *, agent: str | None, suite: str | None, **options: Any
) -> Succession:
    """The successor of a finished run over its ineligible cases.

    agent, suite: references; None takes what the parent's sessions recorded. options: the other fields of the request,
    with tools_file and digest_key_env where the parent has recorded or replayed tools, or keyed digests.
    Raises: ArtifactError when the parent cannot be believed; ConfigurationError when there is nothing to run again, or
    when the parent can still be resumed.
    """
    parent = believe(open_run(run_dir), str(run_dir))
    cases = _ineligible(parent, str(run_dir))
    lineage = {"run_plan_sha256": parent.run.plan.sha256, "commitment": parent.run.commitment}
    _check_place(Path(run_dir), Path(out), lineage)
    named = _named(parent.run)
    adapter = agent or named.get("adapter")
    if adapter is None:
        raise ConfigurationError(f"{run_dir} records no adapter reference; name it: --agent pkg.module:name")
    if named.get("agent_parameters") and agent is None:
        raise ConfigurationError(
            f"{run_dir} was run with agent parameters ({', '.join(named['agent_parameters'])}), whose values are not "
            "recorded; name an adapter that has them built in: --agent pkg.module:name"
        )
    plan = parent.run.plan
    _check_named(plan, str(run_dir), options)
    request = RunRequest(
        adapter=adapter,
        suite=suite or (named.get("suite") if agent is None else None),
        case=cases,
        replays=plan.replays,
        seed=_next_seed(plan.seed),
        episode_timeout_s=plan.episode_timeout_s,
        schedule=plan.schedule,
        out=str(out),
        **_tools(plan),
        **options,
    )
    _check_observing(request, plan, str(run_dir))
    return Succession(request=request, parent=lineage, cases=cases)


def _tools(plan: RunPlan) -> dict[str, Any]:
    """The source of tool results as the parent has it; the file is named anew, because its place is never recorded."""
    if plan.tools is None:
        return {}
    return {"tools": plan.tools.mode, "tools_results": plan.tools.results, "tools_latency": plan.tools.latency}


def _check_named(plan: RunPlan, where: str, options: Mapping[str, Any]) -> None:
    """Nothing, when the options name what the parent needs and cannot have recorded, and nothing else."""
    file, key = options.get("tools_file"), options.get("digest_key_env")
    if plan.tools is not None and file is None:
        which = "a new file" if plan.tools.mode == RECORD else "the recording"
        raise ConfigurationError(
            f"{where}: its tools are {told(plan.tools)}, and the place of the file is not recorded; name {which}: "
            "the same dfah rerun with --tools-file FILE"
        )
    if plan.tools is None and file is not None:
        raise ConfigurationError(f"{where}: its tools are live, and a successor observes as it did; drop --tools-file")
    if plan.digest_key_id is not None and key is None:
        raise ConfigurationError(
            f"{where}: its digests are keyed ({plan.digest_key_id}), and the key is not recorded; name the variable "
            "that has it: the same dfah rerun with --digest-key-env NAME"
        )
    if plan.digest_key_id is None and key is not None:
        raise ConfigurationError(
            f"{where}: its digests are plain, and a successor observes as it did; drop --digest-key-env"
        )


def _check_observing(request: RunRequest, plan: RunPlan, where: str) -> None:
    """Nothing, when the recording and the key that were named are those of the parent."""
    found = request.observing.found()
    if found.source != plan.tools:
        raise ConfigurationError(
            f"{where} replays {told(plan.tools)}; {request.tools_file} is another recording, name that one"
        )
    if found.digest_key is not None and found.digest_key.id != plan.digest_key_id:
        raise ConfigurationError(
            f"{where}: its digests have the key {plan.digest_key_id}; {request.digest_key_env} has the key "
            f"{found.digest_key.id}, name a variable with that one"
        )


def _next_seed(seed: int) -> int:
    # Another plan even when every case is run again.
    return seed + 1 if seed < MAX_SEED else 0


def _ineligible(parent: BelievedRun, where: str) -> tuple[str, ...]:
    if not parent.run.complete:
        left = parent.run.plan.episodes_planned - parent.run.episodes
        raise ConfigurationError(
            f"{where}: {left} episodes were never dispatched; repeat the original command first, which runs only those"
        )
    cases = tuple(sorted(group.case_id for group in parent.measurement.groups if not group.eligible))
    if not cases:
        raise ConfigurationError(f"{where}: every case is eligible; there is nothing to run again")
    return cases


def _named(run: VerifiedRun) -> dict[str, Any]:
    """What the newest session recorded of its request."""
    provenances = [parse(body["provenance"]) for body in run.sessions]
    return next((found for found in reversed(provenances) if "adapter" in found), {})


def _check_place(parent: Path, out: Path, lineage: dict[str, str]) -> None:
    """Nothing, when `out` is new or holds this very successor."""
    if out.resolve() == parent.resolve():
        raise ConfigurationError("--out: a successor needs a directory of its own; nothing is merged into its parent")
    if not (out / "plan.json").exists():
        return
    for _, body in open_run(out).records():
        if body["t"] == "session" and parse(body["provenance"]).get("parent") != lineage:
            raise ConfigurationError(f"{out} holds a run that is not this successor; give another --out")
