"""What the adapter says it really sent, without the content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from attrs import field, frozen

from dfah_cli.canonical import copy_json, digest
from dfah_cli.errors import ValidationError
from dfah_cli.records import fields


def same_value(one: Any, other: Any) -> bool:
    """JSON equality in which 1 equals 1.0, and true equals only true."""
    if one is other:
        return True
    kind = type(one)
    if kind is type(other) and kind in _SCALARS:  # the usual case, without the abstract classes below
        return bool(one == other)
    if kind is dict and type(other) is dict:
        return one.keys() == other.keys() and all(map(same_value, one.values(), map(other.__getitem__, one)))
    if isinstance(one, bool) or isinstance(other, bool):
        return type(one) is type(other) and bool(one == other)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same_value(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same_value, one, other))
    return bool(one == other)


_SCALARS = frozenset({str, int, float, bool})


@frozen(kw_only=True)
class WireRequest:
    """The echo of one provider request: routing, attested parameters and the digest of the payload."""

    provider: str = field(validator=fields.public_name)
    model: str = field(validator=fields.public_name)
    endpoint: str | None = field(default=None, validator=fields.optional(fields.public_name))
    parameters: dict[str, Any] = field(factory=dict, converter=fields.to_json, validator=fields.public_json_map)
    parameters_attested: bool = field(default=False, validator=fields.flag)
    payload_hash: str = field(validator=fields.digest64)
    adapter: str = field(validator=fields.public_name)
    adapter_version: str | None = field(default=None, validator=fields.optional(fields.public_name))
    schema_version: str = field(default=fields.SCHEMA_VERSION, validator=fields.schema_version)

    @classmethod
    def from_payload(
        cls,
        *,
        provider: str,
        model: str,
        payload: Mapping[str, Any],
        parameters: Mapping[str, Any],
        parameter_paths: Mapping[str, Sequence[str | int] | str] | None = None,
        adapter: str,
        endpoint: str | None = None,
        adapter_version: str | None = None,
    ) -> WireRequest:
        """The echo of a payload, after checking that every declared parameter is really in it.

        parameter_paths: where a parameter lies in the payload (keys and indices, or one key) when it is not at the top.
        Raises: ValidationError (a ValueError) naming the parameter, never its value.
        """
        declared, sent = _object(parameters, "parameters"), _object(payload, "payload")
        paths = _paths(parameter_paths or {}, declared)
        for parameter, value in declared.items():
            found = _at(sent, paths.get(parameter, (parameter,)), parameter)
            if not same_value(found, value):
                raise ValidationError(f"parameter {parameter!r}: the payload sends another value than declared")
        return cls(
            provider=provider,
            model=model,
            endpoint=endpoint,
            parameters=declared,
            parameters_attested=True,
            payload_hash=_kept(sent),
            adapter=adapter,
            adapter_version=adapter_version,
        )


# Where a preflight collects payloads by digest, to explain how they differ; None everywhere else.
PAYLOADS: ContextVar[dict[str, dict[str, Any]] | None] = ContextVar("dfah_payloads", default=None)


def _kept(payload: dict[str, Any]) -> str:
    payload_hash, kept = digest(payload), PAYLOADS.get()
    if kept is not None:
        kept[payload_hash] = payload
    return payload_hash


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValidationError(f"{where}: found {fields.kind_of(value)}; expected an object")
    copied: dict[str, Any] = copy_json(value, where)
    return copied


def _paths(given: Any, declared: Mapping[str, Any]) -> dict[str, tuple[str | int, ...]]:
    if not isinstance(given, Mapping):
        raise ValidationError(f"parameter_paths: found {fields.kind_of(given)}; expected an object")
    paths: dict[str, tuple[str | int, ...]] = {}
    for parameter, place in given.items():
        if parameter not in declared:
            raise ValidationError(f"parameter_paths: {parameter!r} is not among the declared parameters")
        if not isinstance(place, str | list | tuple):
            raise ValidationError(
                f"parameter_paths: {parameter!r} has {fields.kind_of(place)}; expected a key, or keys and indices"
            )
        paths[parameter] = (place,) if isinstance(place, str) else tuple(place)
    return paths


def _at(payload: Any, path: tuple[str | int, ...], parameter: str) -> Any:
    for part in path:
        # Characters of a string can be indexed too, and are no parameters.
        holder: Any = payload if isinstance(payload, dict | list) else {}
        try:
            payload = holder[part]
        except (KeyError, IndexError, TypeError):
            raise ValidationError(f"parameter {parameter!r}: declared, but not in the payload") from None
    return payload


def parameters_digest(parameters: Mapping[str, Any]) -> str:
    """Digest of a parameter map; stands for the map in episode records."""
    return digest(dict(parameters))
