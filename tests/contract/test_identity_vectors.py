"""Equal suites, manifests, schedules and calls have equal digests in every implementation of the contract.

The vectors are data: whoever computes them in another language must come to the same digits.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dfah import Case, Replay, Suite, ToolSpec, build_manifest
from dfah_cli.canonical import digest
from dfah_cli.planning.plan import Design, default_directory_name, make_plan
from dfah_cli.planning.selection import sample
from dfah_cli.records.manifest import Manifest
from dfah_cli.records.policy import GatePolicy
from dfah_cli.records.run_plan import episode_key, idempotency_key
from tests.builders import a_case, a_scripted_agent, replayed

PARAMETERS = {"temperature": 0.0, "top_p": 1, "seed": 7, "max_tokens": 10}
SCHEMA = {
    "type": "object",
    "properties": {"k": {"type": "string"}},
    "required": ["k"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def suite() -> Suite:
    return Suite(
        suite_id="vec",
        suite_version="1.2.3",
        decisions=("Yes", "NO"),
        cases=(
            Case(case_id="A", input={"b": 1, "a": [True, None, 1.5, "é"]}),
            Case(case_id="B", artifact_case_id="P-B", input="x", task="t2", metadata={"m": 1}),
        ),
        tools=(
            ToolSpec(name="look", description="d", input_schema=SCHEMA),
            ToolSpec(name="abc", input_schema={"type": "object"}),
        ),
    )


def manifest_of(suite: Suite, **parameters: Any) -> Manifest:
    return build_manifest(
        suite,
        provider="p",
        model="m",
        adapter="ad",
        adapter_version="1",
        library_version="0.0.0",
        git_sha="0" * 40,
        implementation_hash="f" * 64,
        request_parameters={**PARAMETERS, **parameters},
    )


def test_fixture_hash(suite: Suite) -> None:
    assert suite.fixture_hash == "89ec652ca571ffade582a6664d8458133027cb418cf0040334b848f591ad7eff"


def test_tool_schema_hash(suite: Suite) -> None:
    assert suite.tool_schema_hash == "bbe84cc948b7ec7ca478828594e6e8f9562b1f0d6c4b13b17c77048e9bb270cf"


def test_tool_schema_hash_of_no_tools() -> None:
    bare = Suite(suite_id="s", suite_version="1.0.0", decisions=("a", "b"), cases=(a_case(),))
    assert bare.tool_schema_hash == "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"


def test_manifest_hash_and_that_zero_is_spelled_two_ways(suite: Suite) -> None:
    assert manifest_of(suite).hash == "197da79028a60040b71d459d5d52521bcfaf35bd3137fffb626d7676d9946679"
    assert manifest_of(suite, temperature=0).hash == "287958f9ac4ee6304ca3381f05426bce3539b9d1477a7dc552eabb1dcb1c4125"


def test_schedule_and_run_plan(suite: Suite) -> None:
    planned = make_plan(suite, manifest_of(suite), Design(replays=3, seed=42))
    order = [f"{slot.case_id}/{slot.replay_index}" for slot in planned.schedule]
    assert order == ["P-B/0", "A/1", "A/2", "P-B/1", "A/0", "P-B/2"]
    plan = planned.plan
    assert plan.schedule_sha256 == "7ba220baa4fb530db6f2f7439899ead3f511f39dac42544929132662d2765d49"
    assert plan.sha256 == "6f23e6430ace56cac589009ed82e2bb54d2151f4a1e64cfd39a4ec288770d171"


def test_default_run_directory(suite: Suite) -> None:
    assert default_directory_name(manifest_of(suite), Design()) == "vec-18d3adc754ff"
    assert Replay(suite=suite).output_path(manifest_of(suite)) == Path(".dfah/runs/vec-18d3adc754ff")


def test_episode_and_idempotency_keys(suite: Suite) -> None:
    manifest_hash = manifest_of(suite).hash
    assert episode_key(manifest_hash, "A", 0) == "90745d6e07dcd3995a1a72cf32dcb4a0d8f5e90f3c070695ede356015aad709e"
    assert idempotency_key(manifest_hash, "A", 0) == "4ff651d96c9043e6a0f2034401dbd3d7db02b8f68c5eb7ed8389754de062d976"


@pytest.mark.parametrize(
    ("value", "hexadecimal"),
    [
        ({}, "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"),
        ({"k": "v"}, "666c1aa02e8068c6d5cc1d3295009432c16790bec28ec8ce119d0d1a18d61319"),
        ("x", "ba2df4903a2c14e86dc3bcca58911b44ac1d2514b7227bf6eb08cfb978f55a1b"),
        (None, "74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b"),
        ({"k": "é", "n": 1.0, "m": 1, "b": True}, "681c8dd794d6fa3c59a6ebadab62516d5cec6eee351ba1edb59e0e9a497a82a2"),
    ],
)
def test_digests_of_values(value: Any, hexadecimal: str) -> None:
    assert digest(value) == hexadecimal


def test_hashes_of_the_demonstration_suite() -> None:
    from dfah.demo import toy_suite

    assert toy_suite.fixture_hash == "a343b1e3594c6773e4aa7a343351cf700b03d6aea8aa0f54f09c7546dd4a86b5"
    assert toy_suite.tool_schema_hash == "2d80f086fe26d64fa12cad6dea1753a1dddc3dcb77bf999b0ebd3572148dda2d"


@pytest.mark.parametrize(("rate", "drawn"), [(0.1, "1"), (0.25, "01"), (0.5, "01469"), (1.0, "0123456789")])
def test_sampling(rate: float, drawn: str) -> None:
    cases = [a_case(f"C{index}") for index in range(10)]
    assert [case.case_id for case in sample(cases, rate, 42)] == [f"C{digit}" for digit in drawn]


def test_policy_digest() -> None:
    assert GatePolicy(min_dar=0.9).sha256 == "398a8aa7c1d83998977b89e2b0430e9b786d51019f51c928da45f18133a79da5"


def test_a_selection_enters_an_identity_only_where_there_is_one(suite: Suite) -> None:
    manifest = manifest_of(suite)
    names = {default_directory_name(manifest, Design(**d)) for d in ({}, {"limit": 1}, {"limit": 2}, {"only": ("A",)})}
    assert len(names) == 4
    whole, cut = (make_plan(suite, manifest, Design(limit=limit)).plan.sha256 for limit in (None, 1))
    assert whole != cut


def test_argument_output_and_payload_hashes_of_a_recorded_episode(in_memory: Any) -> None:
    agent = a_scripted_agent({"A": [("Y", "T k=x")]})
    replayed(agent, "run")
    body = next(b for _, b in in_memory["run"].open_reader().records() if b["t"] == "episode")
    plain_call, called = body["trajectory"]["calls"]
    assert (plain_call["arguments_hash"], called["arguments_hash"]) == (digest({}), digest({"x": "x"}))
    assert plain_call["output_hash"] == called["output_hash"] == digest("ok")
    assert body["wire_request"]["payload_hash"] == digest({**agent.manifest.request_parameters, "case": "A"})
    key = episode_key(agent.manifest.hash, "A", body["replay_index"])
    assert body["k"] == key
    assert [call["call_id"] for call in body["trajectory"]["calls"]] == [f"{key[:32]}-0000", f"{key[:32]}-0001"]
