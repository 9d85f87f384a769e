"""`--update-golden` rewrites the golden files; they are read in the diff."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

FILES = Path(__file__).parent / "files"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", default=False, help="rewrite the golden files")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares a text with the golden file of that name, or rewrites the file."""
    update = request.config.getoption("--update-golden", default=False)

    def check(name: str, text: str) -> None:
        path = FILES / name
        if update:
            FILES.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"{name} is missing; run: make golden"
        assert text == path.read_text(encoding="utf-8")

    return check
