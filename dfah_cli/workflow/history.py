"""What happened in a run, in the order of its log: one event a record, streaming. Reads only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from dfah_cli.canonical import parse
from dfah_cli.errors import ConfigurationError
from dfah_cli.planning.plan import plan_from_bytes
from dfah_cli.planning.schedule import Schedule
from dfah_cli.workflow.analyze import open_run
from dfah_cli.workflow.taping import RECORDED

Body = Mapping[str, Any]
Facts = dict[str, Any]


@frozen(kw_only=True)
class Event:
    """One thing that happened. n: its place in the log, from 1. at: UTC text; None when its record states no time.

    case_id: of the episode it is about; None for events about the whole run.
    """

    n: int
    at: str | None
    what: str
    case_id: str | None
    facts: Facts


def history(path: str | Path, *, case_id: str | None = None) -> Iterator[Event]:
    """The events of a run, of one case when it is named.

    Raises: ConfigurationError for a case that is not in the plan; ArtifactError at the point from which the log cannot
    be believed, after the events before it.
    """
    reader = open_run(path)
    plan = plan_from_bytes(reader.plan_bytes)
    schedule = Schedule(plan.case_tasks, plan.replays, plan.seed, plan.schedule)
    if case_id is not None and case_id not in plan.case_tasks:
        raise ConfigurationError(f"{path}: the plan has no case {case_id!r}; dfah log {path} shows the others")
    for n, (_, body) in enumerate(reader.records(), 1):
        event = _event(n, body, schedule)
        if event is not None and (case_id is None or event.case_id == case_id):
            yield event


def _event(n: int, body: Body, schedule: Schedule) -> Event | None:
    kind: str = body["t"]
    if kind == "dispatching":
        slot = schedule[body["i"]]
        facts = {"slot": body["i"], "replay": slot.replay_index, **_present(body, "reserved_nusd")}
        return Event(n=n, at=body["at"], what="intent", case_id=slot.case_id, facts=facts)
    if kind == "episode":
        what = "interrupted" if body["status"] == "interrupted" else "episode"
        return Event(n=n, at=body["ended_at"], what=what, case_id=body["case_id"], facts=_episode(body))
    if kind == "segment" and not body["no"]:
        return None
    told = TOLD[kind]
    return Event(n=n, at=body.get("at"), what=told.what(body), case_id=None, facts=told.facts(body))


def _episode(body: Body) -> Facts:
    path = body["trajectory"]
    facts: Facts = {
        "slot": body["i"],
        "replay": body["replay_index"],
        "status": body["status"],
        "decision": body["decision"],
        "tool_calls": len(path["calls"]) if path else 0,
        "cost_nusd": body["cost_nusd"],
        "latency_us": body["latency_us"],
    }
    if body["error"] is not None:
        facts["error"] = body["error"]["kind"]
    return facts | _present(body, "recovered_by")


def _present(body: Body, *names: str) -> Facts:
    return {name: body[name] for name in names if name in body}


@frozen
class _Told:
    """How records of one type are told."""

    what: Callable[[Body], str]
    facts: Callable[[Body], Facts]


def _named(what: str, *names: str) -> _Told:
    return _Told(lambda _: what, lambda body: _present(body, *names))


TOLD = {
    "segment": _named("log continued", "no", "w", "salvaged"),
    "session": _Told(lambda _: "session", lambda body: _session(body)),
    "planned": _Told(lambda _: "planned", lambda body: {"from": body["from"], "to": body["to"] - 1}),
    "object": _named("object", "sha256", "size"),
    "note": _Told(lambda body: "stop" if body["kind"].startswith("stop:") else "note", lambda body: _note(body)),
    "report": _named("report", "ordinal", "commitment", "sha256"),
    "gate": _named("gate", "ordinal", "report", "verdict", "attempt", "policy_sha256"),
    "close": _named("closed", "episodes", "episode_root"),
}


def _session(body: Body) -> Facts:
    provenance: Facts = parse(body["provenance"])
    parent = provenance.pop("parent", {})
    return {"writer": body["w"], **provenance, **{f"parent_{name}": value for name, value in parent.items()}}


def _note(body: Body) -> Facts:
    kind: str = body["kind"]
    if kind.startswith("stop:"):
        return {"reason": kind.removeprefix("stop:")}
    return {"kind": kind} if kind != RECORDED else {"kind": kind, "sha256": body["text_sha256"]}
