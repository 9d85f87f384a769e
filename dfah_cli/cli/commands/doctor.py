"""`dfah doctor`"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from dfah_cli.cli.options import COMMON
from dfah_cli.cli.screen import Screen
from dfah_cli.errors import DFAHError, ExitCode

Row = tuple[str, str, str]
PACKAGES = ("attrs", "cattrs", "click", "hydra-core", "omegaconf", "jsonschema", "numpy", "orjson", "rich", "structlog")


@click.command(name="doctor")
@click.argument("run", metavar="[RUN]", required=False)
@COMMON
def command(run: str | None, as_json: bool) -> int:
    """Check this installation; with RUN, say what state that directory is in and what to do.

    \b
    dfah doctor
    dfah doctor .dfah/runs/first
    """
    rows = list(_installation() if run is None else _run(run))
    bad = any(status == "fail" for _, status, _ in rows)
    code = (ExitCode.BAD_REQUEST if run is None else ExitCode.BAD_EVIDENCE) if bad else ExitCode.OK
    screen = Screen(as_json=as_json)
    if screen.json:
        checks = [dict(zip(("check", "status", "detail"), row, strict=True)) for row in rows]
        screen.document({"format": "dfah-doctor-1", "healthy": not bad, "checks": checks})
    else:
        screen.table(("check", "status", "detail"), rows)
    screen.flush()
    return int(code)


def _installation() -> Iterator[Row]:
    from importlib.metadata import PackageNotFoundError, version

    from dfah_cli.adapter.reference import shared_import_name
    from dfah_cli.version import __version__

    found = ".".join(map(str, sys.version_info[:3]))
    right = (3, 11) <= sys.version_info[:2] <= (3, 13)
    yield "python", "pass" if right else "fail", found if right else f"{found}; expected 3.11 to 3.13"
    yield "dfah-cli", "pass", __version__
    for name in PACKAGES:
        try:
            yield name, "pass", version(name)
        except PackageNotFoundError:
            yield name, "fail", f"not installed; run: python -m pip install {name}"
    clash = shared_import_name()
    yield "import name", "fail" if clash else "pass", clash or "dfah belongs to dfah-cli alone"
    yield from _suites()


def _suites() -> Iterator[Row]:
    from dfah_cli.loading.suites import list_suites
    from dfah_cli.records.suite import Suite

    for found in list_suites():
        try:
            suite = Suite.load(found.path)
            yield f"suite {found.name}", "pass", f"{suite.suite_version}, {len(suite.cases)} cases, {found.origin}"
        except DFAHError as problem:
            yield f"suite {found.name}", "fail", str(problem).split("\n")[0]


def _run(run: str) -> Iterator[Row]:
    from dfah_cli.workflow.analyze import examine_run

    examination = examine_run(run)
    for check in examination.checks:
        yield str(check.claim), str(check.status), check.detail
    verified = examination.run
    if verified is None:
        yield "state", "fail", "the evidence cannot be believed; restore the directory from a copy, or use a new --out"
        return
    left = verified.plan.episodes_planned - verified.episodes
    told = f"{verified.episodes} of {verified.plan.episodes_planned} episodes recorded"
    yield "state", "pass", f"{told}; rerun the original command to resume" if left else f"{told}; nothing is left to do"
