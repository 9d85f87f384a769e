"""The document against the XML schema of what CI servers read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dfah_cli.render.junit import junit
from tests.golden.test_renderers import SAMPLES

XSD = Path(__file__).parent / "junit.xsd"


@pytest.fixture(scope="module")
def schema() -> Any:
    xmlschema = pytest.importorskip("xmlschema", reason="no xmlschema; run: python -m pip install 'dfah-cli[dev]'")
    return xmlschema.XMLSchema(str(XSD))


@pytest.mark.parametrize("name", SAMPLES)
def test_every_document_is_valid(schema: Any, name: str) -> None:
    sample = SAMPLES[name]
    assert [error.reason for error in schema.iter_errors(junit(sample.view, sample.ineligible))] == []


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (' tests="', ' test="'),
        ('failures="', 'failures="x'),
        ("<testcase ", "<test "),
        ('time="0"', 'time="-1"'),
        ("<failure ", "<flaky "),
    ],
)
def test_the_schema_refuses_what_a_server_would(schema: Any, right: str, wrong: str) -> None:
    sample = SAMPLES["mixed"]
    text = junit(sample.view, sample.ineligible)
    assert right in text
    tag = right.strip("< ")
    broken = text.replace(right, wrong).replace(f"</{tag}>", f"</{wrong.strip('< ')}>")
    assert not schema.is_valid(broken)
