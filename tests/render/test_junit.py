"""The document against the rules that CI servers share: names, attributes and the counts they believe."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from dfah_cli.render.junit import junit, xml_text
from tests.golden.test_renderers import SAMPLES

CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"testcase"},
    "testcase": {"failure", "error"},
    "failure": set(),
    "error": set(),
}
ATTRIBUTES = {
    "testsuites": {"name", "tests", "failures", "errors"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testcase": {"classname", "name", "time"},
    "failure": {"message", "type"},
    "error": {"message", "type"},
}


@pytest.mark.parametrize("name", SAMPLES)
def test_the_document_has_the_shape_that_ci_servers_read(name: str) -> None:
    sample = SAMPLES[name]
    root = ElementTree.fromstring(junit(sample.view, sample.ineligible))
    assert root.tag == "testsuites"
    for element in root.iter():
        assert set(element.attrib) == ATTRIBUTES[element.tag]
        assert {child.tag for child in element} <= CHILDREN[element.tag]
    for suite in root:
        assert int(suite.get("tests", "")) == len(suite)
        for tag, count in (("failure", "failures"), ("error", "errors")):
            assert int(suite.get(count, "")) == len(suite.findall(f"testcase/{tag}"))
    for count in ("tests", "failures", "errors"):
        assert int(root.get(count, "")) == sum(int(suite.get(count, "")) for suite in root)


def test_there_is_one_test_a_case_and_none_a_replay() -> None:
    sample = SAMPLES["partial"]
    root = ElementTree.fromstring(junit(sample.view, sample.ineligible))
    cases = {case.get("name"): [child.tag for child in case] for case in root[0]}
    assert cases == {"A": ["error"], "B": ["failure"], "C": [], "D": ["error"]}


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\ufffe", "\uffff", "\u202e"])
def test_what_xml_cannot_hold_is_an_escape(character: str) -> None:
    shown = xml_text(f"a{character}b")
    assert character not in shown
    ElementTree.fromstring(f"<a>{shown}</a>")
