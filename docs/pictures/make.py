"""Makes the pictures of the documentation from a real run: `python docs/pictures/make.py` in the project's root.

terminal.svg, inspect.svg: what a terminal shows. report.png: the page, when a browser is there (`make browser`).
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
from dfah_cli.gate.outcome import gate_view
from dfah_cli.loading.policies import load_policy
from dfah_cli.render.html import render_html
from dfah_cli.render.inspection import case_lines
from dfah_cli.render.terminal import report_renderables
from dfah_cli.report.details import case_details
from dfah_cli.report.view import view_of
from dfah_cli.workflow.analyze import analyze
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
        request = RunRequest(adapter="dfah.demo:unstable_agent", replays=5, out=f"{folder}/run", concurrency=8)
        execute(request)
        found = analyze(request.out or "", keep_examples=True)
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
    page(render_html(found.report, result, details))


def page(text: str) -> None:
    """The page in a browser; nothing without one."""
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
        view.screenshot(path=HERE / "report.png")
        browser.close()


if __name__ == "__main__":
    main()
