from __future__ import annotations

from pathlib import Path

import pytest

from dfah_cli.cli.reference import reference

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


def test_no_line_of_a_command_list_is_cut_off() -> None:
    cut = [line for line in reference().splitlines() if line.startswith("  ") and line.endswith("...")]
    assert cut == []


def test_the_page_about_the_command_line_is_what_the_commands_say(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Away from any project of the user's, whose suites and configs would be listed too.
    monkeypatch.chdir(tmp_path)
    text = reference()
    if request.config.getoption("--update-golden", default=False):
        PAGE.write_text(text, encoding="utf-8")
    assert text == PAGE.read_text(encoding="utf-8"), "docs/cli.md differs from the help texts; run: make golden"
