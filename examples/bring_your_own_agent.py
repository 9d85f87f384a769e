"""An agent of one's own, in 30 lines: `dfah check-agent --agent bring_your_own_agent:my_agent --suite toy-risk`."""

import hashlib
from pathlib import Path

from dfah import AgentResult, Suite, ToolRegistry, WireRequest, agent, build_manifest

suite = Suite.load("toy-risk")  # or the path of your own suite.yaml
tools = ToolRegistry()
tools.register(suite.tools[0], lambda risk_tier: risk_tier)  # your function behind each tool of the suite

ROUTE = {"provider": "my-provider", "model": "my-model", "adapter": "my_project"}
PARAMETERS = {"temperature": 0.0, "seed": 42}
code = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
manifest = build_manifest(suite, **ROUTE, implementation_hash=code, request_parameters=PARAMETERS)


def call_provider(payload, risk):  # your provider's client
    return "ESCALATE" if risk == "high" else "DISMISS"


@agent(manifest=manifest, tools=tools, suite=suite)
def my_agent(case, context):  # async works as well; then `await context.tools.call(...)`
    risk = context.tools.call_sync("read_risk_tier", risk_tier=case.input["risk_tier"])
    payload = {"model": "my-model", **PARAMETERS, "messages": [{"role": "user", "content": f"Risk is {risk}."}]}
    answer = call_provider(payload, risk)
    wire = WireRequest.from_payload(**ROUTE, payload=payload, parameters=PARAMETERS)
    return AgentResult(output_text=f"DECISION: {answer}", trajectory=context.tools.trajectory(), wire_request=wire)
