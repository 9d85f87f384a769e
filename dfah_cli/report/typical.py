"""The typical path of a case, its paths by tool names, and how every other path came from the typical one. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import frozen

from dfah_cli.metrics.alignment import Alignment, Change, Edit
from dfah_cli.metrics.diagnosis import diagnose_paths
from dfah_cli.metrics.variants import Variant as NamedPath
from dfah_cli.report import words
from dfah_cli.report.details import CaseDetail, Variant

CHANGES = {
    Edit.INSERT: "{tool} comes in",
    Edit.DROP: "{tool} is left out",
    Edit.REPLACE: "{instead} in place of {tool}",
    Edit.SWAP: "{tool} ⇄ {instead}",
    Edit.ARGUMENT: "{tool}, another argument",
    Edit.RESULT: "{tool}, another result",
    Edit.STATUS: "{tool}, another state",
}


@frozen(kw_only=True)
class TypicalPath:
    """names: the medoid path by tool names. path: index into `CaseDetail.variants` of its most frequent form.

    named: paths by tool names, most frequent first. changes: how each of `CaseDetail.variants` differs from the path.
    """

    names: tuple[str, ...]
    path: int
    named: tuple[NamedPath, ...]
    changes: tuple[Alignment, ...]


def typical_path(detail: CaseDetail) -> TypicalPath | None:
    """The typical path of a case; None when no path was observed."""
    cells = [(cell.decision, detail.variants[cell.variant]) for cell in detail.replays if cell.variant is not None]
    if not cells:
        return None
    found = diagnose_paths([decision for decision, _ in cells], [variant.steps for _, variant in cells])
    steps = [variant.steps for variant in detail.variants]
    alignments = dict(zip(found.paths, found.alignments, strict=True))
    return TypicalPath(
        names=tuple(step[0] for step in found.reference),
        path=steps.index(found.reference),
        named=found.variants,
        changes=tuple(alignments[path] for path in steps),
    )


def path_text(names: tuple[str, ...]) -> str:
    """A path by tool names."""
    return " → ".join(names) or "no call"


def change_text(change: Change) -> str:
    """One difference from the typical path; steps count from 1."""
    return f"step {change.at + 1}: {CHANGES[change.edit].format(tool=change.tool, instead=change.instead)}"


def typical_texts(detail: CaseDetail) -> Iterator[str]:
    """The typical path, how often each path by tool names was taken, and how the others differ from the typical one.

    Nothing where all paths are equal.
    """
    found = typical_path(detail)
    if found is None or len(detail.variants) < 2:
        return
    yield f"typical path: {path_text(found.names)} ({_who(detail.variants[found.path])})"
    if len(found.named) > 1:
        yield from map(named_text, found.named)
    yield from changed_texts(detail, found)


def named_text(named: NamedPath) -> str:
    """A path by tool names, how many took it, and their decisions."""
    decided = ", ".join(f"{label} {times}" for label, times in named.decisions) or "no decision"
    return f"path {path_text(named.path)}: {words.count(named.count, 'replay')}, {decided}"


def changed_texts(detail: CaseDetail, found: TypicalPath) -> Iterator[str]:
    """How each other path differs from the typical one, and where it comes back."""
    for variant, alignment in zip(detail.variants, found.changes, strict=True):
        if alignment.changes:
            told = ", ".join(change_text(change) for change in alignment.changes)
            yield f"{_who(variant)} from the typical path: {told}; {_back(alignment)}"


def _who(variant: Variant) -> str:
    return f"{'replays' if len(variant.replays) > 1 else 'replay'} {' '.join(map(str, variant.replays))}"


def _back(alignment: Alignment) -> str:
    back = alignment.reconverges_at
    return "does not come back" if back is None else f"back at step {back + 1}"


def typical_object(found: TypicalPath | None) -> dict[str, Any] | None:
    """The same as JSON; steps count from 1."""
    if found is None:
        return None
    return {
        "tools": list(found.names),
        "path": found.path,
        "changes": [
            {"path": place, "edits": [_edit(change) for change in alignment.changes],
             "back_at": None if alignment.reconverges_at is None else alignment.reconverges_at + 1}
            for place, alignment in enumerate(found.changes)
            if alignment.changes
        ],
    }  # fmt: skip


def _edit(change: Change) -> dict[str, Any]:
    return {"step": change.at + 1, "edit": str(change.edit), "tool": change.tool, "instead": change.instead}


def variant_objects(found: TypicalPath | None) -> list[dict[str, Any]]:
    """The paths by tool names as JSON, most frequent first."""
    named = () if found is None else found.named
    return [{"path": list(one.path), "replays": one.count, "decisions": dict(one.decisions)} for one in named]
