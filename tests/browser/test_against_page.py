"""The comparison with a baseline in headless Chromium."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.conftest import groups_of
from tests.browser.test_report_page import ATTACKS
from tests.report.build import FLIPPED, ORDER, STABLE, Groups

DISMISS = [("dismiss", "T U")] * 3
BASE: Groups = {("t", attack): STABLE for attack in ATTACKS} | {("t", "B"): STABLE, ("u", "C"): STABLE}
NOW: Groups = {("t", attack): DISMISS for attack in ATTACKS} | {("t", "B"): ORDER, ("u", "C"): FLIPPED}
Open = Callable[..., Any]


@pytest.mark.parametrize("scripted", [True, False])
def test_hostile_ids_of_cases_that_flipped_are_inert(opened: Open, scripted: bool) -> None:
    found = opened(NOW, BASE, java_script_enabled=scripted)
    assert found.complaints == []
    assert len(found.requests) == 1
    section = found.page.locator("section", has=found.page.locator("#h-against"))
    flipped = section.locator("table").last.locator("tbody th").all_inner_texts()
    assert len(flipped) == len(ATTACKS)
    assert ATTACKS[0] in flipped
    assert section.locator("svg").count() >= 6


def test_a_case_that_flipped_is_opened_from_where_it_is_named(opened: Open) -> None:
    page = opened(NOW, BASE).page
    page.locator("[data-case='B'] button").focus()
    page.keyboard.press("Enter")
    assert page.locator("#d-title").inner_text() == "B"
    assert page.locator("#d-replays li").count() == 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_accessibility_fault(opened: Open, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe-core; run: make browser")
    page = opened(NOW, BASE, color_scheme=scheme, bypass_csp=True).page
    faults = axe.Axe().run(page).response["violations"]
    assert [fault["id"] for fault in faults if fault["impact"] in ("serious", "critical")] == []


def test_the_page_is_not_wider_than_a_screen(opened: Open) -> None:
    page = opened(groups_of(30), groups_of(30), viewport={"width": 400, "height": 800}).page
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 400


def test_paper_shows_the_cases_that_deserve_attention_and_how_many_more_there_are(opened: Open) -> None:
    page = opened(groups_of(100)).page
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#rows tr").count() == 61
    assert page.locator("#rows tr").last.inner_text() == "… 40 more cases"
    page.evaluate("() => dispatchEvent(new Event('afterprint'))")
    assert page.locator("#rows tr").count() < 61
