"""A report as Markdown within the limit of its place: what a reviewer needs least is left out first. Pure."""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve

from dfah_cli.render.markdown import markdown
from dfah_cli.report.view import ReportView

STEP_SUMMARY_BYTES = 1024 * 1024
"""GitHub shows none of a step's summary when it is larger."""
COMMENT_BYTES = 65_536
"""Servers refuse a longer comment; they count characters, of which there are at most as many."""


def _whole(view: ReportView) -> ReportView:
    return view


LEAST_FIRST: tuple[tuple[str, Callable[[ReportView], ReportView]], ...] = (
    ("nothing", _whole),
    ("the diagnosis", lambda view: evolve(view, diagnosis=())),
    ("the tasks", lambda view: evolve(view, tasks=())),
    ("the checks of the gate", lambda view: evolve(view, checks=())),
    ("the cases", lambda view: evolve(view, attention=0)),
    ("the comparison", lambda view: evolve(view, against=None)),
)


def markdown_within(view: ReportView, room: int, *, key: str = "report", brief: bool = False) -> str | None:
    """The report in `room` bytes or fewer, saying what it leaves out; None where not even the verdict has room."""
    left_out: list[str] = []
    for name, without in LEAST_FIRST:
        view, before = without(view), view
        left_out += [name] if view != before else []
        text = markdown(view, key=key, brief=brief, left_out=left_out)
        if len(text.encode()) <= room:
            return text
    return None
