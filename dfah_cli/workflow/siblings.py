"""Other runs that a gate on this one ought to be seen beside: of the same plan, or the one it succeeds. Reads only.

Running the same plan again into another directory is another try at the same question, and so is a successor over the
cases that failed. Neither can be corrected for here, because a directory can be moved or deleted: it is said.
"""

from __future__ import annotations

from pathlib import Path

from attrs import frozen

from dfah_cli.canonical import JSONValue, parse
from dfah_cli.evidence.verify import VerifiedRun
from dfah_cli.report.words import count
from dfah_cli.store.places import RunUrl

PLAN = "plan.json"


@frozen(kw_only=True)
class Relatives:
    """same_plan: names of the directories beside the run that hold the same plan; None where nobody can look.

    parent: plan digest and commitment of the run that this one succeeds; None when it succeeds none.
    """

    same_plan: tuple[str, ...] | None
    parent: dict[str, str] | None

    def sentences(self) -> tuple[str, ...]:
        """What to say of them; nothing when there are none."""
        told = []
        if self.same_plan:
            named = ", ".join(self.same_plan[:5]) + (", …" if len(self.same_plan) > 5 else "")
            told.append(
                f"{count(len(self.same_plan), 'more run')} of the same plan beside this one: {named}; "
                "what is no copy is another try, of which this verdict does not know"
            )
        if self.parent is not None:
            told.append(
                f"this run succeeds another one of plan {self.parent['run_plan_sha256'][:12]} over the cases that it "
                "could not judge; a verdict on it is not a verdict on the whole suite"
            )
        return tuple(told)

    def document(self) -> dict[str, JSONValue]:
        """The same as JSON."""
        beside: JSONValue = None if self.same_plan is None else list(self.same_plan)
        parent: JSONValue = None if self.parent is None else dict(self.parent)
        return {"same_plan_beside": beside, "succeeds": parent}


def relatives(path: Path | RunUrl, run: VerifiedRun) -> Relatives:
    """The relatives of a verified run."""
    parents = [parse(body["provenance"]).get("parent") for body in run.sessions]
    beside = _beside(path, run.plan.encoded) if isinstance(path, Path) else None
    return Relatives(same_plan=beside, parent=next((parent for parent in parents if parent), None))


def _beside(path: Path, plan: bytes) -> tuple[str, ...] | None:
    mine = path.resolve()
    try:
        places = [place for place in mine.parent.iterdir() if place != mine]
        return tuple(sorted(place.name for place in places if _holds(place / PLAN, plan)))
    except OSError:
        return None


def _holds(file: Path, plan: bytes) -> bool:
    try:
        # The size first: a store root may hold thousands of runs.
        return file.stat().st_size == len(plan) and file.read_bytes() == plan
    except OSError:
        return False
