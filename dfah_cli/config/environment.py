"""Operational keys from `DFAH_<KEY>` variables. Pure.

Identity and policy are never read from the environment: a plan must not depend on the machine it is made on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from hydra.core.override_parser.types import Quote, QuotedString

from dfah_cli.errors import ConfigurationError
from dfah_cli.loading.schema_files import properties
from dfah_cli.loading.validate import lines, problems

SECRET = frozenset({"lease_token"})
# What is no key of a run config, but a group of them or an option of the other commands.
OTHERS = ("policy", "replay")


def environment_overrides(environment: Mapping[str, str], given: Iterable[str]) -> list[str]:
    """The overrides that variables ask for, except for keys that are given already.

    Raises: ConfigurationError naming each variable whose value the key cannot have.
    """
    taken = set(given)
    refusals: list[str] = []
    found: list[str] = []
    for key, schema in properties("run").items():
        text = environment.get(variable(key), "")
        if schema.get("x-dfah-class") != "operational" or key == "plan" or key in taken or not text:
            continue
        value = _typed(text, schema)
        wrong = problems({key: value}, "run", lenient=True, show_values=key not in SECRET)
        refusals += [f"{variable(key)}: {problem.message}" for problem in wrong]
        found.append(f"{key}={_written(value)}")
    if refusals:
        raise ConfigurationError(lines(refusals))
    return found


def unread_variables(environment: Mapping[str, str]) -> list[str]:
    """The variables that are set for a key or a group which is never read from the environment.

    The other commands read some of them, and a gate that is silently not applied passes everything.
    """
    keys = properties("run")
    unread = [key for key, schema in keys.items() if schema.get("x-dfah-class") != "operational" or key == "plan"]
    return [name for name in map(variable, sorted({*unread, *OTHERS})) if environment.get(name)]


def variable(key: str) -> str:
    """The variable of a key."""
    return f"DFAH_{key.upper()}"


def _typed(text: str, schema: Mapping[str, Any]) -> Any:
    """The text as the kind of value the key takes; text that is none of it stays text, and is refused as such."""
    kinds = schema.get("type", "string")
    if "string" in kinds or "enum" in schema:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _written(value: Any) -> str:
    """The value in the grammar of overrides."""
    return QuotedString(value, Quote.single).with_quotes() if isinstance(value, str) else json.dumps(value)
