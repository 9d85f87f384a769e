"""The overrides of a command line, checked before anything is composed: every problem at once, one line each.

Hydra would take an unknown key for a typo of its own, stop at the first, and let `replay=3` through as a choice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, OverrideType, ValueType
from hydra.errors import HydraException

from dfah_cli.config.groups import GROUPS, lookup
from dfah_cli.errors import ConfigurationError
from dfah_cli.loading import resources
from dfah_cli.loading.schema_files import properties
from dfah_cli.loading.validate import lines, problems
from dfah_cli.loading.wording import did_you_mean, escaped, quoted

# Mappings whose keys are the user's own; an override may add to them.
OPEN_KEYS = (
    *("adapter.", "agent.", "manifest.request_parameters."),
    *("engine.resources_per_episode.", "engine.runtime_env."),
)
LAUNCHING = ("hydra/launcher", "hydra.launcher.", "hydra/sweeper", "hydra.sweeper.")
# What people write who know `dfah run` or other tools, and no spelling comparison would find.
OTHER_WORDS = {
    "policy": "gate",
    "budget": "budget_usd",
    "timeout": "episode_timeout_s",
    "cases": "case",
    "threads": "concurrency",
    "jobs": "concurrency",
    "model": "manifest.model",
    "runs": "replays",
    "n": "replays",
}


def check_overrides(texts: list[str], *, sweep: bool) -> list[Override]:
    """The parsed overrides, when every one of them can be obeyed.

    Raises: ConfigurationError, one line for each problem.
    """
    parser = OverridesParser.create()
    parsed: list[Override] = []
    refusals: list[str] = []
    for text in texts:
        try:
            override = parser.parse_override(text)
        except HydraException:
            refusals.append(f"{_place(text)}: {_unreadable(text)}")
            continue
        parsed.append(override)
        refusals.extend(_refusals(parser, text, override, sweep))
    refusals.extend(_repeated(texts, parsed))
    if refusals:
        raise ConfigurationError(lines(refusals))
    return parsed


def for_hydra(override: Override) -> str:
    """The override as Hydra is given it: keys of open mappings are added where they are missing."""
    text = override.input_line or ""
    return f"++{text}" if override.type is OverrideType.CHANGE and _is_open(override.key_or_group) else text


def _is_open(key: str) -> bool:
    """Whether it is an open mapping, or a key in one."""
    return f"{key}.".startswith(OPEN_KEYS)


def alternatives(override: Override) -> list[str]:
    """The single overrides that one override of a sweep stands for."""
    if not override.is_sweep_override():
        return [for_hydra(override)]
    prefix = "++" if _is_open(override.key_or_group) else ""
    if override.value_type is ValueType.GLOB_CHOICE_SWEEP:
        names: Any = override.value()
        values = names.filter(resources.available(lookup(override.key_or_group)))
    else:
        values = list(override.sweep_string_iterator())
    return [f"{prefix}{override.key_or_group}={value}" for value in values]


def _place(text: str) -> str:
    return f"command line ({escaped(text)})"


def _unreadable(text: str) -> str:
    if "=" not in text:
        known = text in _known_keys()
        return f"no value; write {text}=VALUE" if known else f"not a key=value{did_you_mean(text, _known_keys())}"
    return "cannot be read; put text with blanks or special characters in quotes, as in key='\"a b\"'"


def _refusals(parser: OverridesParser, text: str, override: Override, sweep: bool) -> Iterator[str]:
    reason = _form_refusal(override, sweep)
    if reason is not None:
        yield f"{_place(text)}: {reason}"
        return
    if override.key_or_group.startswith(LAUNCHING):
        return
    key = override.key_or_group
    if key in GROUPS:
        yield from _choice_refusals(parser, text, override)
    elif _schema_of(key) is None and not key.startswith(OPEN_KEYS):
        yield f"{_place(text)}: {_unknown(key)}"
    else:
        yield from _value_refusals(parser, text, override)


def _form_refusal(override: Override, sweep: bool) -> str | None:
    """What is wrong with an override whatever its value is."""
    key = override.key_or_group
    if override.is_delete():
        return f"a key cannot be deleted; write {key.partition('=')[0]}=null"
    if key.startswith(LAUNCHING):
        return None if sweep else "launchers and sweepers work in a sweep only; add -m"
    if key == "hydra" or override.is_hydra_override():
        return "settings of Hydra itself are fixed, but for hydra/launcher and hydra.launcher.*"
    if override.package is not None:
        return "the place of a group is fixed; leave out '@…'"
    if override.value_type is ValueType.INTERVAL_SWEEP:
        return "an interval has no single values; write range(…), or values joined by commas"
    if override.value_type is ValueType.GLOB_CHOICE_SWEEP and key not in GROUPS:
        return f"glob(…) chooses among the options of a group; {quoted(key)} is none"
    if override.is_sweep_override() and not sweep:
        return "several values are a sweep; add -m, or write one value"
    if override.is_add() and (key in GROUPS or _schema_of(key) is not None):
        return "a key is never added; leave out '+'"
    return None


def _unknown(key: str) -> str:
    head, _, _ = key.partition(".")
    other = OTHER_WORDS.get(head)
    if other is not None:
        return f"unknown key {quoted(key)}; did you mean {quoted(other)}?"
    if "/" in key:
        return f"no group named {quoted(key)}; the groups are {', '.join(GROUPS)}"
    return f"unknown key {quoted(key)}{did_you_mean(key, _known_keys())}"


def _known_keys() -> list[str]:
    """Every key and group a command line can set, nested keys dotted."""
    nested = [f"{name}.{inner}" for name, key in properties("run").items() for inner in key.get("properties", {})]
    return [*properties("run"), *(group for group in GROUPS if group not in properties("run")), *nested]


def _schema_of(key: str) -> dict[str, Any] | None:
    schema: Any = {"properties": properties("run")}
    for part in key.split("."):
        schema = schema.get("properties", {}).get(part)
        if schema is None:
            return None
    assert isinstance(schema, dict)
    return schema


def _single_values(parser: OverridesParser, override: Override) -> Iterator[tuple[str, Any]]:
    """The values an override stands for, each with its own text."""
    for text in alternatives(override):
        yield text.removeprefix("++"), parser.parse_override(text).value()


def _choice_refusals(parser: OverridesParser, text: str, override: Override) -> Iterator[str]:
    group = override.key_or_group
    kind = lookup(group)
    for _, value in _single_values(parser, override):
        names = value if isinstance(value, list) and group == "report" else [value]
        for name in names:
            yield from _name_refusals(group, kind, name, text)


def _name_refusals(group: str, kind: str, name: Any, text: str) -> Iterator[str]:
    if not isinstance(name, str):
        hint = did_you_mean(group, [key for key in properties("run") if key not in GROUPS])
        options = f" (options: {', '.join(resources.available(kind))})" if not hint else ""
        yield f"{quoted(group)} is a config group, not a value: {quoted(text)}{hint}{options}"
        return
    try:
        resources.find(kind, name, group)
    except ConfigurationError as refusal:
        yield str(refusal)


def _value_refusals(parser: OverridesParser, text: str, override: Override) -> Iterator[str]:
    for _, value in _single_values(parser, override):
        nested: Any = value
        for part in reversed(override.key_or_group.split(".")):
            nested = {part: nested}
        for problem in problems(nested, "run", lenient=True):
            yield f"{_place(text)}: {problem.message}{_meant(override.key_or_group, value, problem.message)}"


def _meant(key: str, value: Any, message: str) -> str:
    """What to write when a value of the wrong type shows what was meant."""
    if key == "agent" and isinstance(value, str):
        return f"; did you mean adapter={escaped(value)}?"
    is_scalar = isinstance(value, int | float) and not isinstance(value, str)
    return f"; for text write '\"{value}\"'" if is_scalar and "is not text" in message else ""


def _repeated(texts: list[str], parsed: list[Override]) -> Iterator[str]:
    keys = Counter(override.key_or_group for override in parsed)
    for key, times in keys.items():
        if times > 1:
            yield f"command line: {quoted(key)} is set {times} times; write it once"
