"""pytest beside a recorded run: a gate before the session, fixtures for it, and one item a suite case.

Nothing of the harness is imported unless `--dfah-report` is given, so the plugin costs other sessions nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from dfah_cli.gate.evaluate import GateResult
    from dfah_cli.records.policy import GatePolicy
    from dfah_cli.report.record import ReportColumns
    from dfah_cli.workflow.analyze import Analysis

REPORT = pytest.StashKey["ReportColumns"]()
POLICY = pytest.StashKey["GatePolicy"]()
ANALYSIS = pytest.StashKey["Analysis"]()
Lost = list[tuple[str, str, tuple[str, ...]]]
LOST = pytest.StashKey[Lost]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the plugin."""
    group = parser.getgroup("dfah", "repeatability of agents")
    group.addoption("--dfah-report", metavar="PATH", default=None, help="run directory, or a report file to look at")
    group.addoption("--dfah-policy", metavar="PATH", default=None, help="policy the run must pass before any test")
    group.addoption("--dfah-cases", action="store_true", default=False, help="add one test for each suite case")


def pytest_configure(config: pytest.Config) -> None:
    """Loads report and policy, and applies the gate before anything is collected."""
    config.addinivalue_line("markers", "dfah: looks at a recorded run (needs --dfah-report)")
    report, policy = config.getoption("--dfah-report"), config.getoption("--dfah-policy")
    if report is None:
        if policy is not None or config.getoption("--dfah-cases"):
            raise pytest.UsageError("--dfah-policy and --dfah-cases need --dfah-report")
        return
    _load(config, report, policy)
    if policy is not None:
        failures = _asked(config).failures
        if failures:
            told = "; ".join(f"{check.name}: {check.observed} against {check.expected}" for check in failures)
            pytest.exit(f"the gate does not pass: {told}", returncode=1)


def _asked(config: pytest.Config) -> GateResult:
    from dfah_cli.errors import DFAHError

    try:
        return _gate(config, None)
    except DFAHError as problem:
        raise pytest.UsageError(str(problem)) from None


def _load(config: pytest.Config, report: str, policy: str | None) -> None:
    from dfah_cli.errors import DFAHError
    from dfah_cli.loading.policies import load_policy
    from dfah_cli.records.policy import GatePolicy
    from dfah_cli.workflow.analyze import analyze, load_report

    try:
        config.stash[POLICY] = GatePolicy() if policy is None else load_policy(policy)
        if Path(report).is_file():
            # A report names why cases were not judged, but not which: only the run directory does.
            config.stash[REPORT] = load_report(report, allow_unverified=True)
            told = config.stash[REPORT].ineligibility_reasons
            lost: Lost = [("not judged", reason.reason, (f"{reason.groups} cases",)) for reason in told]
        else:
            found = analyze(report)
            config.stash[REPORT], config.stash[ANALYSIS] = found.report, found
            groups = found.measurement.groups
            lost = [(g.task, g.case_id, tuple(g.reasons)) for g in groups if not g.eligible]
        config.stash[LOST] = lost
    except DFAHError as problem:
        raise pytest.UsageError(str(problem)) from None


def _gate(config: pytest.Config, policy: GatePolicy | None) -> GateResult:
    from dfah_cli.execution.clock import SystemClock
    from dfah_cli.gate.evaluate import Gate
    from dfah_cli.gate.grounds import NONE
    from dfah_cli.workflow.grounds import grounds_for

    policy = config.stash[POLICY] if policy is None else policy
    found: Analysis | None = config.stash.get(ANALYSIS, None)
    # As `dfah gate` decides: on the cases, the baseline, the day and the attempts; a file alone has none of these.
    grounds = (
        NONE if found is None else grounds_for(policy, found.verified, found.measurement, on=SystemClock().now().date())
    )
    return Gate(policy).evaluate(config.stash[REPORT], grounds)


def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """One item a case, after the user's own."""
    if config.getoption("--dfah-cases"):
        items.extend(_case_items(session, config))


def _case_items(session: pytest.Session, config: pytest.Config) -> Iterator[pytest.Item]:
    from dfah_cli.render.text import escape

    def item(kind: type[CaseItem], task: str, case_id: str, problem: str | None) -> pytest.Item:
        group, name = escape(task), escape(case_id)
        made: pytest.Item = kind.from_parent(session, name=name, nodeid=f"dfah::{group}::{name}", problem=problem)
        return made

    for case in config.stash[REPORT].case_reports:
        yield item(CaseItem, case.task, case.case_id, _problem(case))
    for task, case_id, reasons in config.stash[LOST]:
        yield item(UnjudgedItem, task, case_id, f"could not be judged: {', '.join(map(escape, reasons))}")


def _problem(case: Any) -> str | None:
    from dfah_cli.report.words import KIND_WORDS, share

    if case.dar < 1.0:
        return f"the decision changed between replays: DAR {share(case.dar)}"
    if case.unanimous_with_path_change:
        return f"one decision by different paths: {KIND_WORDS[case.path_variation_kind]} differ"
    return None


class CaseItem(pytest.Item):
    """A suite case: it fails when its decision changed or it is flagged."""

    def __init__(self, *, problem: str | None, **named: Any) -> None:
        super().__init__(**named)
        self.problem = problem
        self.add_marker("dfah")

    def runtest(self) -> None:
        if self.problem is not None:
            raise CaseFailure(self.problem)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        return str(excinfo.value)

    def reportinfo(self) -> tuple[str, int | None, str]:
        return "dfah", None, self.name


class UnjudgedItem(CaseItem):
    """A case that could not be judged: an error, not a failure."""

    def setup(self) -> None:
        raise CaseFailure(self.problem)


class CaseFailure(AssertionError):
    """What a case item fails with."""


@pytest.fixture(scope="session")
def dfah_report(request: pytest.FixtureRequest) -> ReportColumns:
    """The report of `--dfah-report`; the test is skipped without it."""
    if REPORT not in request.config.stash:
        pytest.skip("needs --dfah-report PATH")
    return request.config.stash[REPORT]


@pytest.fixture(scope="session")
def dfah_gate(request: pytest.FixtureRequest, dfah_report: ReportColumns) -> Callable[..., GateResult]:
    """Applies a policy to the report; without one, that of `--dfah-policy`, else an empty one."""

    def gate(policy: GatePolicy | None = None) -> GateResult:
        return _gate(request.config, policy)

    return gate


__all__: Sequence[str] = ("dfah_gate", "dfah_report")
