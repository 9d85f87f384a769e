"""Reports as text."""

from dfah_cli.render.html import render_html
from dfah_cli.render.markdown import markdown
from dfah_cli.report.record import Report, ReportColumns
from dfah_cli.report.view import view_of
from dfah_cli.report.words import UNAVAILABLE

__all__ = ["Report", "format_metric", "render_html", "render_markdown"]


def format_metric(value: float | None, *, digits: int = 3) -> str:
    """A metric with so many decimals; `—` when it is unavailable, which is not the same as zero."""
    return UNAVAILABLE if value is None else f"{value:.{digits}f}"


def render_markdown(report: ReportColumns) -> str:
    """A report as Markdown."""
    return markdown(view_of(report))
