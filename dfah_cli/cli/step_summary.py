"""The summary that a CI server shows with a step: it names a file, and what is appended there is shown as Markdown."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dfah_cli.cli.screen import Screen
    from dfah_cli.report.view import ReportView

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"


def wants_summary(environment: Mapping[str, str]) -> bool:
    """Whether a CI server asks for one."""
    return bool(environment.get(STEP_SUMMARY))


def add_step_summary(view: ReportView, screen: Screen) -> None:
    """Appends the report in brief, as far as the server's limit for a step leaves room."""
    path = screen.environment.get(STEP_SUMMARY)
    if not path:
        return
    from dfah_cli.render.within import STEP_SUMMARY_BYTES, markdown_within

    try:
        with open(path, "a", encoding="utf-8") as file:
            taken = file.seek(0, os.SEEK_END)
            text = markdown_within(view, STEP_SUMMARY_BYTES - taken, key=view.plan, brief=True)
            file.write(text or "")
    except OSError as problem:
        screen.note(f"{STEP_SUMMARY}: the summary could not be written ({problem.strerror})")
        return
    if text is None:
        screen.note(
            f"{STEP_SUMMARY}: {taken} bytes are there already; no summary of this run fits into the rest of a MiB"
        )
