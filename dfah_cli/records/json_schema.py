"""Draft 2020-12 schemas of tool arguments: checked once, matched in linear time, never fetched.

`pattern` runs on RE2: a pattern that could backtrack exponentially cannot stall a run, and one RE2 does not know
(look-around, back-references) is refused when the suite loads.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from dfah_cli.canonical import canonical_bytes, parse
from dfah_cli.errors import ValidationError

_BY_NAME = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_IN_LIST = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLE = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
           "unevaluatedItems", "unevaluatedProperties")  # fmt: skip


def check(schema: dict[str, Any], where: str) -> None:
    """Nothing, when the schema is valid, self-contained and linear.

    Raises: ValidationError naming the place and the keyword.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as problem:
        place = "".join(f"[{part!r}]" for part in problem.absolute_path)
        raise ValidationError(f"{where}{place}: not a valid Draft 2020-12 schema ({problem.validator})") from None
    except RecursionError:
        raise ValidationError(f"{where}: the schema is nested too deeply") from None
    subschemas = list(_subschemas(schema, schema, where))
    patterned = any("patternProperties" in one for one in subschemas)
    if patterned and any("unevaluatedProperties" in one for one in subschemas):
        raise ValidationError(f"{where}: patternProperties together with unevaluatedProperties is not supported")
    for one in subschemas:
        if "$id" in one and one is not schema:
            raise ValidationError(f"{where}: $id inside the schema is not supported; references start at its top")
        for pattern in [one["pattern"]] if "pattern" in one else []:
            _check_pattern(pattern, where)
        for pattern in one.get("patternProperties", {}):
            _check_pattern(pattern, where)


def _check_pattern(pattern: str, where: str) -> None:
    if _compiled(pattern) is None:
        raise ValidationError(
            f"{where}: a pattern cannot be matched in linear time (look-around or back-reference); rewrite it without"
        )


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error:
        return None


def _subschemas(root: dict[str, Any], schema: Any, where: str) -> Iterator[dict[str, Any]]:
    """Every subschema reachable by applicators and local references, each once."""
    stack, seen = [schema], set()
    while stack:
        one = stack.pop()
        if not isinstance(one, dict) or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        for keyword in ("$ref", "$dynamicRef"):
            if keyword in one:
                stack.append(_resolve(root, one[keyword], f"{where}: {keyword}"))
        for keyword in _BY_NAME:
            stack.extend(one.get(keyword, {}).values())
        for keyword in _IN_LIST:
            stack.extend(one.get(keyword, []))
        stack.extend(one[keyword] for keyword in _SINGLE if keyword in one)


def _resolve(root: dict[str, Any], reference: str, where: str) -> Any:
    if not reference.startswith("#"):
        raise ValidationError(f"{where}: points outside the schema itself; nothing is ever fetched, move it to $defs")
    target: Any = root
    for part in reference[1:].split("/")[1:] if reference != "#" else []:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(target, dict) and key in target:
            target = target[key]
        elif isinstance(target, list) and key.isdecimal() and int(key) < len(target):
            target = target[int(key)]
        else:
            raise ValidationError(f"{where}: points to a place that does not exist in the schema")
    if reference != "#" and not reference.startswith("#/"):
        raise ValidationError(f"{where}: named anchors are not supported; use a path such as #/$defs/name")
    return target


def first_problem(schema: dict[str, Any], value: Any) -> str | None:
    """Location and keyword of the first violation, without the value; None when the value is valid."""
    try:
        error = next(_validator(canonical_bytes(schema)).iter_errors(value), None)
    except (RecursionError, ArithmeticError, ValueError, TypeError) as problem:
        return f"the schema could not be evaluated ({type(problem).__name__})"
    if error is None:
        return None
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
    return f"{place or 'the arguments object'}: violates {error.validator}"


@lru_cache(maxsize=256)
def _validator(schema: bytes) -> Any:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend
    from referencing import Registry

    kind: Any = extend(  # type: ignore[no-untyped-call]
        Draft202012Validator,
        {"pattern": _pattern, "patternProperties": _pattern_properties, "additionalProperties": _additional},
    )
    return kind(parse(schema), registry=Registry())


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError as Violation

    if validator.is_type(instance, "string") and not _compiled(pattern).search(instance):
        yield Violation("does not match the pattern")


def _pattern_properties(validator: Any, patterns: dict[str, Any], instance: Any, schema: Any) -> Iterator[Any]:
    if validator.is_type(instance, "object"):
        for pattern, subschema in patterns.items():
            for key, item in instance.items():
                if _compiled(pattern).search(key):
                    yield from validator.descend(item, subschema, path=key, schema_path=pattern)


def _additional(validator: Any, allowed: Any, instance: Any, schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError as Violation

    if not validator.is_type(instance, "object"):
        return
    patterns = [_compiled(pattern) for pattern in schema.get("patternProperties", {})]
    named = schema.get("properties", {})
    for key in [k for k in instance if k not in named and not any(p.search(k) for p in patterns)]:
        if allowed is False:
            yield Violation("an undeclared property")
        elif isinstance(allowed, dict):
            yield from validator.descend(instance[key], allowed, path=key)
