"""A comparison with a baseline as strings, the finding first. Every renderer shows these. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from attrs import field, frozen

from dfah_cli.metrics.comparison import DriftTest, holm
from dfah_cli.metrics.paired import decisions
from dfah_cli.metrics.versus import Comparison
from dfah_cli.report import words
from dfah_cli.report.against import Against, Estimate, Move, TaskMove
from dfah_cli.report.rows import GateRow, GateView

NAMES = {
    "dar": "DAR",
    "tar_seq": "TAR.seq",
    "gap": "gap",
    "flags_per_100_cases": "flags / 100",
    "pairwise_decision": "two agree: decision",
    "pairwise_path": "two agree: path",
}
LEVELS = {"decision": "decision", "path.seq": "tool sequence", "path.strong": "whole path"}
CHECKS = {"dar": "dar", "tar_seq": "tar_seq", "gap": "gap", "flags_per_100": "flags_per_100_cases"}
MOVED, STAYED = "more than chance explains", "chance explains it"
ALARM = 0.05


@frozen(kw_only=True)
class MoveRow:
    """One number on both sides and its change, each as `value` and `low – high`. gate: its check, when there is one."""

    key: str
    label: str
    base: str
    base_interval: str
    now: str
    now_interval: str
    change: str
    change_interval: str
    numbers: Move
    gate: GateRow | None


@frozen(kw_only=True)
class DriftRow:
    """Whether the replays of the two runs differ on one level of identity more than replays of one agent would."""

    level: str
    mean: str
    p: str
    reading: str


@frozen(kw_only=True)
class FlipRow:
    """A case whose most frequent decision moved."""

    case_id: str
    task: str
    old: str
    new: str


@frozen(kw_only=True)
class AgainstView:
    """A comparison. refused: why there is none; then only the first two fields say something. cases: compared."""

    base: str
    sentence: str
    refused: str | None = None
    scope: str = ""
    rows: tuple[MoveRow, ...] = field(default=())
    tasks: tuple[TaskMove, ...] = field(default=())
    drift: tuple[DriftRow, ...] = field(default=())
    alarms: tuple[str, ...] = field(default=())
    flips: tuple[FlipRow, ...] = field(default=())
    newly_flagged: tuple[str, ...] = field(default=())
    no_longer_flagged: tuple[str, ...] = field(default=())
    flags: str = ""
    remarks: tuple[str, ...] = field(default=())
    cases: int = 0

    def row(self, label: str) -> MoveRow | None:
        """The number of that name; None where some case does not have it."""
        return next((row for row in self.rows if row.label == label), None)


def against_view(against: Against, gate: GateView | None = None) -> AgainstView:
    """The view of a comparison; gate: its checks against the baseline are shown with the numbers they are about."""
    name = f"{against.base_name} (plan {words.plan_tag(against.base.run_plan_sha256)})"
    if against.found is None:
        told = f"The run cannot be compared with the baseline: {against.refused}."
        return AgainstView(base=name, sentence=told, refused=against.refused)
    found, checks = against.found, _checks(gate)
    cases, replays = len(found.pairing.cases), found.pairing.replays
    return AgainstView(
        base=name,
        sentence=finding_sentence(found),
        scope=f"{words.count(cases, 'case')} eligible in both, {replays} replays each",
        rows=tuple(_row(move, checks.get(move.key)) for move in against.moves),
        tasks=against.tasks,
        drift=drift_rows(found.drift),
        alarms=tuple(alarm_sentences(found)),
        flips=tuple(
            FlipRow(case_id=f.case_id, task=f.task, old=" or ".join(f.old), new=" or ".join(f.new)) for f in found.flips
        ),
        newly_flagged=tuple(key.case_id for key in found.newly_flagged),
        no_longer_flagged=tuple(key.case_id for key in found.no_longer_flagged),
        flags=flags_sentence(found),
        remarks=tuple(_remarks(against, found)),
        cases=cases,
    )


def _checks(gate: GateView | None) -> Mapping[str, GateRow]:
    prefix = "non_inferiority."
    rows = () if gate is None else gate.checks
    return {
        CHECKS[check.name.removeprefix(prefix)]: check
        for check in rows
        if check.name.startswith(prefix) and check.name.removeprefix(prefix) in CHECKS
    }


def _row(move: Move, gate: GateRow | None) -> MoveRow:
    spell = words.rate if move.key == "flags_per_100_cases" else words.share

    def between(one: Estimate) -> str:
        return words.interval(spell(one.low), spell(one.high))

    return MoveRow(
        key=move.key,
        label=NAMES[move.key],
        base=spell(move.base.value),
        base_interval=between(move.base),
        now=spell(move.now.value),
        now_interval=between(move.now),
        change=words.signed(spell(move.change.value)),
        change_interval=words.interval(words.signed(spell(move.change.low)), words.signed(spell(move.change.high))),
        numbers=move,
        gate=gate,
    )


def finding_sentence(found: Comparison) -> str:
    """What moved, and whether chance explains it."""
    cases, flips = len(found.pairing.cases), len(found.flips)
    rows = [row for row in drift_rows(found.drift) if row.reading == MOVED]
    if flips:
        p = found.drift["decision"].p
        decided = any(row.level == LEVELS["decision"] for row in rows)
        why = (
            f"more than chance explains ({words.chance(p)})"
            if decided
            else f"chance may explain it ({words.chance(p)})"
        )
        return f"{flips} of {words.count(cases, 'case')} changed the most frequent decision since the baseline: {why}."
    if rows:
        levels = " and ".join(row.level for row in rows)
        return f"No case changed its most frequent decision, but the {levels} moved more than chance explains."
    return f"Nothing moved more than chance explains: {words.count(cases, 'case')} decide as in the baseline."


def drift_rows(tests: Mapping[str, DriftTest]) -> tuple[DriftRow, ...]:
    """Each level of identity, and whether chance explains how far it moved."""
    # Corrected over the levels: three questions about one pair of runs.
    adjusted = holm([test.p for test in tests.values()])
    return tuple(
        DriftRow(
            level=LEVELS[level],
            mean=words.share(float(test.mean)),
            p=words.chance(test.p),
            reading=MOVED if corrected < ALARM else STAYED,
        )
        for (level, test), corrected in zip(tests.items(), adjusted, strict=True)
    )


def alarm_sentences(found: Comparison) -> Iterator[str]:
    """The tasks that moved more than chance explains."""
    for alarm in found.alarms:
        if alarm.p_holm < ALARM:
            name = NAMES[alarm.metric.replace(".", "_")]
            yield f"{name} of task {alarm.task} moved ({words.chance(alarm.p_holm)}, corrected over the tasks)"


def flags_sentence(found: Comparison) -> str:
    """How many flags came and went; empty when that cannot be counted."""
    if found.flags_p is None:
        return ""
    new, gone = len(found.newly_flagged), set(found.no_longer_flagged)
    lost = sum(1 for case in found.pairing.cases if case.key in gone and len(decisions(case.candidate)) > 1)
    # A flag needs one decision: fewer flags are no good news when the decisions went.
    why = f", {lost} of them because the decision is not unanimous any more" if lost else ""
    return f"{words.count(new, 'case')} newly flagged, {len(gone)} no longer{why} ({words.chance(found.flags_p)})"


def _remarks(against: Against, found: Comparison) -> Iterator[str]:
    base, report = against.base, against.report
    if base.commitment == report.commitment:
        yield "Both are the same evidence."
    if base.manifest_hash != report.manifest.hash:
        yield (
            f"The manifest is another than the baseline's ({words.short(base.manifest_hash)} there, "
            f"{words.short(report.manifest.hash)} here): the agent, the model or a setting changed."
        )
    if found.pairing.rarefied:
        yield f"The runs have unequal replays: both are seen at {found.pairing.replays}, and flags are chances."
    for name, status in (("baseline", base.status), ("run", str(report.status))):
        if status != "complete":
            yield f"The {name} is {status}, not complete."
    yield from _alone(f"{len(found.pairing.only_base)} of the baseline", [k.case_id for k in found.pairing.only_base])
    yield from _alone(f"{len(found.pairing.only_candidate)} here", [k.case_id for k in found.pairing.only_candidate])


def _alone(told: str, case_ids: Sequence[str]) -> Iterator[str]:
    if case_ids:
        yield f"Eligible on one side only, {told}: {words.listed(case_ids)}."
