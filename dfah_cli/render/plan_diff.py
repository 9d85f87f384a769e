"""Changes of plans as text, as Markdown for a pull request, and as JSON. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from dfah_cli.records.codec import plain
from dfah_cli.render.text import escape


class Change(Protocol):
    """A field that differs, as `workflow.plan_diff` has it."""

    @property
    def field(self) -> str: ...
    @property
    def before(self) -> str: ...
    @property
    def after(self) -> str: ...
    @property
    def direction(self) -> str | None: ...


class Changed(Protocol):
    """What becomes of one plan, as `workflow.plan_diff` has it."""

    @property
    def name(self) -> str: ...
    @property
    def effect(self) -> str: ...
    @property
    def identity(self) -> Sequence[Change]: ...
    @property
    def policy(self) -> Sequence[Change]: ...
    @property
    def reusable(self) -> int | None: ...
    @property
    def new_calls(self) -> int: ...
    @property
    def cost_ceiling_usd(self) -> float | None: ...
    @property
    def why(self) -> str: ...


def headline(changes: Sequence[Changed]) -> str:
    """How many plans change, and what that may cost."""
    differing = [change for change in changes if change.effect != "same"]
    if not differing:
        return f"no plan changes ({len(changes)} compared)"
    calls = sum(change.new_calls for change in differing)
    text = f"{len(differing)} of {len(changes)} plans change: at most {calls} new calls"
    return f"{text}, {_total(differing)}" if calls else text


def text_lines(changes: Sequence[Changed]) -> Iterator[str]:
    """The changes for a terminal: a line for each plan, its fields and its consequence below it."""
    yield headline(changes)
    width = max((len(change.name) for change in changes), default=0)
    for change in changes:
        if change.effect == "same":
            continue
        yield ""
        yield f"{escape(change.name):<{width}}  {change.effect}"
        for one in (*change.identity, *change.policy):
            yield f"{'':<{width}}  {_sentence(one)}"
        yield f"{'':<{width}}  {consequence(change)}"


def markdown_lines(changes: Sequence[Changed]) -> Iterator[str]:
    """The changes as a table for a pull-request comment."""
    yield f"**{_cell(headline(changes))}**"
    differing = [change for change in changes if change.effect != "same"]
    if not differing:
        return
    yield ""
    yield "| plan | effect | what changes | consequence |"
    yield "|---|---|---|---|"
    for change in differing:
        fields = "<br>".join(_cell(_sentence(one)) for one in (*change.identity, *change.policy)) or "—"
        yield f"| {_cell(change.name)} | {change.effect} | {fields} | {_cell(consequence(change))} |"


def diff_document(changes: Sequence[Changed]) -> dict[str, Any]:
    """The changes as one JSON value."""
    return {
        "format": "dfah-plan-diff-1",
        "plans": len(changes),
        "changed": sum(change.effect != "same" for change in changes),
        "new_calls": sum(change.new_calls for change in changes),
        "changes": [plain(change) for change in changes],
    }


def consequence(change: Changed) -> str:
    """What a change means for recorded episodes, calls and money, in words."""
    if change.effect == "cannot be planned":
        return change.why
    if change.effect == "removed":
        return f"0 new calls: {change.why}"
    if not change.new_calls:
        return f"0 new calls: all {change.reusable} committed episodes stay valid"
    reuse = "nothing was planned before" if change.reusable is None else "nothing of the earlier run can be reused"
    return f"{change.new_calls} calls · {_cost(change.cost_ceiling_usd)} · {reuse}: {change.why}"


def _sentence(change: Change) -> str:
    direction = f" ({change.direction})" if change.direction is not None else ""
    return escape(f"{change.field} {change.before} → {change.after}{direction}")


def _cost(usd: float | None) -> str:
    return "cost unknown: no estimate was given" if usd is None else f"at most ${usd:,.2f}"


def _total(changes: Sequence[Changed]) -> str:
    costs = [change.cost_ceiling_usd for change in changes if change.new_calls]
    known = sum(cost for cost in costs if cost is not None)
    unknown = sum(cost is None for cost in costs)
    return f"at most ${known:,.2f}" + (f" and {unknown} plans without an estimate" if unknown else "")


def _cell(text: str) -> str:
    """Text that no Markdown of the user's can leave its cell."""
    shown = escape(text).replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")
    return "".join(f"\\{char}" if char in "*_`[]" else char for char in shown)
