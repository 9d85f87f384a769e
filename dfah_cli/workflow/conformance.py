"""`check_agent`: does an adapter keep its contract? Two replays of a few cases, then the same again from the record."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import field, frozen

from dfah_cli.adapter.contract import Agent, agent_problem
from dfah_cli.errors import AgentContractError, ConfigurationError, DFAHError, ExitCode
from dfah_cli.execution.events import EpisodeFinished, Event, Observer, silent
from dfah_cli.records import fields
from dfah_cli.records.enums import ConformanceStatus
from dfah_cli.records.episode import Episode
from dfah_cli.records.suite import Suite
from dfah_cli.redaction import redact
from dfah_cli.workflow.analyze import episodes
from dfah_cli.workflow.conformance_checks import CHECKS, CONTRACT_ERRORS, FAIL, PASS, Trial, Verdict
from dfah_cli.workflow.isolating import reference_of
from dfah_cli.workflow.payload_watch import PayloadWatch
from dfah_cli.workflow.replay import Replay

REPLAYS = 2
SEED = 19


@frozen(kw_only=True)
class ConformanceCheck:
    """One check. detail: what was observed. fix: what to do about it; None when nothing is to be done."""

    name: str
    status: ConformanceStatus
    detail: str
    fix: str | None = None
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
        failed = [
            f"{check.name}: {check.detail}" + (f". {check.fix}" if check.fix else "")
            for check in self.checks
            if check.status is FAIL
        ]
        if failed:
            raise AgentContractError("the agent breaks its contract. " + " | ".join(failed))


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
    deep: bool = False,
    reference: str | None = None,
    announce: Callable[[int, float | None], None] | None = None,
) -> ConformanceReport:
    """The conformance of an adapter on the first cases of a suite, two replays each.

    suite: None takes the suite the agent is bound to. expected_tools: pseudonym to the tool names it must call, in
    order. out: where the episodes are kept; None keeps none of them. deep: more calls, in worker processes, about what
    surrounds the agent. reference: its name for them; None looks for it. announce: told the most calls and the most
    US dollars (None without an estimate) before the first call.
    Raises: ConfigurationError for a wrong request; StorageError, LeaseError and ArtifactError about what `out` names;
    AgentContractError with `raise_on_error` when a check fails.
    """
    if type(max_cases) is not int or max_cases < 1:
        raise ConfigurationError("max_cases: expected a whole number of at least 1")
    loaded = Suite.load(_suite_of(candidate, suite))
    chosen = tuple(case.effective_case_id for case in loaded.cases[:max_cases])
    wanted = _expected_tools(expected_tools, chosen, loaded)
    named = (reference or reference_of(candidate)) if deep else None
    planned, ceiling = _planned(len(chosen), deep, estimated_max_episode_cost_usd)
    if announce is not None:
        announce(planned, ceiling)
    design = _design(loaded, len(chosen), estimated_max_episode_cost_usd, episode_timeout_s, observer)
    with _directory(out) as directory:
        checks, made = _examine({**design, "out": directory, "budget_usd": budget_usd}, candidate, wanted)
        if named is not None:
            checks += _deep(candidate, named, _beside(directory), design, _left(budget_usd, made))
    report = ConformanceReport(
        checks=checks,
        cases_selected=len(chosen),
        episodes_planned=planned,
        estimated_cost_ceiling_usd=ceiling,
        selected_case_ids=chosen,
        status_counts=_counts(made),
    )
    if raise_on_error:
        report.raise_for_failures()
    return report


def _design(
    suite: Suite, cases: int, estimate: float | None, limit_s: float | None, observer: Observer
) -> dict[str, Any]:
    """Arguments of every replay of a preflight."""
    return {
        "suite": suite,
        "replays": REPLAYS,
        "seed": SEED,
        "limit": None if cases == len(suite.cases) else cases,
        "estimated_max_episode_cost_usd": estimate,
        "episode_timeout_s": limit_s,
        "observer": observer,
    }


def _planned(cases: int, deep: bool, estimate: float | None) -> tuple[int, float | None]:
    """The most calls and the most US dollars."""
    from dfah_cli.workflow.ambient import deep_calls

    calls = cases * REPLAYS + (deep_calls(cases) if deep else 0)
    return calls, None if estimate is None else estimate * calls


def _left(budget_usd: float | None, made: Sequence[Episode]) -> float | None:
    return None if budget_usd is None else budget_usd - sum(episode.cost_usd for episode in made)


def _listening(observer: Observer, texts: list[str]) -> Observer:
    """The observer, and the texts of contract errors kept: they say what was broken, and no record has them."""

    def heard(event: Event) -> None:
        observer(event)
        if isinstance(event, EpisodeFinished) and event.error_kind in CONTRACT_ERRORS and event.error_text:
            texts.append(event.error_text)

    return heard


def _beside(directory: Path) -> Path:
    return directory.with_name(f"{directory.name}-deep")


def _deep(
    candidate: Agent, reference: str, where: Path, design: dict[str, Any], budget_usd: float | None
) -> tuple[ConformanceCheck, ...]:
    from dfah_cli.workflow.ambient import Deep

    if agent_problem(candidate):
        return ()
    deep = Deep(agent=candidate, reference=reference, where=where, design=design, budget_usd=budget_usd)
    return tuple(_check(name, verdict) for name, verdict in deep.verdicts())


def _check(name: str, verdict: Verdict) -> ConformanceCheck:
    status, detail, fix = verdict
    return ConformanceCheck(name=name, status=status, detail=detail, fix=fix)


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
    options: dict[str, Any], candidate: Agent, wanted: Mapping[str, tuple[str, ...]]
) -> tuple[tuple[ConformanceCheck, ...], tuple[Episode, ...]]:
    loaded = ConformanceCheck(name="suite_load", status=PASS, detail="suite, tools and manifest belong together")
    texts: list[str] = []
    replay = Replay(**{**options, "observer": _listening(options["observer"], texts)})
    watched = candidate if agent_problem(candidate) else PayloadWatch(candidate)
    try:
        first = replay.record(watched)
        # After Ctrl-C or a used-up budget a second pass would call what the first left out.
        second = first if first.tally.stop_reason else replay.record(watched)
        made = tuple(episodes(replay.output_path(first.report.manifest)))
    except AgentContractError as problem:
        return (_broken("suite_load", problem, "correct what the message names; nothing was called"),), ()
    except DFAHError as problem:
        if problem.exit_code is not ExitCode.NO:
            raise  # the request, the disk, the lease or the evidence: nothing that the agent broke
        return (loaded, _broken("execution", problem, None)), ()
    trial = Trial(
        first=first,
        second=second,
        made=made,
        expected_tools=wanted,
        tool_names=frozenset(tool.name for tool in replay.suite.tools),
        payloads=watched.payloads if isinstance(watched, PayloadWatch) else {},
        told=tuple(dict.fromkeys(texts)),
    )
    return (loaded, *(_check(name, check(trial)) for name, check in CHECKS.items())), made


def _broken(name: str, problem: DFAHError, fix: str | None) -> ConformanceCheck:
    return ConformanceCheck(name=name, status=FAIL, detail=redact(str(problem)), fix=fix)


def _counts(made: Sequence[Episode]) -> dict[str, int]:
    """Terminal statuses and error kinds, counted; what is left of the episodes when none are kept."""
    counted = Counter(e.status.value if e.error is None else f"{e.status.value}/{e.error.kind}" for e in made)
    return dict(sorted(counted.items()))
