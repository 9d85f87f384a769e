from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from dfah_cli.report.schema import report_schema
from tests.golden.test_renderers import RENDERERS, SAMPLES

PAGE = Path(__file__).parents[2] / "docs" / "report.schema.json"
VALIDATOR = Draft202012Validator(report_schema())


def document(name: str) -> Any:
    return json.loads(RENDERERS["json"](SAMPLES[name]))


def test_the_published_schema_is_that_of_the_records(request: pytest.FixtureRequest) -> None:
    text = json.dumps(report_schema(), indent=2) + "\n"
    if request.config.getoption("--update-golden", default=False):
        PAGE.write_text(text, encoding="utf-8")
    assert text == PAGE.read_text(encoding="utf-8"), "docs/report.schema.json differs; run: make golden"
    Draft202012Validator.check_schema(report_schema())


@pytest.mark.parametrize("name", SAMPLES)
def test_every_document_is_valid(name: str) -> None:
    assert [error.message for error in VALIDATOR.iter_errors(document(name))] == []


def without_dar(value: Any) -> None:
    del value["report"]["dar"]


def with_more(value: Any) -> None:
    value["report"]["dar2"] = 1


def with_text(value: Any) -> None:
    value["report"]["case_reports"][0]["dar"] = "1.0"


def other_format(value: Any) -> None:
    value["format"] = "dfah-report-2"


@pytest.mark.parametrize("change", [without_dar, with_more, with_text, other_format])
def test_a_document_of_another_shape_is_not(change: Any) -> None:
    value = copy.deepcopy(document("mixed"))
    change(value)
    assert not VALIDATOR.is_valid(value)
