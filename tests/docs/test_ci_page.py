"""What the CI page says is there."""

from __future__ import annotations

import re
from pathlib import Path

from tests.builders import ROOT

PAGE = ROOT / "docs" / "ci.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_every_file_that_the_page_names_exists() -> None:
    linked = re.findall(r"\]\(([^)#]+)\)", TEXT)
    named = re.findall(r"(?:examples|tests|docs)/[\w./-]+\.\w+|examples/[\w/]+Makefile", TEXT)
    assert len(linked) >= 5
    missing = [name for name in linked if not (PAGE.parent / name).exists()]
    missing += [name for name in named if not Path(ROOT, name).exists() and not Path(ROOT, name.rstrip(".")).exists()]
    assert missing == []


def test_the_options_of_the_plugin_are_the_ones_it_has() -> None:
    source = (ROOT / "dfah_cli" / "integrations" / "pytest_plugin.py").read_text(encoding="utf-8")
    there = set(re.findall(r'addoption\("(--dfah-[a-z]+)"', source))
    assert set(re.findall(r"`(--dfah-[a-z]+)[ `]", TEXT)) == there


def test_the_targets_and_inputs_are_the_ones_of_the_templates() -> None:
    makefile = (ROOT / "examples" / "ci" / "make" / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"`(repeatability[a-z-]*)`", TEXT):
        assert f"\n{target}:" in makefile


def test_pictures_are_small_and_ask_no_server_for_anything() -> None:
    pictures = [path for path in (ROOT / "docs" / "pictures").iterdir() if path.suffix in (".svg", ".png")]
    assert len(pictures) >= 3
    for path in pictures:
        assert path.stat().st_size < 400_000, path.name
        if path.suffix == ".svg":
            addresses = re.findall(r"https?://[^\"' )]+", path.read_text(encoding="utf-8"))
            assert {address for address in addresses if not address.startswith("http://www.w3.org/")} <= {
                "https://www.textualize.io"
            }
