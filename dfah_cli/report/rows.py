"""The rows of a report as strings: checks of a gate, numbers, tasks, cases. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from dfah_cli.report import words
from dfah_cli.report.cases import Ladder, TaskReport


@frozen(kw_only=True)
class GateRow:
    """One check of a gate, already decided. at_least: direction; None for an equality.

    proof: the confidence bound that was held against the threshold, with its level; cases: on which it rests;
    needed: cases with which a verdict would fall. Empty where there is none.
    """

    name: str
    verdict: str
    observed: float | str
    expected: float | str
    at_least: bool | None = None
    proof: str = ""
    cases: str = ""
    needed: str = ""
    note: str = ""

    @property
    def found(self) -> str:
        """What was observed."""
        return words.observed(self.observed, self.expected)

    @property
    def bound(self) -> str:
        """The threshold with its direction."""
        text = words.bound(self.expected)
        if self.at_least is None or isinstance(self.expected, str):
            return text
        return f"{'≥' if self.at_least else '≤'} {text}"


Range = tuple[float, float]
TAR_PARALLEL = "TAR.seq, parallel"
PATHS_PARALLEL = "same path, parallel"
"""Beside the strict number: the same where calls declared parallel may swap."""
PROOF = ("proof", "cases", "needed", "note")
PROOF_NAMES = {"proof": "bound", "cases": "cases", "needed": "cases needed", "note": "note"}


def proof_columns(checks: Sequence[GateRow]) -> tuple[str, ...]:
    """The columns beside the threshold that some check fills."""
    return tuple(name for name in PROOF if any(getattr(check, name) for check in checks))


@frozen(kw_only=True)
class GateView:
    """A decided gate. suppositions: what it would say of the cases that could not be judged; empty without such."""

    verdict: str
    checks: tuple[GateRow, ...]
    suppositions: str = ""

    @property
    def told(self) -> str:
        """Which checks do not pass, in one sentence; empty when all do."""
        failing = [check.name for check in self.checks if check.verdict == "fail"]
        undecided = [check.name for check in self.checks if check.verdict == "inconclusive"]
        parts = [f"{words.listed(failing)} {'fails' if len(failing) == 1 else 'fail'}"] if failing else []
        parts += [f"{words.listed(undecided)} {'is' if len(undecided) == 1 else 'are'} undecided"] if undecided else []
        many = len(failing) + len(undecided)
        return f"{many} of {words.count(len(self.checks), 'check')}: {'; '.join(parts)}" if parts else ""


@frozen(kw_only=True)
class MetricRow:
    """A headline number. key: its name in plain output. interval: empty when none was computed."""

    key: str
    label: str
    value: str
    number: float | None
    low: str
    high: str
    n: int
    unit: str
    gate: GateRow | None

    @property
    def interval(self) -> str:
        """`low – high`, or empty."""
        return words.interval(self.low, self.high) if self.low else ""

    @property
    def bracketed(self) -> str:
        """The value with its interval in brackets."""
        return f"{self.value} ({self.interval})" if self.low else self.value


@frozen(kw_only=True)
class TaskRow:
    """Agreement of one task. dar_range, seq_range: 95 % interval, None when none was computed.

    seq_parallel: TAR.seq where calls declared parallel may swap; empty when the suite declares none.
    """

    task: str
    cases: int
    dar: str
    tar_seq: str
    gap: str
    flags: int
    numbers: TaskReport
    ladder: Ladder
    dar_range: Range | None = None
    seq_range: Range | None = None
    seq_parallel: str = ""

    @property
    def dar_interval(self) -> str:
        """`low – high` of DAR, or empty."""
        return words.between(self.dar_range)

    @property
    def seq_interval(self) -> str:
        """`low – high` of TAR.seq, or empty."""
        return words.between(self.seq_range)


@frozen(kw_only=True)
class CaseRow:
    """A case in order of the attention it deserves. paths: how many replays took the most frequent path.

    paths_parallel: the same where calls declared parallel may swap; empty when the suite declares none.
    """

    task: str
    case_id: str
    decision: str
    paths: str
    kind: str
    status: str
    parts_at: str
    dar: str
    tar_seq: str
    tar_strong: str
    replays: int
    paths_parallel: str = ""
