"""The page in a real browser; without one these tests are skipped, with the command that installs it as the reason."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dfah_cli.gate.evaluate import Gate
from dfah_cli.gate.outcome import gate_view
from dfah_cli.metrics.measure import measure
from dfah_cli.metrics.paired import Measured
from dfah_cli.records.policy import GatePolicy
from dfah_cli.render.html import html
from dfah_cli.report.against import held_against
from dfah_cli.report.baseline import baseline_of, named
from dfah_cli.report.details import case_details
from dfah_cli.report.record import Report
from dfah_cli.report.state import state_report
from dfah_cli.report.view import view_of
from tests.metrics.build import a_table
from tests.report.build import ARGS, FLIPPED, MULTIPLICITY, ORDER, STABLE, TOOL_SET, Groups, a_run

REASON = "no browser; run: make browser"
KINDS = (STABLE, ORDER, ARGS, MULTIPLICITY, TOOL_SET, FLIPPED, STABLE, STABLE)


def groups_of(cases: int) -> Groups:
    """So many cases of every kind in three tasks."""
    return {(f"task-{i % 3}", f"CASE-{i:05d}"): KINDS[i % len(KINDS)] for i in range(cases)}


def stated(groups: Groups) -> tuple[Report, Measured]:
    run = a_run(groups)
    numbers = measure(run.table, replays=3)
    return state_report(run, numbers), Measured(run.table, numbers)


def page_of(groups: Groups, base: Groups | None = None) -> str:
    """The page of these groups, with a gate; held against a baseline when there is one."""
    report, measured = stated(groups)
    result = Gate(GatePolicy(min_dar=0.95, max_gap=0.05, max_flags_per_100_cases=5)).evaluate(report)
    details = tuple(case_details(a_table(groups, keep_examples=True)))
    against = None if base is None else held_against(baseline_of(*stated(base)), "base", report, named(measured))
    return html(view_of(report, gate=gate_view(result), details=details, against=against), details)


# Of the module: as long as it lives, playwright keeps an event loop running in this thread.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    playwright = pytest.importorskip("playwright.sync_api", reason=REASON)
    if executable is None:
        pytest.skip(REASON)
    with playwright.sync_playwright() as running:
        launched = running.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield launched
        launched.close()


class Opened:
    """A page and everything that went on while it was open."""

    def __init__(self, context: Any, path: Path) -> None:
        self.page = context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: (self.complaints.append("dialog"), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Opened]]:
    """Opens the page of some groups; options go to the browser context."""
    contexts: list[Any] = []

    def open_page(groups: Groups, base: Groups | None = None, **options: Any) -> Opened:
        path = tmp_path / f"report-{len(contexts)}.html"
        path.write_text(page_of(groups, base), encoding="utf-8")
        contexts.append(browser.new_context(**options))
        return Opened(contexts[-1], path)

    yield open_page
    for context in contexts:
        context.close()
