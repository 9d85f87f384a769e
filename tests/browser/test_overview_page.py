"""The page of several runs in headless Chromium."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dfah_cli.render.html import overview_html
from dfah_cli.report.overview import overview
from tests.browser.conftest import Opened
from tests.browser.test_report_page import ATTACKS
from tests.report.build import FLAGS, a_report

OLD = a_report(FLAGS, last_at="2026-01-01T00:00:00.000000Z")
NEW = a_report(FLAGS, last_at="2026-02-01T00:00:00.000000Z", model="model-v2")


def opened(browser: Any, tmp_path: Path, labels: tuple[str, ...] = ("old", "new"), **options: Any) -> Opened:
    runs = [(label, (OLD, NEW)[index % 2], "fail") for index, label in enumerate(labels)]
    path = tmp_path / "index.html"
    path.write_text(overview_html(overview(runs)), encoding="utf-8")
    return Opened(browser.new_context(**options), path)


def test_hostile_labels_are_inert_and_nothing_is_asked_for(browser: Any, tmp_path: Path) -> None:
    found = opened(browser, tmp_path, ATTACKS)
    found.page.wait_for_timeout(100)
    assert found.complaints == []
    assert len(found.requests) == 1
    assert found.page.locator("script, img, iframe, base, link").count() == 0
    assert found.page.title() == f"{len(ATTACKS)} runs · repeatability"
    policy = found.page.locator("meta[http-equiv='Content-Security-Policy']").get_attribute("content")
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_accessibility_fault(browser: Any, tmp_path: Path, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe-core; run: make browser")
    page = opened(browser, tmp_path, color_scheme=scheme, bypass_csp=True).page
    faults = axe.Axe().run(page).response["violations"]
    assert [fault["id"] for fault in faults if fault["impact"] in ("serious", "critical")] == []


def test_the_page_is_not_wider_than_a_screen(browser: Any, tmp_path: Path) -> None:
    page = opened(browser, tmp_path, viewport={"width": 420, "height": 800}).page
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 420
