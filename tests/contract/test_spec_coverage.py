"""docs/spec-coverage.md: every statement of the specification stands there, with tests that exist."""

from __future__ import annotations

import re

import pytest

from tests.builders import ROOT, shared
from tests.contract.statements import statements

PAGE = (ROOT / "docs" / "spec-coverage.md").read_text()
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
ROW = re.compile(r"^\| (.+?) \| (.+) \|$", re.MULTILINE)


@pytest.mark.parametrize("file", sorted({file for file, _ in NAMED.findall(PAGE)}))
def test_every_named_test_exists(file: str) -> None:
    source = (ROOT / file).read_text()
    wanted = {name for named, name in NAMED.findall(PAGE) if named == file}
    defined = set(re.findall(r"def (test_\w+)\(", source))
    assert wanted <= defined, f"{file} has no {', '.join(sorted(wanted - defined))}"


def rows() -> list[tuple[str, str]]:
    return [row for row in ROW.findall(PAGE) if not row[0].startswith(("statement", "---"))]


def test_every_statement_of_the_specification_stands_on_the_page_in_order() -> None:
    stated = [text.strip("`").replace("\\|", "|") for text, _ in rows()]
    assert stated == statements(shared("spec", "quickstart.txt").read_text())


def test_every_statement_that_asks_for_something_names_a_test() -> None:
    bare = [text for text, held in rows() if not NAMED.search(held) and not held.startswith("a heading")]
    assert bare == []
    headings = [text for text, held in rows() if held.startswith("a heading")]
    assert len(headings) <= 9
