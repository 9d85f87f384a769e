"""Numbers on the command line: what no record can hold is refused with the name of its option."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from dfah_cli.cli.main import COMMANDS, dfah


def numeric_options() -> Iterator[tuple[str, click.Option]]:
    for name in COMMANDS:
        command = dfah.get_command(click.Context(dfah), name)
        assert command is not None
        for parameter in command.params:
            if isinstance(parameter, click.Option) and parameter.type.name.split()[0] in ("integer", "float"):
                yield f"{name} {parameter.opts[0]}", parameter


OPTIONS = dict(numeric_options())


@pytest.mark.parametrize("named", OPTIONS)
def test_a_number_that_no_record_can_hold_is_refused_by_the_option(named: str) -> None:
    option = OPTIONS[named]
    wholes = ["9" * 26, "-" + "9" * 26, "1e309", "0x10", "2.5", "9" * 5000]
    values = wholes if option.type.name.startswith("integer") else ["-inf", "-1"]
    for value in ["nan", "inf", "1e309", "", *values]:
        with pytest.raises(click.BadParameter) as refused:
            option.type_cast_value(click.Context(dfah), value)
        assert option.opts[0] in refused.value.format_message()


def test_there_are_such_options() -> None:
    assert {"run --seed", "run --budget-usd", "watch --interval", "log --tail", "power --chance"} <= set(OPTIONS)
