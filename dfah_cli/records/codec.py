"""Records to plain JSON values and back; the one converter."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin

import attrs

from dfah_cli.canonical import JSONValue
from dfah_cli.errors import ValidationError

if TYPE_CHECKING:
    from cattrs import Converter

R = TypeVar("R")


def plain(record: Any) -> JSONValue:
    """A record as a JSON value: all fields, nulls and defaults included, tuples as lists, enums as values.

    A field that came later (`fields.LATE`) stands there only when it is not its default, so that what does not use it
    keeps its digest.
    """
    kind = type(record)
    if kind in _SCALARS:
        return record
    names = _field_names(kind)  # type: ignore[arg-type]  # a class is hashable
    if names is not None:
        left_out = [name for name, usual in _late_fields(kind) if getattr(record, name) == usual]  # type: ignore[arg-type]
        return {name: plain(getattr(record, name)) for name in names if name not in left_out}
    if isinstance(record, Enum):
        return record.value
    if isinstance(record, datetime):
        return record.isoformat()
    if isinstance(record, list | tuple):
        return [plain(item) for item in record]
    if isinstance(record, Mapping):
        return {key: plain(item) for key, item in record.items()}
    return record


_SCALARS = frozenset({str, int, float, bool, type(None)})


@cache
def _field_names(kind: type) -> tuple[str, ...] | None:
    """Names of the constructor's fields; None for a class that is no record."""
    return tuple(a.name for a in attrs.fields(kind) if a.init) if attrs.has(kind) else None


@cache
def _late_fields(kind: type) -> tuple[tuple[str, Any], ...]:
    """Names and defaults of the fields that are left out at their default."""
    return tuple((a.name, a.default) for a in attrs.fields(kind) if a.metadata.get("late"))


@cache
def _converter() -> Converter:
    # Only what reads records back needs cattrs; a plan is shown without it.
    from cattrs import Converter

    converter = Converter(forbid_extra_keys=True, detailed_validation=False)
    # The constructors validate; the converter must not coerce before them.
    for kind in (str, int, float, bool):
        converter.register_structure_hook(kind, lambda value, _: value)
    converter.register_structure_hook(datetime, lambda value, _: _moment(value))
    converter.register_structure_hook_func(
        lambda kind: isinstance(kind, type) and issubclass(kind, Enum), lambda value, _: value
    )
    converter.register_structure_hook_factory(attrs.has, lambda kind: _structure(kind, converter))
    converter.register_structure_hook_factory(_is_array, lambda kind: _items(kind, converter))
    return converter


def _is_array(kind: Any) -> bool:
    origin: Any = get_origin(kind)
    return origin is tuple


def _items(kind: Any, converter: Converter) -> Any:
    """Structures the items of an array; what is none is left for the constructor to refuse, a string above all."""
    (each, _) = get_args(kind)

    def structure(value: Any, _: Any) -> Any:
        return tuple(converter.structure(one, each) for one in value) if isinstance(value, list | tuple) else value

    return structure


def _structure(kind: Any, converter: Converter) -> Any:
    from cattrs.gen import make_dict_structure_fn

    attrs.resolve_types(kind, include_extras=True)
    return make_dict_structure_fn(kind, converter, _cattrs_forbid_extra_keys=True, _cattrs_detailed_validation=False)


def _moment(value: Any) -> Any:
    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise ValidationError("found no ISO 8601 time; expected one such as 2026-01-31T09:00:00+00:00") from None


def record(kind: type[R], value: JSONValue) -> R:
    """A record of `kind` from its plain form; unknown and missing keys are refused.

    Raises: ValidationError naming the record and the key.
    """
    from cattrs.errors import BaseValidationError, ForbiddenExtraKeysError

    if not isinstance(value, Mapping):
        raise ValidationError(f"{kind.__name__}: found {type(value).__name__}; expected an object")
    try:
        return _converter().structure(value, kind)
    except ValidationError:
        raise
    except ForbiddenExtraKeysError as problem:
        names = sorted(map(str, problem.extra_fields))
        raise ValidationError(
            f"{kind.__name__}: unknown keys {names}; a later version of dfah-cli may know them"
        ) from None
    except KeyError as problem:
        raise ValidationError(f"{kind.__name__}: missing key {problem.args[0]!r}") from None
    except (BaseValidationError, TypeError, ValueError, AttributeError) as problem:
        raise ValidationError(f"{kind.__name__}: a value has the wrong shape ({type(problem).__name__})") from None
