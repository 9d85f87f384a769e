"""What state a run directory is in, and what to do about it. Reads only; takes no lock."""

from __future__ import annotations

import shlex
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen, validators

from dfah_cli.canonical import parse
from dfah_cli.errors import DFAHError, ExitCode, StorageError
from dfah_cli.evidence.claims import CheckStatus, Claim
from dfah_cli.metrics.table import STATUSES
from dfah_cli.planning.plan import plan_from_bytes
from dfah_cli.records.enums import EpisodeStatus
from dfah_cli.records.run_plan import RunPlan
from dfah_cli.store.occupancy import Holding, Occupancy
from dfah_cli.store.opening import held as held_by
from dfah_cli.store.places import Place, place_of
from dfah_cli.store.protocol import SlotState
from dfah_cli.workflow.access import hindrance, look
from dfah_cli.workflow.analyze import open_run
from dfah_cli.workflow.verification import Verification, verify_run

Row = tuple[str, str, str]
MAX_NAMED_CASES = 20
INTERRUPTED = STATUSES.index(EpisodeStatus.INTERRUPTED)
LOCKED = frozenset({Occupancy.WRITING, Occupancy.UNKNOWN, Occupancy.STALE, Occupancy.UNREADABLE})


STATES = (
    *("sealed", "not sealed", "resumable", "locked", "stale lease", "held elsewhere"),
    *("damaged", "later version", "unreadable"),
)
"""What a run can be; docs/evidence.md tells each."""


@frozen(kw_only=True)
class Diagnosis:
    """state: one of `STATES`. rows: check, status, detail. advice: what to do, most important first."""

    state: str = field(validator=validators.in_(STATES))
    rows: tuple[Row, ...]
    advice: tuple[str, ...]
    exit_code: ExitCode


def diagnose(path: str | Path) -> Diagnosis:
    """The state of a run directory.

    Raises: ConfigurationError when there is none.
    """
    place = place_of(path)
    try:
        found, held = verify_run(place), held_by(place)
    except StorageError as problem:
        if not isinstance(place, Path):
            raise
        return _unreadable(place, problem)
    rows = [(check.claim.value, check.status.value, check.detail) for check in found.checks]
    # Nothing is left to write in a sealed run, so a lease that a dead writer left there is in nobody's way.
    locked = held.occupancy is Occupancy.WRITING or (
        held.occupancy in LOCKED and not (found.tail is not None and found.tail.sealed)
    )
    rows.append(("writer", "fail" if locked else "pass", _writer(held)))
    if found.broken:
        return _damaged(place, found, rows)
    rows += _progress(place, found)
    diagnosis = _locked(place, held, rows) if locked else _free(place, found, rows)
    to_write = diagnosis.state not in ("locked", "sealed")
    obstacle = hindrance(look(place), place) if to_write and isinstance(place, Path) else None
    if obstacle is None:
        return diagnosis
    told = (*diagnosis.rows, ("access", CheckStatus.FAIL.value, obstacle.what))
    advice = (obstacle.remedy,) if obstacle.elsewhere else (f"first {obstacle.remedy}", *diagnosis.advice)
    return evolve(diagnosis, rows=told, advice=advice)


def _unreadable(place: Path, problem: StorageError) -> Diagnosis:
    name, copy = shlex.quote(str(place)), shlex.quote(f"{place}-copy")
    advice = f"its disk fails: copy it to another disk, then: dfah verify {copy}"
    if isinstance(problem.__cause__, PermissionError):
        advice = f"ask as the user it belongs to, or have it given to you; whose it is: ls -ld {name}"
    row = ("access", CheckStatus.FAIL.value, str(problem))
    return Diagnosis(state="unreadable", rows=(row,), advice=(advice,), exit_code=ExitCode.UNDECIDED)


def _writer(held: Holding) -> str:
    now = datetime.now(UTC).isoformat()
    return WRITERS[held.occupancy].format(who=held.told(now))


WRITERS = {
    Occupancy.FREE: "nobody writes here",
    Occupancy.WRITING: "being written by {who}",
    Occupancy.STALE: "left by {who}, which is gone",
    Occupancy.UNKNOWN: "held by {who}: another machine or container, which cannot be seen from here",
    Occupancy.UNREADABLE: "lease.json cannot be read",
}


def _damaged(place: Place, found: Verification, rows: list[Row]) -> Diagnosis:
    if all(check.newer for check in found.broken):
        upgrade = "upgrade this program and look again: python -m pip install --upgrade dfah-cli"
        code = ExitCode.BAD_EVIDENCE
        return Diagnosis(state="later version", rows=tuple(rows), advice=(upgrade,), exit_code=code)
    claims = ", ".join(check.claim.value for check in found.broken)
    again = f"If {place} was copied here, copy it again; else restore it from a copy"
    advice = (
        f"broken: {claims}. {again}. Then verify it: dfah verify {shlex.quote(str(place))}",
        "without a copy this run is no evidence any more; run the experiment again with a new --out",
    )
    return Diagnosis(state="damaged", rows=tuple(rows), advice=advice, exit_code=ExitCode.BAD_EVIDENCE)


def _progress(place: Place, found: Verification) -> list[Row]:
    assert found.run is not None
    assert found.tail is not None
    states = Counter(open_run(place).slots())
    planned, committed = found.run.plan.episodes_planned, states[SlotState.COMMITTED]
    rows = [("episodes", "pass", f"{committed} of {planned} recorded")]
    if states[SlotState.DISPATCHING]:
        told = f"{states[SlotState.DISPATCHING]} may have reached the provider; a resume records them as interrupted"
        rows.append(("open intents", CheckStatus.PASS.value, told))
    if interrupted := int((found.run.table.status == INTERRUPTED).sum()):
        rows.append(("interrupted", "pass", f"{interrupted} with unknown outcome; never sent again"))
    if isinstance(place, Path) and found.tail.n and _undecided(found, Claim.HEAD):
        rows.append(("head", "optional", "missing or not whole: whether the end of the log was cut off cannot be told"))
    if found.tail.torn:
        told = f"{found.tail.torn} bytes of a batch nobody was told about; the next writer saves what is whole in it"
        rows.append(("torn end", "pass", told))
    for name in found.ignored:
        rows.append(("ignored file", "pass", f"{name}: no record announces it"))
    return rows


def _undecided(found: Verification, claim: Claim) -> bool:
    return any(check.claim is claim and check.status is CheckStatus.NOT_APPLICABLE for check in found.checks)


def _locked(place: Place, held: Holding, rows: list[Row]) -> Diagnosis:
    resume = resume_command(place)
    token = "" if held.lease is None else f" --lease-token {held.lease.token}"
    advice = {
        Occupancy.WRITING: f"wait for it, or stop process {held.lease.pid if held.lease else ''} (SIGTERM drains it)",
        Occupancy.STALE: f"if nobody runs it, nor what it may be a copy of: {resume} --recover-stale-lease",
        Occupancy.UNREADABLE: f"if nobody runs it, nor what it may be a copy of: {resume} --recover-stale-lease",
        Occupancy.UNKNOWN: f"if that writer is certainly stopped: {resume} --recover-stale-lease{token}",
    }[held.occupancy]
    state = {Occupancy.WRITING: "locked", Occupancy.UNKNOWN: "held elsewhere"}.get(held.occupancy, "stale lease")
    return Diagnosis(state=state, rows=tuple(rows), advice=(advice,), exit_code=ExitCode.LOCKED)


def _free(place: Place, found: Verification, rows: list[Row]) -> Diagnosis:
    assert found.run is not None
    assert found.report is not None
    assert found.tail is not None
    code = found.exit_code
    if not found.run.complete:
        resume = (f"to resume: {resume_command(place)}",)
        return Diagnosis(state="resumable", rows=tuple(rows), advice=resume, exit_code=code)
    advice: tuple[str, ...] = ()
    if found.report.ineligible_groups:
        again = f"dfah rerun {shlex.quote(str(place))} --ineligible --out {shlex.quote(str(place))}-again"
        count = found.report.ineligible_groups
        advice = (f"{count} case{'s' * (count != 1)} could not be judged; as a new experiment: {again}",)
    if not found.tail.sealed:
        advice = (f"complete but not sealed; this seals it and calls nobody: {resume_command(place)}", *advice)
        return Diagnosis(state="not sealed", rows=tuple(rows), advice=advice, exit_code=code)
    return Diagnosis(state="sealed", rows=tuple(rows), advice=advice or ("nothing to do",), exit_code=code)


def resume_command(place: Place) -> str:
    """The command that goes on with a run, as far as plan and provenance tell it."""
    reader = open_run(place)
    plan = plan_from_bytes(reader.plan_bytes)
    named = _references(place)
    observed_otherwise = plan.tools is not None or plan.digest_key_id is not None
    if "adapter" not in named or named.get("agent_parameters") or observed_otherwise:
        return "the original command"
    words = ["dfah", "run", "--agent", named["adapter"]]
    words += ["--suite", named["suite"]] if "suite" in named else []
    words += ["--replays", str(plan.replays), "--seed", str(plan.seed), *_selection(plan)]
    words += [] if plan.episode_timeout_s is None else ["--episode-timeout-s", repr(plan.episode_timeout_s)]
    words += [] if plan.schedule == "shuffled" else ["--schedule", plan.schedule]
    if "parent" in named:
        return "the dfah rerun command that made it"
    return shlex.join([*words, "--out", str(place)])


def _selection(plan: RunPlan) -> list[str]:
    words = [] if plan.sample_rate == 1.0 else ["--sample-rate", repr(plan.sample_rate)]
    drawn = max(1, round(plan.suite_cases_total * plan.sample_rate))
    if len(plan.case_tasks) == drawn:
        return words
    if len(plan.case_tasks) > MAX_NAMED_CASES:
        return [*words, "--limit", str(len(plan.case_tasks))]
    return [*words, *(word for case_id in sorted(plan.case_tasks) for word in ("--case", case_id))]


def _references(place: Place) -> dict[str, Any]:
    """What the first session recorded of its request."""
    try:
        for _, body in open_run(place).records():
            if body["t"] == "session":
                found: dict[str, Any] = parse(body["provenance"])
                return found
    except DFAHError:
        return {}
    return {}
