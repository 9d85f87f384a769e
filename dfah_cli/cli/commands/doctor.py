"""`dfah doctor`"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from dfah_cli.cli.options import COMMON
from dfah_cli.cli.screen import Screen
from dfah_cli.errors import DFAHError, ExitCode, install_command

Row = tuple[str, str, str]
PACKAGES = ("attrs", "cattrs", "click", "hydra-core", "omegaconf", "jsonschema", "numpy", "orjson", "rich", "structlog")

# Package -> the extra that brings it, and what needs it.
OPTIONAL = {"ray": ("ray", "engine=ray"), "obstore": ("s3", "runs in an object storage")}


@click.command(name="doctor")
@click.argument("run", metavar="[RUN]", required=False)
@COMMON
def command(run: str | None, as_json: bool) -> int:
    """Check this installation; with RUN, say what state that directory is in and what to do.

    With RUN, exits 3 when it is damaged, 5 when somebody holds it or left a lease, 4 when it is not complete.

    \b
    dfah doctor
    dfah doctor .dfah/runs/first
    """
    screen = Screen(as_json=as_json)
    if run is not None:
        return _run(run, screen)
    rows = list(_installation())
    bad = any(status == "fail" for _, status, _ in rows)
    code = ExitCode.BAD_REQUEST if bad else ExitCode.OK
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
    for name, (extra, wanted) in OPTIONAL.items():
        try:
            yield name, "pass", f"{version(name)}, for {wanted}"
        except PackageNotFoundError:
            yield name, "optional", f"not installed; for {wanted} run: {install_command(extra)}"
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


def _run(run: str, screen: Screen) -> int:
    from dfah_cli.render.text import quoted
    from dfah_cli.workflow.diagnosis import diagnose

    found = diagnose(run)
    if screen.json:
        checks = [dict(zip(("check", "status", "detail"), row, strict=True)) for row in found.rows]
        healthy = found.exit_code is ExitCode.OK
        told = {"run": run, "state": found.state, "healthy": healthy, "checks": checks, "advice": list(found.advice)}
        screen.document({"format": "dfah-doctor-1", **told, "exit_code": int(found.exit_code)})
    else:
        screen.table(("check", "status", "detail"), found.rows)
        if screen.tables:
            screen.line()
        screen.fact(state=found.state, run=run, exit=int(found.exit_code))
        screen.lines(f"next  {line}" if screen.tables else f"next={quoted(line)}" for line in found.advice)
    screen.flush()
    return int(found.exit_code)
