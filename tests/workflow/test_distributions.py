from __future__ import annotations

from pathlib import Path
from typing import Any

from dfah_cli.records.episode import Usage
from dfah_cli.workflow.distributions import distributions, document, facts, lines
from dfah_cli.workflow.replay import Replay
from tests.builders import a_registry, a_scripted_agent, a_suite


def recorded(out: Path, **changes: Any) -> None:
    async def script(case: Any, context: Any) -> Any:
        await context.tools.call("T")
        await context.tools.call("U")
        served = {"served_models": [f"model-{context.replay_index}"]}
        return agent.result(context, usage=Usage(provider_usage=served), **changes)

    suite = a_suite(("A",))
    agent = a_scripted_agent({"A": [script]}, suite=suite, tools=a_registry(suite))
    Replay(suite=suite, replays=2, out=out).run(agent)


def test_time_is_told_by_episode_model_and_tool_and_cost_where_there_is_one(out: Path) -> None:
    recorded(out, cost_usd=0.25)
    found = {(one.of, one.kind, one.name): one.histogram for one in distributions(out)}
    models = [("model", "model-0"), ("model", "model-1")]
    assert [key for key in found if key[0] == "cost_nusd"] == [
        ("cost_nusd", kind, name) for kind, name in (("episode", None), *models)
    ]
    assert [key for key in found if key[0] == "latency_us"] == [
        ("latency_us", kind, name) for kind, name in (("episode", None), *models, ("tool", "T"), ("tool", "U"))
    ]
    cost = found["cost_nusd", "episode", None]
    assert (cost.count, cost.total) == (2, 500_000_000)
    assert [(one.low, one.high, one.count) for one in cost.bins] == [(200_000_000, 500_000_000, 2)]


def test_no_cost_is_told_where_none_was(out: Path) -> None:
    recorded(out)
    found = distributions(out)
    assert {one.of for one in found} == {"latency_us"}
    assert [one["of"] for one in document(found)] == ["latency_us"] * len(found)
    assert any("(tool T): half below" in line for line in lines(found))
    assert [pairs["name"] for pairs in facts(found)][-1] == "U"
