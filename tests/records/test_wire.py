"""What an adapter says it sent: attested against the payload, compared with the manifest field by field."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from dfah_cli.canonical import digest
from dfah_cli.errors import ValidationError
from dfah_cli.records.wire import WireRequest, same_value
from tests.builders import a_manifest, a_wire

ROUTE = {"provider": "p", "model": "m", "adapter": "ad"}


def sent(payload: Any, parameters: Any, paths: Any = None) -> WireRequest:
    return WireRequest.from_payload(payload=payload, parameters=parameters, parameter_paths=paths, **ROUTE)


def test_an_echo_is_attested_and_hashes_the_whole_payload() -> None:
    payload = {"temperature": 0.0, "messages": ["é"]}
    echo = sent(payload, {"temperature": 0.0})
    assert (echo.parameters_attested, echo.payload_hash) == (True, digest(payload))
    assert echo.parameters == {"temperature": 0.0}


@pytest.mark.parametrize(
    ("payload", "parameters", "paths"),
    [
        ({"a": 1}, {"a": 1}, None),
        ({"a": 1.0}, {"a": 1}, None),
        ({"a": 0}, {"a": 0.0}, None),
        ({"a": None}, {"a": None}, None),
        ({"a": [1, {"b": 2}]}, {"a": [1.0, {"b": 2.0}]}, None),
        ({}, {}, None),
        ({"config": {"t": 1}}, {"temperature": 1}, {"temperature": ("config", "t")}),
        ({"t": 1}, {"temperature": 1}, {"temperature": "t"}),
        ({"list": [{"t": 1}]}, {"temperature": 1}, {"temperature": ["list", 0, "t"]}),
    ],
)
def test_declared_parameters_must_be_in_the_payload(payload: Any, parameters: Any, paths: Any) -> None:
    assert sent(payload, parameters, paths).parameters_attested


@pytest.mark.parametrize(
    ("payload", "parameters", "paths", "told"),
    [
        ({}, {"a": 1}, None, "'a'"),
        ({"a": 2}, {"a": 1}, None, "'a'"),
        ({"a": True}, {"a": 1}, None, "'a'"),
        ({"a": 1}, {"a": True}, None, "'a'"),
        ({"a": "1"}, {"a": 1}, None, "'a'"),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, None, "'a'"),
        ({"a": [1]}, {"a": [1, 2]}, None, "'a'"),
        ({"a": 1}, {"a": 1}, {"b": "a"}, "'b'"),
        ({"a": 1}, {"a": 1}, {"a": ("x", "y")}, "'a'"),
        ({"a": [1]}, {"a": 1}, {"a": ("a", 5)}, "'a'"),
        ({"a": [1]}, {"a": 1}, {"a": ("a", "0")}, "'a'"),
        ({"name": "abc"}, {"a": "a"}, {"a": ("name", 0)}, "'a'"),
        ({"a": 1}, {"a": 1}, {"a": 0}, "parameter_paths"),
        ({"a": 1}, {"a": 1}, {"a": None}, "parameter_paths"),
        ({"a": 1}, {"a": 1}, {1: "a"}, "parameter_paths"),
        ({"a": 1}, {"a": 1}, 5, "parameter_paths"),
        ({"a": 1}, 5, None, "parameters"),
        ({"a": 1}, None, None, "parameters"),
        ({"a": 1}, "ab", None, "parameters"),
        ([("a", 1)], {"a": 1}, None, "payload"),
        (None, {}, None, "payload"),
        ({"a": float("nan")}, {}, None, "payload"),
        ({1: 1}, {}, None, "payload"),
        ({"a": b"x"}, {}, None, "payload"),
        ({"a": object()}, {"a": object()}, None, "parameters"),
    ],
)
def test_a_mismatch_is_a_value_error_that_names_the_parameter(
    payload: Any, parameters: Any, paths: Any, told: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        sent(payload, parameters, paths)
    assert isinstance(caught.value, ValueError)
    assert told in str(caught.value)


def test_the_message_of_a_mismatch_has_neither_value() -> None:
    with pytest.raises(ValidationError) as caught:
        sent({"a": "the-sent-one"}, {"a": "the-declared-one"})
    assert "one" not in str(caught.value)


def test_a_matching_echo_is_accepted() -> None:
    manifest = a_manifest(endpoint="https://example.org/v1")
    manifest.validate_wire_request(a_wire(manifest))
    assert manifest.wire_problem(a_wire(manifest)) is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("provider", "other"),
        ("model", "other"),
        ("adapter", "other"),
        ("adapter_version", "2"),
        ("adapter_version", None),
        ("endpoint", "https://example.org"),
        ("parameters_attested", False),
        ("parameters", {"temperature": 0.1, "top_p": 1.0, "seed": 7}),
        ("parameters", {"temperature": 0.0, "top_p": 1.0, "seed": 8}),
        ("parameters", {"temperature": 0.0, "top_p": 1.0}),
        ("parameters", {"temperature": 0.0, "top_p": 1.0, "seed": 7, "extra": 1}),
        ("parameters", {"temperature": False, "top_p": 1.0, "seed": 7}),
    ],
)
def test_an_echo_that_differs_in_one_field_is_refused_by_its_name(field: str, value: Any) -> None:
    manifest = a_manifest()
    echo = evolve(a_wire(manifest), **{field: value})
    assert manifest.wire_problem(echo) == field
    with pytest.raises(ValueError, match=field):
        manifest.validate_wire_request(echo)


@pytest.mark.parametrize("name", ["temperature", "top_p", "seed"])
def test_sampling_fields_must_be_those_of_the_parameters(name: str) -> None:
    manifest = evolve(a_manifest(), **{name: None})
    assert manifest.wire_problem(a_wire(manifest)) == name


def test_numbers_compare_as_json_and_booleans_only_with_booleans() -> None:
    assert same_value(1, 1.0)
    assert same_value({"a": (1,)}, {"a": [1.0]})
    assert not same_value(True, 1)
    assert not same_value([0], [False])
