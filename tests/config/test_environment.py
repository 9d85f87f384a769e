"""Operational keys may come from the environment; nothing else may."""

from __future__ import annotations

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given
from hypothesis import strategies as st

from dfah_cli.config.environment import environment_overrides, unread_variables
from dfah_cli.errors import ConfigurationError


def test_operational_keys_are_read_and_others_are_not() -> None:
    found = environment_overrides(
        {"DFAH_STORE": "s", "DFAH_CONCURRENCY": "4", "DFAH_REPLAYS": "9", "DFAH_PLAN": "only"}, []
    )
    assert sorted(found) == ["concurrency=4", "store='s'"]


def test_variables_that_are_not_read_are_named() -> None:
    environment = {"DFAH_GATE": "strict", "DFAH_REPLAYS": "9", "DFAH_STORE": "s", "DFAH_LIMIT": "", "DFAH_OTHER": "x"}
    assert unread_variables(environment) == ["DFAH_GATE", "DFAH_REPLAYS"]


def test_the_command_line_wins() -> None:
    assert environment_overrides({"DFAH_STORE": "s"}, ["store"]) == []


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("DFAH_CONCURRENCY", "many", "DFAH_CONCURRENCY: concurrency: 'many' is not an integer"),
        ("DFAH_MODE", "block", "did you mean 'blocking'?"),
        ("DFAH_RECOVER_STALE_LEASE", "yes", "recover_stale_lease: 'yes' is not true or false"),
    ],
)
def test_a_value_the_key_cannot_have_is_refused_by_its_variable(name: str, text: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        environment_overrides({name: text}, [])
    assert str(refusal.value).startswith(name)
    assert said in str(refusal.value)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=12))
def test_text_passes_through_the_override_grammar_unchanged(text: str) -> None:
    (override,) = environment_overrides({"DFAH_STORE": text}, [])
    assert OverridesParser.create().parse_override(override).value() == text
