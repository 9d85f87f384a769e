"""An adapter file that knows only `from dfah import ...`; prints what a run of it gives, as one JSON document."""

import asyncio
import contextlib
import json
import sys

from dfah import (
    AgentResult,
    Case,
    Replay,
    Suite,
    ToolExecutionError,
    ToolRegistry,
    ToolSpec,
    Usage,
    WireRequest,
    agent,
    build_manifest,
)

PARAMETERS = {"temperature": 0, "top_p": 1.0, "seed": 11, "max_tokens": 64}
look = ToolSpec(
    name="look",
    description="Looks é up.",
    input_schema={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
)
weigh = ToolSpec(name="weigh", input_schema={"type": "object", "properties": {"x": {"type": "number"}}})
suite = Suite(
    suite_id="both",
    suite_version="2.1.0",
    decisions=("Keep", "DROP"),
    cases=tuple(
        Case(case_id=f"raw-{n}", artifact_case_id=f"P{n}", task=f"t{n % 3}", input={"n": n, "deep": [n, None, 1.5]})
        for n in range(9)
    ),
    tools=(weigh, look),
)
registry = ToolRegistry()


@registry.tool(look)
def looked(*, n):
    if n == 5:
        raise LookupError("nothing there")
    return {"n": n, "square": n * n}


@registry.tool(weigh)
async def weighed(*, x=1.0):
    await asyncio.sleep(0)
    return x


manifest = build_manifest(
    suite,
    provider="p",
    model="m",
    adapter="both",
    adapter_version="3",
    library_version="0.0.0",
    git_sha="1" * 40,
    implementation_hash="2" * 64,
    request_parameters=PARAMETERS,
)


@agent(manifest=manifest, tools=registry, suite=suite)
async def candidate(case, context):
    n, replay = case.input["n"], context.replay_index
    calls = [("look", {"n": n}), ("weigh", {"x": 0.5})]
    if n == 1 and replay == 1:
        calls.reverse()
    if n == 2 and replay == 2:
        calls.append(("look", {"n": n}))
    if n == 3 and replay == 0:
        calls[1] = ("weigh", {"x": 0.75})
    if n == 4 and replay == 0:
        calls = []
    with contextlib.suppress(ToolExecutionError):
        await asyncio.gather(*(context.tools.call(name, **arguments) for name, arguments in calls))
    label = "drop" if n == 6 and replay == 1 else "keep"
    return AgentResult(
        output_text="nothing" if n == 7 and replay == 0 else f"So.\nDECISION: {label}",
        trajectory=context.tools.trajectory(),
        wire_request=WireRequest.from_payload(
            provider="p",
            model="m",
            payload={"options": PARAMETERS, "n": n},
            parameters=PARAMETERS,
            parameter_paths={name: ("options", name) for name in PARAMETERS},
            adapter="both",
            adapter_version="3",
        ),
        usage=Usage(input_tokens=5, output_tokens=2),
        cost_usd=0.125,
    )


def value(found):
    return getattr(found, "value", found)


def main(out):
    report = Replay(suite=suite, replays=3, seed=5, out=out, concurrency=2).run(candidate)
    tar = report.tar
    return {
        "fixture": suite.fixture_hash,
        "tools": suite.tool_schema_hash,
        "manifest": manifest.hash,
        "plan": report.run_plan_sha256,
        "status": value(report.status),
        "dar": report.dar,
        "tar": [tar.seq, tar.bag, tar.set, tar.strong],
        "gap": report.gap,
        "flags": report.flags_per_100_cases,
        "sequence_flags": report.sequence_flags_per_100_cases,
        "cost": report.total_cost_usd,
        "reasons": sorted([reason.reason, reason.groups] for reason in report.ineligibility_reasons),
        "cases": sorted([case.case_id, case.dar, value(case.path_variation_kind)] for case in report.case_reports),
    }


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1]), sort_keys=True))
