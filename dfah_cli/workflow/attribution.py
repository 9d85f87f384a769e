"""The same suite run several times, one source of variation frozen at a time, and the instability split by it.

Every arm is an ordinary run with a plan and a directory of its own. The first calls the tools and records them; the
others answer from that recording, so no tool is called again.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from dfah_cli.errors import ConfigurationError, ExitCode, most_serious
from dfah_cli.execution.events import Observer, silent
from dfah_cli.metrics.attribution import Part, Split, split, unstable
from dfah_cli.metrics.paired import Measured
from dfah_cli.records.codec import plain
from dfah_cli.records.tool_source import FIRST, OWN, RECORD, REPLAY
from dfah_cli.workflow.freezing import cost_ceiling_usd, load, plan_only
from dfah_cli.workflow.request import RunRequest
from dfah_cli.workflow.run import RunResult, execute

FORMAT = "dfah-attribution-1"
LIVE, EVERYTHING = "live", "everything"
CANNOT_SEPARATE = (
    "The agent is what is left with everything else frozen: its model, its process, the clock and the provider.",
    "Scheduling is concurrency and order together; episodes in turn still share a process unless it is fresh for each.",
    "What tools answer differently under load counts as tool results: only the first run called them.",
    "The order of the tool list is the suite's in every run; a list that the agent fetches itself is in the agent.",
    "The parts are measured one by one and need not add up: what sources do only together, and chance, is left over.",
)


@frozen(kw_only=True)
class Arm:
    """One of the runs. frozen: the sources that do not vary in it."""

    name: str
    frozen: tuple[str, ...]
    tools: str = REPLAY
    results: str = OWN
    latency: str = OWN
    in_turn: bool = False


RESULTS, LATENCY, SCHEDULING = "tool results", "tool latency", "scheduling"
FREEZING: Mapping[str, Arm] = {
    RESULTS: Arm(name="results", frozen=(RESULTS,), results=FIRST),
    LATENCY: Arm(name="latency", frozen=(LATENCY,), latency=FIRST),
    SCHEDULING: Arm(name="scheduling", frozen=(SCHEDULING,), in_turn=True),
}
FIRST_ARM = Arm(name=LIVE, frozen=(), tools=RECORD)
LAST_ARM = Arm(name=EVERYTHING, frozen=tuple(FREEZING), results=FIRST, latency=FIRST, in_turn=True)
SOURCES = {"results": RESULTS, "latency": LATENCY, "scheduling": SCHEDULING}


@frozen(kw_only=True)
class Announcement:
    """What an attribution does before it does it. cost_usd: at most; None when no estimate was given."""

    arms: tuple[tuple[Arm, Path], ...]
    calls_each: int
    cost_usd: float | None

    @property
    def calls(self) -> int:
        """Calls of the agent, at most."""
        return self.calls_each * len(self.arms)


@frozen(kw_only=True)
class ArmResult:
    """A run that was made.

    lost: cases that are not eligible. not_recorded: episodes that asked for more than there is.
    """

    arm: Arm
    run_dir: Path
    calls: int
    cost_nusd: int
    lost: int
    not_recorded: int
    status: str
    code: ExitCode


@frozen(kw_only=True)
class Attribution:
    """splits: empty when nothing varied, so that nothing was frozen."""

    announced: Announcement
    arms: tuple[ArmResult, ...]
    splits: tuple[Split, ...]

    @property
    def code(self) -> ExitCode:
        """The most serious code of the runs."""
        return most_serious([arm.code for arm in self.arms])


def announce(request: RunRequest, out: str | Path, sources: tuple[str, ...] = tuple(FREEZING)) -> Announcement:
    """The runs, calls and costs of an attribution; nothing is written and nothing is called.

    request: its tools and tools_file say where the recording goes; its concurrency and schedule are those of the run
    in which nothing is frozen. Raises: ConfigurationError.
    """
    unknown = [source for source in sources if source not in FREEZING]
    if unknown or not sources:
        raise ConfigurationError(
            f"sources: found {', '.join(unknown) or 'none'}; expected some of {', '.join(FREEZING)}"
        )
    if request.tools_file is None:
        raise ConfigurationError("tools_file: an attribution records the tools first; name a file (--tools-file FILE)")
    if "://" in str(out):
        raise ConfigurationError(
            "out: found a URL; expected a directory, because runs that record tools are on this machine"
        )
    plan = plan_only(_request(request, FIRST_ARM, Path(out)))
    calls = plan.plan.episodes_planned
    arms = (FIRST_ARM, *(FREEZING[source] for source in FREEZING if source in sources), LAST_ARM)
    return Announcement(
        arms=tuple((arm, Path(out, arm.name)) for arm in arms),
        calls_each=calls,
        cost_usd=cost_ceiling_usd(request, calls * len(arms)),
    )


def attribute(request: RunRequest, announced: Announcement, observer: Observer = silent) -> Attribution:
    """Makes the announced runs, or takes those that are there, and splits the instability of the first.

    The others are made only when something varies in the first. A budget is for all of them together.
    Raises: DFAHError; what was recorded by then stays, and the same call goes on with it.
    """
    _check_agent(request)
    results: dict[str, RunResult] = {}
    for arm, place in announced.arms:
        if results and not unstable(_measured(results[LIVE])):
            break
        left = _budget_left(request, results)
        if left is not None and left <= 0:
            break
        results[arm.name] = execute(evolve(_request(request, arm, place.parent), budget_usd=left), observer)
        if not results[arm.name].report.metrics_available and arm is FIRST_ARM:
            break
    return Attribution(
        announced=announced,
        arms=tuple(_told(arm, results[arm.name]) for arm, _ in announced.arms if arm.name in results),
        splits=_splits(announced, results),
    )


def _check_agent(request: RunRequest) -> None:
    agent, _ = load(request)
    if getattr(agent, "tools", None) is None:
        raise ConfigurationError(
            "the agent has no tools registered with the harness, so nothing of it can be frozen but the scheduling; "
            "compare a run with --concurrency 1 instead"
        )


def _request(request: RunRequest, arm: Arm, out: Path) -> RunRequest:
    """The request of one arm."""
    in_turn: dict[str, Any] = {"concurrency": 1, "schedule": "blocks"} if arm.in_turn else {}
    return evolve(
        request,
        out=str(out / arm.name),
        tools=arm.tools,
        tools_results=arm.results if arm.tools == REPLAY else FIRST,
        tools_latency=arm.latency if arm.tools == REPLAY else "none",
        policy=None,
        report=(),
        **in_turn,
    )


def _budget_left(request: RunRequest, results: Mapping[str, RunResult]) -> float | None:
    if request.budget_usd is None:
        return None
    return request.budget_usd - sum(result.report.total_cost_usd for result in results.values())


def _measured(result: RunResult) -> Measured:
    return Measured(result.verified.table, result.measurement)


def _splits(announced: Announcement, results: Mapping[str, RunResult]) -> tuple[Split, ...]:
    if any(arm.name not in results for arm, _ in announced.arms) or not results[LIVE].report.metrics_available:
        return ()
    one = {
        arm.frozen[0]: _measured(results[arm.name]) for arm, _ in announced.arms if arm.name not in (LIVE, EVERYTHING)
    }
    return split(_measured(results[LIVE]), one, _measured(results[EVERYTHING]))


def _told(arm: Arm, result: RunResult) -> ArmResult:
    return ArmResult(
        arm=arm,
        run_dir=Path(str(result.run_dir)),
        calls=result.calls_made,
        cost_nusd=result.report.total_cost_nusd,
        lost=result.report.ineligible_groups,
        not_recorded=result.report.episodes_not_recorded,
        status=str(result.report.status),
        code=result.exit_code,
    )


def sentences(found: Attribution) -> list[str]:
    """What was found, in words, and what cannot be told apart."""
    if not found.splits:
        return [_why_no_split(found)]
    told = [_sentence(one) for one in found.splits if one.live.value > 0]
    told += [
        f"{arm.arm.name}: {arm.lost} cases could not be judged there and are left out of its part"
        + (f"; {arm.not_recorded} episodes asked for results that no recorded replay had asked for, which the agent "
           "does only when it varies" if arm.not_recorded else "")
        for arm in found.arms
        if arm.lost
    ]  # fmt: skip
    return [*told, *CANNOT_SEPARATE]


def _why_no_split(found: Attribution) -> str:
    if len(found.arms) == 1 and found.arms[0].status == "complete":
        return "Nothing varied while everything could, so there is nothing to attribute and nothing else was run."
    return "Not every run could be made or judged, so nothing is attributed; the same command goes on with them."


def _sentence(one: Split) -> str:
    parts: dict[str, Part | None] = {**one.sources, "the agent": one.remaining}
    shown = [f"{name} {_points(part)}" for name, part in parts.items() if part is not None and part.shown]
    unknown = [name for name, part in parts.items() if part is None]
    text = f"{NAMES[one.metric]} {one.live.value:.3f}: " + (", ".join(shown) or "no source is shown by these data")
    return text + (f"; nothing can be said of {', '.join(unknown)}" if unknown else "")


NAMES = {"flags": "flag rate", "dar": "1 − DAR", "tar.seq": "1 − TAR.seq", "tar.strong": "1 − TAR.strong"}


def _points(part: Part) -> str:
    return f"{part.value:+.3f} ({part.low:+.3f} to {part.high:+.3f})"


def document(found: Attribution) -> dict[str, Any]:
    """The attribution as one JSON value; all parts are shares."""
    return {
        "format": FORMAT,
        "planned_calls": found.announced.calls,
        "planned_cost_usd": found.announced.cost_usd,
        "arms": [
            {
                "name": arm.arm.name,
                "frozen": list(arm.arm.frozen),
                "run": str(arm.run_dir),
                "calls_made": arm.calls,
                "cost_nusd": arm.cost_nusd,
                "ineligible_cases": arm.lost,
                "episodes_not_recorded": arm.not_recorded,
                "status": arm.status,
            }
            for arm in found.arms
        ],
        "splits": [plain(one) for one in found.splits],
        "cannot_separate": list(CANNOT_SEPARATE),
        "exit_code": int(found.code),
    }
