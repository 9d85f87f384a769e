"""What all examples here share: a suite, its two tools, and a run against the demonstration provider."""

from dfah import Case, Replay, Suite, ToolSpec
from dfah.integrations import LoopbackProvider, Seeded

PROMPT = "Decide about the refund. End with the line DECISION: LABEL, where LABEL is one of: APPROVE, REJECT."
MODEL = "demo-model"
CUSTOMER = {
    "type": "object",
    "properties": {"customer": {"type": "string"}},
    "required": ["customer"],
    "additionalProperties": False,
}
suite = Suite(
    suite_id="refunds",
    suite_version="1.0.0",
    decisions=("approve", "reject"),
    cases=[
        Case(case_id=f"TICKET-{n}", artifact_case_id=f"CASE-{n}", input={"customer": f"C-{n}"}) for n in range(1, 5)
    ],
    tools=[
        ToolSpec(name="lookup_customer", description="Who it is.", input_schema=CUSTOMER),
        ToolSpec(name="read_policy", description="What is allowed.", input_schema=CUSTOMER),
    ],
)


def lookup_customer(customer: str) -> dict[str, str]:
    """Who it is."""
    return {"customer": customer, "tier": "gold"}


def read_policy(customer: str) -> str:
    """What is allowed."""
    return "refund within 30 days"


# Unstable on purpose; its seed makes every run of an example the same.
provider = LoopbackProvider(Seeded(flip_rate=0.1, order_swap_rate=0.2, parallel=True))


def show(agent, replays=5):
    """Runs the agent and prints what was measured."""
    out = f".dfah/runs/refunds-{agent.manifest.hash[:12]}"  # one directory for each experiment
    report = Replay(suite=suite, replays=replays, out=out, episode_timeout_s=60).run(agent)
    print(f"status {report.status}  DAR {report.dar:.2f}  TAR.seq {report.tar.seq:.2f}")
