"""A reader written from docs/store-format.md alone, with json and hashlib only; it shares no line with the program.

`read(get)` checks a run, where `get(name)` gives the bytes of a file of the run directory, or None.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from typing import Any

from tests.docs.second_episode import check_terminal
from tests.docs.second_format import (
    Ending,
    Tree,
    batches,
    body_of,
    canonical,
    check_torn,
    digest,
    head_bytes_of,
    head_of,
    need,
    parsed,
)
from tests.docs.second_shuffle import Mixer

Get = Callable[[str], bytes | None]
FIELDS = {
    "segment": ("no v run w boot at prev_len prev_sha256 prev_torn prev_n prev_root salvaged", ""),
    "session": ("w at provenance", ""),
    "planned": ("from to", ""),
    "dispatching": ("i k at", "reserved_nusd idem"),
    "episode": (
        "i k manifest_hash case_id replay_index status dispatch_state",
        """task decision parse trajectory wire_request usage cost_nusd latency_us started_at ended_at response error
        recovered_by confidence provider_usage""",
    ),
    "object": ("sha256 size media", ""),
    "note": ("kind text_sha256", "at"),
    "report": ("ordinal sha256 log_n log_root commitment", ""),
    "gate": ("ordinal report sha256 policy_sha256 verdict attempt", ""),
    "close": ("episodes episode_root log_n", ""),
    "commit": ("b n off root", ""),
}
AFTER_CLOSE = ("segment", "session", "note", "report", "gate")


def read(get: Get, boot: str = "") -> dict[str, Any]:
    """Facts about a run whose every claim holds. boot: the kernel that runs here. Raises: Refused."""
    sums, seal, head = get("SHA256SUMS"), get("seal.json"), get("head")
    plan_bytes, manifest_bytes = get("plan.json") or b"", get("manifest.json") or b""
    plan, manifest = parsed(plan_bytes, "plan.json"), parsed(manifest_bytes, "manifest.json")
    need(plan["manifest_hash"] == digest(manifest_bytes), "manifest.json is another")
    for name in ("suite_id", "suite_version", "fixture_hash", "tool_schema_hash"):
        need(plan[name] == manifest[name], f"plan and manifest differ in {name}")
    run = Run(get, plan, manifest, digest(plan_bytes))
    run.files |= {"plan.json": run.id, "manifest.json": digest(manifest_bytes)}
    log = Log(run, head_of(head), boot)
    while (data := get(segment(log.number))) is not None:
        log.take(data, get(segment(log.number + 1)))
    need(log.number or log.head is None, "head names a segment, and there is none")
    facts = run.finish()
    if seal is not None:
        check_seal(seal, head, log.closed_at, facts | {"plan": run.id})
        run.files["seal.json"] = digest(seal)
    check_sums((sums or b"").decode("latin-1"), run.files)
    return facts | {"log_n": log.tree.n, "log_root": log.tree.root(), "sealed": seal is not None, "plan": run.id}


def segment(number: int) -> str:
    return f"segments/{number:08d}.jsonl"


class Log:
    """The segments of one run, in order."""

    def __init__(self, run: Run, head: Any, boot: str) -> None:
        self.run, self.head, self.boot = run, head, boot
        self.tree, self.b, self.number, self.closed_at = Tree(), 0, 0, dict[str, Any]()
        self.before = self.pins(b"", b"")

    def pins(self, committed: bytes, rest: bytes) -> dict[str, Any]:
        """What the header of the next segment says of the one before it."""
        return {
            "prev_len": len(committed),
            "prev_sha256": digest(committed),
            "prev_torn": digest(rest),
            "prev_n": self.tree.n,
            "prev_root": self.tree.root(),
        }

    def take(self, data: bytes, following: bytes | None) -> None:
        first = None if following is None else body_of(following[: following.find(b"\n") + 1])
        need(following is None or first, "the header of a segment is damaged")
        pinned = first[1]["prev_len"] if first else None
        end, header, closed = 0, dict[str, Any](), False
        for lines, so_far, stop in batches(data[:pinned], self.b, self.tree):
            need(not closed, "a batch behind the close record")
            for position, (h, body) in enumerate(lines):
                need((body["t"] == "segment") == (end == position == 0), "a header stands first, and only there")
                if body["t"] == "segment":
                    header, expected = body, {**self.before, "no": self.number, "v": 1, "run": self.run.id}
                    need(body | expected == body, "the header pins another log")
                self.run.take(h, body)
                if body["t"] == "close":
                    closed = True
                    need(body["log_n"] == self.tree.n - len(lines), "the close record stands elsewhere")
            self.b, end = so_far, stop
            self.run.roots[self.tree.n] = self.tree.root()
            if closed:
                self.closed_at = {"seg": self.number, "len": end, "n": self.tree.n, "root": self.tree.root()}
        if pinned is None:
            check_torn(data[end:], Ending(self.number, end, self.b, closed, header.get("boot") == self.boot), self.head)
        else:
            need(end == pinned, "a segment does not end where the next says")
            hinted = self.head and self.head["seg"] == self.number and self.head["len"] > end
            need(not hinted, "head says that more was durable")
        self.before = self.pins(data[:end], data[end:])
        self.run.files[segment(self.number)] = digest(data)
        self.number += 1


def check_seal(seal: bytes, head: bytes | None, closed_at: dict[str, Any], facts: dict[str, Any]) -> None:
    need(closed_at, "a seal without a close record")
    root = b64encode(bytes.fromhex(closed_at["root"])).decode()
    stated = {name: facts[name] for name in ("commitment", "episode_root", "episodes", "plan")} | {"v": 1}
    stated |= {"length": closed_at["len"], "log_n": closed_at["n"], "log_root": closed_at["root"]}
    stated |= {"checkpoint": f"dfah-cli/run/{facts['plan']}\n{closed_at['n']}\n{root}\n", "segment": closed_at["seg"]}
    need(seal == canonical(stated), "seal.json says something else")
    need(head == head_bytes_of(closed_at), "head says something else than the seal")


def check_sums(text: str, files: dict[str, str]) -> None:
    listed = {line[66:]: line[:64] for line in text.split("\n")[:-1]}
    spelled = "".join(f"{stated}  {name}\n" for name, stated in sorted(listed.items()))
    need(spelled == text, "SHA256SUMS is not a sorted list")
    for name, stated in listed.items():
        need(files.get(name) == stated, f"{name} does not match SHA256SUMS")


class Run:
    """The records of one run, in order."""

    def __init__(self, get: Get, plan: Any, manifest: Any, run_id: str) -> None:
        self.get, self.plan, self.manifest, self.id = get, plan, manifest, run_id
        self.order, self.n, self.changed = schedule(plan), 0, 0
        self.planned, self.intents, self.terminals = set[int](), dict[int, Any](), dict[int, tuple[str, Any]]()
        self.roots, self.files, self.objects = {0: Tree().root()}, dict[str, str](), set[str]()
        self.last, self.closed, self.statements = {"report": 0, "gate": 0}, None, list[Any]()
        self.parents, self.purses = set[str | None](), list[tuple[Any, Any]]()

    def take(self, h: str, body: Any) -> None:
        kind = body["t"]
        self.n += 1
        if kind in ("episode", "dispatching", "note"):
            self.changed = self.n
        need(kind in FIELDS and kind != "commit", f"record of type {kind}")
        required, optional = (set(names.split()) for names in FIELDS[kind])
        need(required <= body.keys() - {"t"} <= required | optional, f"fields of a {kind} record")
        need(self.closed is None or kind in AFTER_CLOSE, f"{kind} record behind the close record")
        takers = {"session": self.session, "planned": self.window, "object": self.object, "episode": self.episode}
        takers |= {"dispatching": self.dispatching, "report": self.report, "gate": self.gate, "close": self.close}
        if kind in takers:
            takers[kind](h, body)

    def session(self, _: str, body: Any) -> None:
        said = json.loads(body["provenance"])
        self.parents.add((said.get("parent") or {}).get("commitment"))
        self.purses.append((said.get("budget_nusd"), said.get("estimate_nusd")))

    def window(self, _: str, body: Any) -> None:
        low, high = body["from"], body["to"]
        need(0 <= low < high <= len(self.order), "a window outside the plan")
        self.planned.update(range(low, high))

    def object(self, _: str, body: Any) -> None:
        self.objects.add(body["sha256"])

    def dispatching(self, _: str, body: Any) -> None:
        i = body["i"]
        need(i in self.planned and i not in self.intents, f"intent for slot {i}, which is not planned or was sent")
        case_id, replay, _task = self.order[i]
        need(body["k"] == self.key(case_id, replay), f"intent {i} is of another episode")
        base = {"case": case_id, "manifest": self.plan["manifest_hash"], "replay": replay}
        known = [base if parent is None else base | {"parent": parent} for parent in self.parents or {None}]
        need(body["idem"] in [digest(canonical(one)) for one in known], f"intent {i} has another idempotency key")
        held = body["reserved_nusd"]
        need(not self.purses or any(held == 0 if limit is None else least <= held <= limit
             for limit, least in self.purses), f"intent {i} reserves what no session gives")  # fmt: skip
        self.intents[i] = body

    def key(self, case_id: str, replay: int) -> str:
        named = {"case_id": case_id, "manifest_hash": self.plan["manifest_hash"], "replay_index": replay}
        return digest(canonical(named))

    def episode(self, h: str, body: Any) -> None:
        i = body["i"]
        need(i in self.intents, f"terminal record {i} without an intent")
        need(self.terminals.get(i, (h,))[0] == h, f"two different terminal records of slot {i}")
        case_id, replay, task = self.order[i]
        found = (body["case_id"], body["replay_index"], body["task"], body["manifest_hash"], body["k"])
        expected = (case_id, replay, task, self.plan["manifest_hash"], self.key(case_id, replay))
        need(found == expected, f"terminal record {i} is of another episode")
        need(body["started_at"] == self.intents[i]["at"], f"terminal record {i} did not start with its intent")
        path = body["trajectory"]
        if path.keys() == {"sha256", "size"}:
            name = path["sha256"]
            payload = self.get(f"objects/{name[:2]}/{name[2:]}") or b""
            need(name in self.objects and (digest(payload), len(payload)) == (name, path["size"]), "a damaged object")
            path = json.loads(payload)
        check_terminal(body, path, self.manifest, f"terminal record {i}")
        self.terminals[i] = h, body

    def report(self, _: str, body: Any) -> None:
        self.statement("report", body)
        need(self.changed <= body["log_n"] < self.n, "a report was stated from another part of the log")
        need(self.roots.get(body["log_n"], body["log_root"]) == body["log_root"], "a report is of another log")

    def gate(self, _: str, body: Any) -> None:
        self.statement("gate", body)

    def statement(self, kind: str, body: Any) -> None:
        need(body["ordinal"] > self.last[kind], f"{kind} ordinals do not grow")
        self.last[kind], name = body["ordinal"], f"{kind}s/{body['ordinal']}.json"
        need(digest(self.get(name) or b"") == body["sha256"], f"{name} is not the announced one")
        self.files[name] = body["sha256"]
        self.statements.append((kind, body, self.commitment()[1]))

    def close(self, _: str, body: Any) -> None:
        need(len(self.terminals) == len(self.order), "closed with slots left")
        self.closed = body

    def commitment(self) -> tuple[str, str]:
        tree = Tree()
        for h, _ in sorted(self.terminals.values(), key=lambda t: (t[1]["case_id"].encode(), t[1]["replay_index"])):
            tree.add(h)
        text = {"alg": "rfc6962-sha256", "episodes": tree.n, "plan": self.id, "root": tree.root(), "v": 1}
        return tree.root(), digest(canonical(text))

    def finish(self) -> dict[str, Any]:
        root, commitment = self.commitment()
        if self.closed is not None:
            stated = self.closed["episodes"], self.closed["episode_root"]
            need(stated == (len(self.terminals), root), "the close record states other episodes")
        for kind, body, then in self.statements:
            need(kind == "gate" or body["commitment"] == then, f"report {body['ordinal']} commits to other episodes")
        return {"episodes": len(self.terminals), "open": len(self.intents) - len(self.terminals),
                "episode_root": root, "commitment": commitment}  # fmt: skip


def schedule(plan: Any) -> list[tuple[str, int, str]]:
    """(case, replay, task) of every slot in the order in which they are sent."""
    cases, replays = sorted(plan["case_tasks"], key=str.encode), plan["replays"]
    need(plan["episodes_planned"] == len(cases) * replays, "episodes_planned is not cases times replays")
    mixed = Mixer(plan["seed"])
    if plan.get("schedule") == "blocks":
        drawn = mixed.shuffled(list(range(len(cases))))
        ranks = []
        for start in range(0, len(drawn), 20):
            ranks += mixed.shuffled([case * replays + r for case in drawn[start : start + 20] for r in range(replays)])
    else:
        ranks = mixed.shuffled(list(range(len(cases) * replays)))
    order = [(cases[rank // replays], rank % replays, plan["case_tasks"][cases[rank // replays]]) for rank in ranks]
    told = [{"case_id": case, "replay_index": replay, "task": task} for case, replay, task in order]
    need(digest(canonical(told)) == plan["schedule_sha256"], "the schedule is another")
    return order
