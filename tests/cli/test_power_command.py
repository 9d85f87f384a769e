from __future__ import annotations

import json

import click
import pytest
from click.testing import CliRunner, Result

from dfah_cli.cli.commands.power import power
from dfah_cli.errors import ConfigurationError
from dfah_cli.workflow.power import PilotFacts, Wish, plans


def ran(*arguments: str) -> Result:
    return CliRunner().invoke(power, list(arguments), standalone_mode=False)


def test_a_plan_is_told_in_one_sentence() -> None:
    found = ran("--max-flag-rate", "0.05", "--expect", "0.01").stdout
    assert found == (
        "124 cases × 3 replays = 372 calls: at most 2 flags show a flag rate below 5.00 per 100 (95 % confidence); "
        "passes 87 % of agents with a true rate of 1.0 per 100, 5.0 % of agents at the limit\n"
    )


def test_a_confidence_is_not_rounded_to_certainty() -> None:
    assert "(99.5 % confidence)" in ran("--budget-calls", "600", "--confidence", "0.995").stdout


def test_without_an_expectation_the_choices_are_shown() -> None:
    rows = json.loads(ran("--max-flag-rate", "0.05", "--json").stdout)["plans"]
    assert [(row["cases"], row["allowed"]) for row in rows] == [(59, 0), (93, 1), (124, 2), (153, 3)]
    assert all(row["chance_at_limit"] <= 0.05 for row in rows)


def test_a_budget_says_what_it_can_show() -> None:
    rows = plans(Wish(budget_calls=150))
    assert (rows[0]["cases"], rows[0]["calls"]) == (50, 150)
    assert rows[0]["certifies"] == pytest.approx(0.058155079, abs=1e-9)
    with pytest.raises(ConfigurationError, match="one case"):
        plans(Wish(budget_calls=2))


def test_a_pilot_gives_expectation_and_money() -> None:
    (row,) = plans(Wish(max_flag_rate=0.1), PilotFacts(flag_rate=0.02, cost_nusd_per_call=5_000_000.0))
    assert (row["cases"], row["allowed"], row["cost_usd"]) == (61, 2, pytest.approx(183 * 0.005))


def test_nothing_wanted_is_a_usage_error() -> None:
    assert isinstance(ran().exception, click.UsageError)
