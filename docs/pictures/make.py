"""Makes the pictures of the documentation from a real run: `python docs/pictures/make.py` in the project's root.

terminal.svg, inspect.svg: what a terminal shows. report.png, against.png: the page, and its comparison with a baseline,
when a browser is there (`make browser`).
"""

from __future__ import annotations

import re
import shutil
import tempfile
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.text import Text

from dfah_cli.gate.evaluate import Gate
from dfah_cli.gate.grounds import Grounds
from dfah_cli.gate.outcome import gate_view
from dfah_cli.loading.policies import load_policy
from dfah_cli.metrics.paired import Measured
from dfah_cli.records.policy import GatePolicy, NonInferiorityPolicy
from dfah_cli.render.html import html
from dfah_cli.render.inspection import case_lines
from dfah_cli.render.terminal import report_renderables
from dfah_cli.report.against import held_against
from dfah_cli.report.baseline import baseline_of, named
from dfah_cli.report.details import case_details
from dfah_cli.report.view import view_of
from dfah_cli.workflow.analyze import Analysis, analyze
from dfah_cli.workflow.request import RunRequest
from dfah_cli.workflow.run import execute

HERE = Path(__file__).parent
REMOTE_FONT = re.compile(r"@font-face \{.*?\}", re.DOTALL)


def picture(console: Console, title: str, name: str) -> None:
    """The recorded output as an SVG that asks no server for a font."""
    svg = REMOTE_FONT.sub("", console.export_svg(title=title, unique_id=name))
    (HERE / f"{name}.svg").write_text(svg, encoding="utf-8")


def recording() -> Console:
    return Console(record=True, width=104, file=StringIO(), force_terminal=True, markup=False, highlight=False)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = recorded(f"{folder}/run")
        later = recorded(f"{folder}/later", flip_rate=0.35, affected_cases=0.4)
    details = tuple(case_details(found.verified.table))
    result = Gate(load_policy("strict")).evaluate(found.report)
    view = view_of(found.report, gate=gate_view(result), details=details)
    console = recording()
    for renderable in report_renderables(view, 104):
        console.print(renderable)
    picture(console, "dfah analyze", "terminal")
    console, worst = recording(), view.cases[0].case_id
    detail = next(one for one in details if one.case_id == worst)
    case = next(one for one in found.report.case_reports if one.case_id == worst)
    for line in case_lines(detail, case):
        console.print(Text(line))
    picture(console, f"dfah inspect RUN --case {worst}", "inspect")
    page(html(view, details), "report")
    base = baseline_of(found.report, measured(found))
    rules = GatePolicy(non_inferiority=NonInferiorityPolicy(baseline="release.json", dar=0.05, tar_seq=0.05))
    decided = Gate(rules).evaluate(later.report, Grounds(measured=measured(later), baseline=base))
    against = held_against(base, "release.json", later.report, named(measured(later)))
    compared = view_of(later.report, gate=gate_view(decided), against=against)
    page(html(compared, tuple(case_details(later.verified.table))), "against", section="#h-against")


def recorded(place: str, **agent: float) -> Analysis:
    """A run of the demonstration agent that is unstable on purpose."""
    execute(RunRequest(adapter="dfah.demo:unstable_agent", agent=agent, replays=5, out=place, concurrency=8))
    return analyze(place, keep_examples=True)


def measured(found: Analysis) -> Measured:
    return Measured(found.verified.table, found.measurement)


def page(text: str, name: str, section: str | None = None) -> None:
    """The page in a browser, or the section of that heading; nothing without a browser."""
    executable = shutil.which("chromium")
    if executable is None:
        return
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as running:
        path = Path(folder) / "report.html"
        path.write_text(text, encoding="utf-8")
        browser = running.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        view = browser.new_page(viewport={"width": 1160, "height": 1500})
        view.goto(path.as_uri())
        if section is None:
            view.screenshot(path=HERE / f"{name}.png")
        else:
            view.locator("section", has=view.locator(section)).screenshot(path=HERE / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
