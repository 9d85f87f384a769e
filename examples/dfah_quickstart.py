"""A suite, a tool, an adapter and a replay in one file: `python examples/dfah_quickstart.py`.

The same agent on the command line: `dfah run --agent dfah_quickstart:my_agent --replays 3`, from this directory.
"""

import hashlib
from pathlib import Path

from dfah import (
    AgentResult,
    Case,
    Replay,
    Suite,
    ToolRegistry,
    ToolSpec,
    Usage,
    WireRequest,
    agent,
    build_manifest,
)

risk_tool = ToolSpec(
    name="read_risk_tier",
    input_schema={
        "type": "object",
        "properties": {"risk_tier": {"type": "string"}},
        "required": ["risk_tier"],
        "additionalProperties": False,
    },
)
suite = Suite(
    suite_id="toy-risk",
    suite_version="1.0.0",
    decisions=("escalate", "dismiss"),
    cases=(
        Case(case_id="RISK-001", artifact_case_id="CASE-001", input={"risk_tier": "high"}),
        Case(case_id="RISK-002", artifact_case_id="CASE-002", input={"risk_tier": "low"}),
    ),
    tools=(risk_tool,),
)
tools = ToolRegistry()


@tools.tool(risk_tool)
def read_risk_tier(*, risk_tier: str) -> str:
    return risk_tier


parameters = {"temperature": 0.0, "top_p": 1.0, "seed": 42}
implementation_hash = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
manifest = build_manifest(
    suite,
    provider="my-provider",
    model="my-model",
    adapter="my_project.adapter",
    adapter_version="1.0.0",
    implementation_hash=implementation_hash,
    request_parameters=parameters,
)


@agent(manifest=manifest, tools=tools, suite=suite)
async def my_agent(case, context):
    assert context.tools is not None
    risk = await context.tools.call("read_risk_tier", risk_tier=case.input["risk_tier"])
    label = "ESCALATE" if risk == "high" else "DISMISS"
    payload = {"model": "my-model", **parameters, "case_id": case.case_id}
    return AgentResult(
        output_text=f"DECISION: {label}",
        trajectory=context.tools.trajectory(),
        wire_request=WireRequest.from_payload(
            provider="my-provider",
            model="my-model",
            payload=payload,
            parameters=parameters,
            adapter="my_project.adapter",
            adapter_version="1.0.0",
        ),
        usage=Usage(input_tokens=0, output_tokens=0),
        cost_usd=0.0,
    )


if __name__ == "__main__":
    report = Replay(suite=suite, replays=3, out=".dfah/runs/toy-risk").run(my_agent)
    print(f"status {report.status}  DAR {report.dar}  TAR.seq {report.tar.seq}  gap {report.gap}")
