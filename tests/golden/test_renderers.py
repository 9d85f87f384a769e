"""Every renderer on the same reports: numbers, words and escapes are read in the diff of the golden files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from io import StringIO
from typing import NamedTuple

import pytest
from attrs import evolve

from dfah_cli.gate.evaluate import Gate, GateResult
from dfah_cli.gate.grounds import Grounds
from dfah_cli.gate.outcome import gate_view
from dfah_cli.metrics.measure import measure
from dfah_cli.metrics.paired import Measured
from dfah_cli.records.policy import GatePolicy, NonInferiorityPolicy
from dfah_cli.render.html import asset, html
from dfah_cli.render.inspection import case_document, case_facts, case_lines
from dfah_cli.render.json import json_text, report_document
from dfah_cli.render.junit import junit
from dfah_cli.render.markdown import markdown
from dfah_cli.render.plain import plain_lines
from dfah_cli.render.terminal import report_renderables
from dfah_cli.report.against import Against, held_against
from dfah_cli.report.baseline import Baseline, baseline_of, named
from dfah_cli.report.details import CaseDetail, case_details
from dfah_cli.report.diagnosis import DiagnosisTable, diagnosis
from dfah_cli.report.record import Report
from dfah_cli.report.state import state_report
from dfah_cli.report.view import ReportView, view_of
from tests.metrics.build import a_table
from tests.report.build import ARGS, FLAGS, MULTIPLICITY, ORDER, STABLE, Groups, a_run

POLICY = GatePolicy(min_dar=0.95, min_tar_seq=0.5, max_gap=0.05, max_flags_per_100_cases=5)
BASE_POLICY = evolve(
    POLICY, non_inferiority=NonInferiorityPolicy(baseline="base.json", dar=0.05, tar_seq=0.05, flags_per_100=10)
)
HOSTILE: Groups = {
    ("<b>task</b>|`x`", "</script><script>alert(1)</script>"): ORDER,
    ("[red]t[/red]", "[/x] \u202egnp.exe\u200b"): ARGS,
    ("naïve—task", "''\"=;|&*_#@team"): MULTIPLICITY,
    ("x" * 80, "case\u2028two\u00a0three"): STABLE,
}


class Sample(NamedTuple):
    report: Report
    result: GateResult | None
    details: tuple[CaseDetail, ...]
    ineligible: Sequence[tuple[str, str, tuple[str, ...]]]
    against: Against | None = None
    diagnosis: tuple[DiagnosisTable, ...] = ()

    @property
    def view(self) -> ReportView:
        gate = gate_view(self.result)
        return view_of(self.report, gate=gate, details=self.details, against=self.against, diagnosis=self.diagnosis)


def own_lines(page: str) -> str:
    """The page without the style and the script that all pages share; they have files of their own to be read in."""
    for name in ("report.css", "report.js"):
        before, shared, after = page.partition(asset(name))
        assert shared, f"the page is not whole without {name}"
        page = f"{before}/* {name} */{after}"
    return page


def sample(
    groups: Groups,
    *,
    gated: bool,
    status: dict[tuple[str, int], str] | None = None,
    base: Baseline | None = None,
    parallel: Sequence[Sequence[str]] = (),
) -> Sample:
    run = a_run(groups, status=status, parallel=parallel)
    numbers = measure(run.table, replays=3)
    report = state_report(run, numbers)
    measured = Measured(run.table, numbers)
    paths = a_table(groups, status=status, keep_examples=True)
    policy = POLICY if base is None else BASE_POLICY
    return Sample(
        report=report,
        result=Gate(policy).evaluate(report, Grounds(measured=measured, baseline=base)) if gated else None,
        details=tuple(case_details(paths)),
        diagnosis=diagnosis(paths, numbers).tables,
        ineligible=[(g.task, g.case_id, g.reasons) for g in numbers.groups if not g.eligible],
        against=None if base is None else held_against(base, "base.json", report, named(measured)),
    )


def baseline() -> Baseline:
    """A run of the same cases, of which two decided otherwise."""
    earlier = {key: [("dismiss", path) for _, path in replays] for key, replays in HOSTILE.items()}
    run = a_run({**HOSTILE, **dict(list(earlier.items())[:2])}, model="model-v0")
    numbers = measure(run.table, replays=3)
    return evolve(baseline_of(state_report(run, numbers), Measured(run.table, numbers)), commitment="7" * 64)


SAMPLES = {
    "mixed": sample(FLAGS, gated=True),
    "hostile": sample(HOSTILE, gated=True),
    "partial": sample(FLAGS, gated=True, status={("A", 1): "parse_failure", ("D", 0): "provider_error"}),
    "against": sample(HOSTILE, gated=True, base=baseline()),
    "refused": sample(FLAGS, gated=True, base=evolve(baseline(), fixture_hash="9" * 64)),
    "parallel": sample(FLAGS, gated=True, parallel=[["T", "U"]]),
    "nothing": sample({("t", "A"): STABLE}, gated=False, status={("A", i): "refusal" for i in range(3)}),
}


def terminal_text(view: ReportView, width: int) -> str:
    from rich.console import Console

    file = StringIO()
    console = Console(file=file, width=width, markup=False, highlight=False, emoji=False, color_system=None)
    for renderable in report_renderables(view, width):
        console.print(renderable)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


RENDERERS: dict[str, Callable[[Sample], str]] = {
    "plain.txt": lambda s: "\n".join(plain_lines(s.view)) + "\n",
    "terminal.txt": lambda s: terminal_text(s.view, 100),
    "narrow.txt": lambda s: terminal_text(s.view, 40),
    "md": lambda s: markdown(s.view),
    "json": lambda s: json_text(report_document(s.report, s.result, against=s.against)),
    "junit.xml": lambda s: junit(s.view, s.ineligible),
    "html": lambda s: own_lines(html(s.view, s.details)),
    "cases.txt": lambda s: "\n\n".join("\n".join(case_lines(d, case_of(s, d))) for d in s.details) + "\n",
    "facts.txt": lambda s: "\n".join(line for d in s.details for line in case_facts(d, case_of(s, d))) + "\n",
    "cases.json": lambda s: json_text([case_document(d, case_of(s, d)) for d in s.details]),
}


def case_of(s: Sample, detail: CaseDetail):  # type: ignore[no-untyped-def]
    return next((case for case in s.report.case_reports if case.case_id == detail.case_id), None)


@pytest.mark.parametrize("kind", RENDERERS)
@pytest.mark.parametrize("name", SAMPLES)
def test_the_rendering_is_the_golden_one(name: str, kind: str, golden: Callable[[str, str], None]) -> None:
    golden(f"{name}.{kind}", RENDERERS[kind](SAMPLES[name]))


@pytest.mark.parametrize("kind", RENDERERS)
def test_a_rendering_does_not_depend_on_when_it_is_made(kind: str) -> None:
    assert RENDERERS[kind](SAMPLES["mixed"]) == RENDERERS[kind](sample(FLAGS, gated=True))


@pytest.mark.parametrize("kind", ["plain.txt", "terminal.txt", "md", "html"])
def test_every_format_shows_the_same_headline_numbers(kind: str) -> None:
    text = RENDERERS[kind](SAMPLES["mixed"])
    for row in SAMPLES["mixed"].view.metrics:
        assert row.value in text
        assert row.low in text
        assert row.high in text


@pytest.mark.parametrize("kind", ["plain.txt", "terminal.txt", "md", "html"])
def test_unavailable_numbers_are_a_dash_and_never_a_zero(kind: str) -> None:
    text = RENDERERS[kind](SAMPLES["nothing"])
    assert "—" in text
    assert not re.search(r"(?<!\$)\b0\.000", text)


def test_unavailable_numbers_are_null_in_json() -> None:
    text = RENDERERS["json"](SAMPLES["nothing"])
    for name in ("dar", "tar", "gap", "flags_per_100_cases", "sequence_flags_per_100_cases"):
        assert re.search(rf'"{name}": null', text), name


@pytest.mark.parametrize("kind", RENDERERS)
def test_no_rendering_lets_a_hidden_character_through(kind: str) -> None:
    text = RENDERERS[kind](SAMPLES["hostile"])
    for character in "\x1b\u202e\u200b\u2028\u00a0":
        assert character not in text


def test_no_rendering_for_browsers_lets_markup_through() -> None:
    for kind in ("html", "junit.xml"):
        text = RENDERERS[kind](SAMPLES["hostile"])
        assert "<script>alert" not in text
        assert "<b>task" not in text


def test_at_forty_columns_nothing_is_cut_off() -> None:
    text = terminal_text(SAMPLES["mixed"].view, 40)
    assert max(map(len, text.splitlines())) <= 40
    for row in SAMPLES["mixed"].view.metrics:
        assert row.value in text
