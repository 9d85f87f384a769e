"""Values against the published schemas: every problem, with its place and the nearest right spelling.

Stricter than stock JSON Schema in one point: an integer is written without a point, so 3.0 and true are none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from attrs import frozen

from dfah_cli.errors import ValidationError
from dfah_cli.loading.schema_files import schema
from dfah_cli.loading.source import Document
from dfah_cli.loading.wording import did_you_mean, quoted

MAX_LINES = 50
TYPE_NAMES = {
    "integer": "an integer",
    "number": "a number",
    "string": "text",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "null",
}


@frozen
class Problem:
    """One thing wrong with a value.

    path: keys and indices that lead to it. of_key: whether the key is wrong rather than its value.
    """

    path: tuple[str | int, ...]
    message: str
    of_key: bool = False

    @property
    def dotted(self) -> str:
        """The path as it is written in an override: `gate.min_dar`, `by_task[0].task`."""
        parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.path)
        return "".join(parts).removeprefix(".")


def check_document(document: Document, kind: str) -> None:
    """Nothing, when the document is a valid file of its kind.

    Raises: ValidationError, one line for each problem, each with `file:line:column`.
    """
    # What a suite holds may be private, so its errors say what kind of value stands there, not which.
    found = problems(document.value, kind, show_values=kind != "suite")
    if found:
        raise ValidationError(lines(f"{located(document, problem)}" for problem in found))


def located(document: Document, problem: Problem) -> str:
    """`file:line:column: message` of one problem."""
    return f"{document.place(problem.path, of_key=problem.of_key)}: {problem.message}"


def lines(texts: Iterator[str] | list[str]) -> str:
    """The texts as lines; beyond MAX_LINES only their number."""
    every = list(texts)
    kept = every[:MAX_LINES]
    return "\n".join([*kept, f"… and {len(every) - MAX_LINES} more"] if len(every) > MAX_LINES else kept)


def problems(value: Any, kind: str, *, show_values: bool = True, lenient: bool = False) -> list[Problem]:
    """Everything wrong with a value of a file kind, sorted by place; empty when it is valid.

    lenient: for a part of a config. Required keys may be missing, and text with an interpolation may stand for
    anything, because both are known only after composing.
    """
    errors = _validator(kind).iter_errors(value)
    found = [problem for error in errors for problem in _problems(error, show_values, lenient)]
    return sorted(found, key=lambda problem: [(isinstance(part, str), part) for part in problem.path])


def _problems(error: Any, show_values: bool, lenient: bool) -> Iterator[Problem]:
    path = tuple(error.absolute_path)
    is_interpolated = isinstance(error.instance, str) and "${" in error.instance
    if lenient and (error.validator == "required" or is_interpolated):
        return
    if error.validator == "additionalProperties":
        known = list(error.schema.get("properties", {}))
        for key in [key for key in error.instance if key not in known]:
            yield Problem((*path, key), f"unknown key {quoted(key)}{did_you_mean(key, known)}", of_key=True)
    elif "propertyNames" in error.absolute_schema_path:
        yield Problem((*path, error.instance), f"{quoted(str(error.instance))} is no name of a suite", of_key=True)
    elif error.validator == "required":
        missing = next(key for key in error.validator_value if key not in error.instance and repr(key) in error.message)
        yield Problem(path, f"missing key {quoted(missing)}")
    else:
        yield Problem(path, f"{_named(path)}{_message(error, show_values)}")


def _named(path: tuple[str | int, ...]) -> str:
    keys = [part for part in path if isinstance(part, str)]
    return f"{keys[-1]}: " if keys else ""


def _message(error: Any, show_values: bool) -> str:
    # A whole file that is one text is another file than was meant, perhaps a secret one.
    shown = _shown(error.instance, show_values and bool(error.absolute_path))
    word = MESSAGES.get(error.validator)
    if "x-expected" in error.schema and error.validator != "type":
        return f"{shown} is not {error.schema['x-expected']}"
    return word(shown, error) if word is not None else f"{shown} breaks the rule {error.validator!r}"


def _types(_shown_value: str, error: Any) -> str:
    allowed = error.validator_value if isinstance(error.validator_value, list) else [error.validator_value]
    return f"{_shown_value} is not {' or '.join(TYPE_NAMES[name] for name in allowed)}"


def _choice(shown: str, error: Any) -> str:
    allowed = ["null" if item is None else str(item) for item in error.validator_value]
    hint = did_you_mean(error.instance, allowed) if isinstance(error.instance, str) else ""
    return f"{shown} is not one of {', '.join(allowed)}{hint}"


MESSAGES: dict[str, Callable[[str, Any], str]] = {
    "type": _types,
    "enum": _choice,
    "const": lambda shown, error: f"{shown} is not {error.validator_value!r}",
    "minimum": lambda shown, error: f"{shown} is less than {error.validator_value}",
    "maximum": lambda shown, error: f"{shown} is more than {error.validator_value}",
    "exclusiveMinimum": lambda shown, error: f"{shown} is not above {error.validator_value}",
    "minLength": lambda shown, error: "empty text; write something or leave the key out",
    "minItems": lambda shown, error: f"{len(error.instance)} items; at least {error.validator_value} are needed",
    "maxItems": lambda shown, error: f"{len(error.instance)} items; at most {error.validator_value} are allowed",
    "minProperties": lambda shown, error: "an empty mapping; at least one key is needed",
    "uniqueItems": lambda shown, error: "an item stands there twice",
}


def _shown(value: Any, show_values: bool) -> str:
    if isinstance(value, dict | list) or value is None or isinstance(value, bool):
        return {dict: "a mapping", list: "a list", type(None): "null", bool: str(value).lower()}[type(value)]
    if show_values:
        return quoted(value) if isinstance(value, str) else repr(value)
    return "this text" if isinstance(value, str) else "this number"


@cache
def _validator(kind: str) -> Any:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    types = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    strict: Any = extend(Draft202012Validator, type_checker=types)  # type: ignore[no-untyped-call]
    return strict(schema(kind))
