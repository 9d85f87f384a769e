"""Suites, and those that can be loaded by name."""

from dfah_cli.loading import suites
from dfah_cli.records.case import Case
from dfah_cli.records.suite import Suite
from dfah_cli.records.tool_spec import ToolSpec

__all__ = ["Case", "Suite", "ToolSpec", "list_suites"]


def list_suites() -> tuple[Suite, ...]:
    """Every suite of the project and of this package, loaded, in order of name.

    Raises: ConfigurationError naming file, line and column of one that is invalid.
    """
    return tuple(suites.load_suite(found.path) for found in suites.list_suites())
