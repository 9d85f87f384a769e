"""`check_agent`: does an adapter keep its contract? Two replays of a few cases, then the same again from the record."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import field, frozen

from dfah_cli.adapter.contract import Agent
from dfah_cli.errors import AgentContractError, ConfigurationError, DFAHError
from dfah_cli.execution.events import Observer, silent
from dfah_cli.records import fields
from dfah_cli.records.enums import ConformanceStatus, EpisodeStatus, ReportStatus
from dfah_cli.records.episode import Episode
from dfah_cli.records.suite import Suite
from dfah_cli.redaction import redact
from dfah_cli.workflow.analyze import episodes
from dfah_cli.workflow.recording import Recorded
from dfah_cli.workflow.replay import Replay

REPLAYS = 2
SEED = 19

PASS, FAIL, SKIP = ConformanceStatus.PASS, ConformanceStatus.FAIL, ConformanceStatus.SKIP


@frozen(kw_only=True)
class ConformanceCheck:
    """One check: what was observed, and what to do about it."""

    name: str
    status: ConformanceStatus
    detail: str
    schema_version: str = fields.SCHEMA_VERSION


@frozen(kw_only=True)
class ConformanceReport:
    """All checks of one preflight.

    episodes_planned: the most agent calls it could make. estimated_cost_ceiling_usd: None without an estimate.
    status_counts: terminal statuses, and error kinds as `status/kind`, of the episodes that were made.
    """

    checks: tuple[ConformanceCheck, ...]
    cases_selected: int = 0
    episodes_planned: int = 0
    estimated_cost_ceiling_usd: float | None = None
    selected_case_ids: tuple[str, ...] = ()
    status_counts: Mapping[str, int] = field(factory=dict)
    schema_version: str = fields.SCHEMA_VERSION

    @property
    def passed(self) -> bool:
        """Whether no check failed; a skipped check is not a pass of that check."""
        return all(check.status is not FAIL for check in self.checks)

    def raise_for_failures(self) -> None:
        """Nothing, when no check failed.

        Raises: AgentContractError naming every failed check.
        """
        failed = [f"{check.name}: {check.detail}" for check in self.checks if check.status is FAIL]
        if failed:
            raise AgentContractError("the agent breaks its contract. " + " | ".join(failed))


@frozen(kw_only=True)
class _Trial:
    """What the two passes showed."""

    first: Recorded
    second: Recorded
    made: tuple[Episode, ...]
    expected_tools: Mapping[str, tuple[str, ...]]


Verdict = tuple[ConformanceStatus, str]


def check_agent(
    candidate: Agent,
    *,
    suite: Suite | str | Path | None = None,
    max_cases: int = 2,
    expected_tools: Mapping[str, Sequence[str]] | None = None,
    budget_usd: float | None = None,
    estimated_max_episode_cost_usd: float | None = None,
    episode_timeout_s: float | None = None,
    out: str | Path | None = None,
    raise_on_error: bool = False,
    observer: Observer = silent,
) -> ConformanceReport:
    """The conformance of an adapter on the first cases of a suite, two replays each.

    suite: None takes the suite the agent is bound to. expected_tools: pseudonym to the tool names it must call, in
    order. out: where the episodes are kept; None keeps none of them.
    Raises: ConfigurationError for a wrong request; AgentContractError with `raise_on_error` when a check fails.
    """
    if type(max_cases) is not int or max_cases < 1:
        raise ConfigurationError("max_cases: expected a whole number of at least 1")
    loaded = Suite.load(_suite_of(candidate, suite))
    chosen = tuple(case.effective_case_id for case in loaded.cases[:max_cases])
    wanted = _expected_tools(expected_tools, chosen, loaded)
    planned = len(chosen) * REPLAYS
    with _directory(out) as directory:
        replay = Replay(
            suite=loaded,
            replays=REPLAYS,
            seed=SEED,
            out=directory,
            budget_usd=budget_usd,
            estimated_max_episode_cost_usd=estimated_max_episode_cost_usd,
            episode_timeout_s=episode_timeout_s,
            limit=None if len(chosen) == len(loaded.cases) else len(chosen),
            observer=observer,
        )
        checks, made = _examine(replay, candidate, wanted)
    estimate = estimated_max_episode_cost_usd
    report = ConformanceReport(
        checks=checks,
        cases_selected=len(chosen),
        episodes_planned=planned,
        estimated_cost_ceiling_usd=None if estimate is None else estimate * planned,
        selected_case_ids=chosen,
        status_counts=_counts(made),
    )
    if raise_on_error:
        report.raise_for_failures()
    return report


def _suite_of(candidate: Agent, suite: Suite | str | Path | None) -> Suite | str | Path:
    bound = getattr(candidate, "suite", None) if suite is None else suite
    if bound is None:
        raise ConfigurationError("suite: the agent is bound to none; name one (--suite)")
    return bound


def _expected_tools(
    given: Mapping[str, Sequence[str]] | None, chosen: Sequence[str], suite: Suite
) -> Mapping[str, tuple[str, ...]]:
    known = {tool.name for tool in suite.tools}
    wanted = {case_id: tuple(names) for case_id, names in (given or {}).items()}
    for case_id, names in wanted.items():
        if case_id not in chosen:
            raise ConfigurationError(
                f"expected_tools: {case_id!r} is not among the checked cases ({', '.join(chosen)})"
            )
        for name in names:
            if name not in known:
                raise ConfigurationError(f"expected_tools: the suite declares no tool {name!r}")
    return wanted


@contextmanager
def _directory(out: str | Path | None) -> Any:
    if out is not None:
        yield Path(out)
        return
    with tempfile.TemporaryDirectory(prefix="dfah-check-") as temporary:
        yield Path(temporary) / "run"


def _examine(
    replay: Replay, candidate: Agent, wanted: Mapping[str, tuple[str, ...]]
) -> tuple[tuple[ConformanceCheck, ...], tuple[Episode, ...]]:
    loaded = ConformanceCheck(name="suite_load", status=PASS, detail="suite, tools and manifest belong together")
    try:
        first = replay.record(candidate)
        # After Ctrl-C or a used-up budget a second pass would call what the first left out.
        second = first if first.tally.stop_reason else replay.record(candidate)
        made = tuple(episodes(replay.output_path(first.report.manifest)))
    except AgentContractError as problem:
        return (ConformanceCheck(name="suite_load", status=FAIL, detail=redact(str(problem))),), ()
    except ConfigurationError:
        raise
    except DFAHError as problem:
        return (loaded, ConformanceCheck(name="execution", status=FAIL, detail=redact(str(problem)))), ()
    trial = _Trial(first=first, second=second, made=made, expected_tools=wanted)
    decided = [(name, *check(trial)) for name, check in CHECKS.items()]
    return (loaded, *(ConformanceCheck(name=n, status=s, detail=d) for n, s, d in decided)), made


def _resumes(trial: _Trial) -> Verdict:
    calls = trial.second.tally.calls
    same = trial.first.verified.commitment == trial.second.verified.commitment
    if trial.first.tally.stop_reason:
        return (
            SKIP,
            f"the first pass stopped early ({trial.first.tally.stop_reason}), so nothing could be resumed whole",
        )
    if calls or not same:
        return FAIL, f"running it again made {calls} calls; committed episodes must be reused byte for byte"
    return PASS, "running it again reused every committed episode and called nobody"


def _parses(trial: _Trial) -> Verdict:
    judged = [e for e in trial.made if e.parse.reason != "not_parsed"]
    bad = [e for e in judged if not e.parse.accepted]
    if not judged:
        return SKIP, "no episode came as far as its decision"
    if bad:
        reasons = ", ".join(sorted({str(e.parse.reason) for e in bad}))
        return (
            FAIL,
            f"{len(bad)} of {len(judged)} outputs have no decision ({reasons}); end with one line DECISION: LABEL",
        )
    return PASS, f"{len(judged)} decisions read from one strict marker each"


def _wire(trial: _Trial) -> Verdict:
    bad = [e for e in trial.made if e.status is EpisodeStatus.CONTRACT_ERROR]
    if bad:
        told = sorted({f"{e.error.kind}: {e.error.message}" for e in bad if e.error})
        return FAIL, f"{len(bad)} episodes broke the contract ({'; '.join(told)})"
    echoed = [e for e in trial.made if e.wire_request is not None]
    if not echoed:
        return SKIP, "no episode returned a wire request"
    hashes: dict[str, set[str]] = {}
    for episode in echoed:
        assert episode.wire_request is not None
        hashes.setdefault(episode.case_id, set()).add(episode.wire_request.payload_hash)
    varying = sum(len(payloads) > 1 for payloads in hashes.values())
    if varying:
        return FAIL, f"in {varying} cases the payload differs between replays; keep nonces and timestamps out of it"
    return PASS, f"{len(echoed)} wire requests match the manifest, one payload a case"


def _tool_outputs(trial: _Trial) -> Verdict:
    outputs: dict[tuple[str, str | None], set[str | None]] = {}
    for call in (call for episode in trial.made for call in episode.trajectory.tool_calls):
        outputs.setdefault((call.name, call.argument_hash), set()).add(call.output_hash)
    if not outputs:
        return SKIP, "the agent made no tool calls"
    varying = sorted({name for (name, _), seen in outputs.items() if len(seen) > 1})
    if varying:
        return FAIL, f"equal arguments gave different results in {', '.join(varying)}; the tool is not deterministic"
    return PASS, f"{len(outputs)} distinct calls, each with one result"


def _expected(trial: _Trial) -> Verdict:
    if not trial.expected_tools:
        return SKIP, "no expectation given"
    for case_id, names in trial.expected_tools.items():
        for episode in (e for e in trial.made if e.case_id == case_id):
            called = tuple(call.name for call in episode.trajectory.tool_calls)
            if called != names:
                return (
                    FAIL,
                    f"{case_id}: called {', '.join(called) or 'nothing'}; expected {', '.join(names) or 'nothing'}",
                )
    return PASS, f"{len(trial.expected_tools)} cases called the expected tools in order"


def _stability(trial: _Trial) -> Verdict:
    report = trial.first.report
    if not report.metrics_available:
        return SKIP, "no replay group is eligible"
    varying = [c for c in report.case_reports if c.dar < 1.0 or c.tar.strong != 1.0]
    if varying:
        return (
            PASS,
            f"WARNING: {len(varying)} of {len(report.case_reports)} cases vary in decision or path between replays",
        )
    return PASS, "two replays agree; this does not prove the absence of wall-clock or ambient-state dependence"


def _eligible(trial: _Trial) -> Verdict:
    report = trial.first.report
    if report.status is ReportStatus.COMPLETE:
        return PASS, f"all {report.episodes_eligible} episodes are eligible"
    told = ", ".join(f"{one.reason} ({one.groups})" for one in report.ineligibility_reasons)
    why = f"; {report.partial_reason}" if report.partial_reason else ""
    return FAIL, f"{report.episodes_eligible} of {report.episodes_planned} episodes are eligible{why}: {told}"


CHECKS: dict[str, Callable[[_Trial], Verdict]] = {
    "resumability_idempotence": _resumes,
    "parse_provenance": _parses,
    "wire_manifest_echo": _wire,
    "deterministic_tool_outputs": _tool_outputs,
    "expected_tool_capture": _expected,
    "replay_stability_smoke": _stability,
    "eligible_capture": _eligible,
}


def _counts(made: Sequence[Episode]) -> dict[str, int]:
    """Terminal statuses and error kinds, counted; what is left of the episodes when none are kept."""
    counted = Counter(e.status.value if e.error is None else f"{e.status.value}/{e.error.kind}" for e in made)
    return dict(sorted(counted.items()))
