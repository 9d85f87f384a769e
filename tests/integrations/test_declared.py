"""A declaration is read strictly, and only what changes the experiment changes its identity."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dfah_cli.errors import ConfigurationError, OptionalDependencyError
from dfah_cli.integrations.declaration import KINDS, prompt_of
from dfah_cli.integrations.declared import agent_from_mapping, declaration_of
from dfah_cli.records.suite import Suite
from tests.integrations.build import SUITE

PROCESS = {"kind": "process", "model": "m", "command": ["agent"], "tools": "tests.integrations.build:TOOLS"}


def manifest_hash(**changes: Any) -> str:
    return agent_from_mapping({**PROCESS, **changes}, SUITE).manifest.hash


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "opnai"}, r"adapter\.kind: found 'opnai'; expected one of openai"),
        ({"modle": "x"}, "unknown key 'modle'; did you mean 'model'"),
        ({"max_turns": 0}, r"max_turns"),
        ({"parameters": {"key": "sk-proj-" + "a" * 30}}, "shaped like a credential"),
        ({"base_url": "https://me:hunter2@host/v1"}, "shaped like a credential"),
        ({"tools": None}, r"adapter\.tools: missing, and suite refunds has the tools lookup_customer, read_policy"),
        ({"tools": "nowhere:TOOLS"}, r"adapter\.tools: nowhere:TOOLS: no module named 'nowhere'"),
        ({"tools": {"lookup_customer": "tests.integrations.build:lookup_customer"}}, "missing: read_policy"),
        ({"tools": 3}, r"adapter\.tools: expected pkg\.module:name"),
        ({"command": []}, r"adapter\.command: missing"),
        ({"prompt": "nowhere.txt"}, r"adapter\.prompt: nowhere\.txt cannot be read"),
        ({"api": "soap"}, "api"),
        ({"requests_per_minute": 0}, "requests_per_minute"),
    ],
)
def test_a_wrong_declaration_is_refused_naming_the_key(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        agent_from_mapping({**PROCESS, **changes}, SUITE)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("missing", ["kind", "model"])
def test_a_missing_key_is_named(missing: str) -> None:
    with pytest.raises(ConfigurationError, match=f"missing key '{missing}'"):
        declaration_of({key: value for key, value in PROCESS.items() if key != missing})


@pytest.mark.parametrize(
    ("changes", "is_identity"),
    [
        ({"model": "other"}, True),
        ({"command": ["agent", "-v"]}, True),
        ({"parameters": {"temperature": 0.5}}, True),
        ({"max_turns": 7}, True),
        ({"stream": True}, True),
        ({"provider": "acme"}, True),
        ({"api_key_env": "ACME_KEY"}, False),
        ({"max_retries": 9}, False),
        ({"request_timeout_s": 5}, False),
        ({"requests_per_minute": 60}, False),
        ({"prices": {"input": 3.0}}, False),
    ],
)
def test_what_changes_the_experiment_changes_its_identity(changes: dict[str, Any], is_identity: bool) -> None:
    assert (manifest_hash(**changes) != manifest_hash()) is is_identity


def test_the_prompt_is_part_of_the_identity_by_its_text(tmp_path: Path) -> None:
    first, same, other = (tmp_path / name for name in ("a.txt", "b.txt", "c.txt"))
    first.write_text("Decide.")
    same.write_text("Decide.")
    other.write_text("Decide well.")
    hashes = [manifest_hash(prompt=str(place)) for place in (first, other)]
    assert hashes[0] != hashes[1]
    assert "Decide" not in str(agent_from_mapping({**PROCESS, "prompt": str(first)}, SUITE).manifest)


def test_a_prompt_always_says_how_to_decide(tmp_path: Path) -> None:
    place = tmp_path / "prompt.txt"
    place.write_text("Be brief. It costs $5.")
    text = prompt_of(declaration_of({**PROCESS, "prompt": str(place)}), SUITE)
    assert text.startswith("Be brief. It costs $5.")
    assert text.endswith("DECISION: LABEL\nwhere LABEL is one of: APPROVE, REJECT.")
    place.write_text("Say DECISION: one of $labels")
    assert prompt_of(declaration_of({**PROCESS, "prompt": str(place)}), SUITE) == "Say DECISION: one of APPROVE, REJECT"


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"http", "process"}))
def test_a_missing_sdk_is_named_with_the_command_that_installs_it(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    blocked = ("openai", "anthropic", "langgraph", "pydantic_ai", "agents")
    for name in [name for name in sys.modules if name.partition(".")[0] in blocked]:
        monkeypatch.delitem(sys.modules, name)

    class Blocker:
        @staticmethod
        def find_spec(name: str, *_: Any) -> Any:
            if name.partition(".")[0] in blocked:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(sys, "meta_path", [Blocker, *sys.meta_path])
    with pytest.raises(OptionalDependencyError, match=r"pip install 'dfah-cli\[[a-z-]+\]'"):
        agent_from_mapping({"kind": kind, "model": "m", "tools": "tests.integrations.build:TOOLS"}, SUITE)


def test_a_suite_without_tools_needs_none() -> None:
    suite = Suite(suite_id="s", suite_version="1.0.0", decisions=("a", "b"), cases=SUITE.cases)
    agent = agent_from_mapping({"kind": "process", "model": "m", "command": ["agent"]}, suite)
    assert agent.tools is None
