"""The config groups: which schema their files follow and where in a run config they stand. Pure."""

from __future__ import annotations

from attrs import frozen

PRIMARY = "dfah_run"
# Files at the top of a configs folder that are no runs of their own.
NOT_RUNS = frozenset({"base", PRIMARY, "adapters"})


@frozen
class Group:
    """A config group. kind: of its files. package: the key its files fill; None for the top of the run config."""

    kind: str
    package: str | None


GROUPS = {
    "suite": Group("suite", None),
    "manifest": Group("manifest", "manifest"),
    "replay": Group("replay", None),
    "gate": Group("gate", "gate"),
    "engine": Group("engine", "engine"),
    "report": Group("report", "report"),
}


def lookup(group: str) -> str:
    """The folder kind in which the options of a group are looked up (see `loading.resources`)."""
    return "suites" if group == "suite" else f"configs/{group}"
