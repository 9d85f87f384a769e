"""The HTML report in headless Chromium."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import groups_of
from tests.report.build import FLAGS, ORDER

ATTACKS = (
    "<script>document.title='attacked'</script>",
    "</script><script>document.title='attacked'</script>",
    "<img src=x onerror=\"document.title='attacked'\">",
    "\"onmouseover=\"document.title='attacked'",
    "'><svg onload=document.title='attacked'>",
    "{{ 7*7 }}{% raw %}",
    "</style><style>body{display:none}",
    "--><!--",
    "javascript:document.title='attacked'",
    "<iframe src='data:text/html,x'></iframe>",
    "<base href='//evil.invalid/'>",
    "\u202egnp.exe",
    "\u2028alert(1)//",
    "&lt;b&gt;",
    "]]>",
)
Open = Callable[..., Any]


def visible_ids(page: Any) -> list[str]:
    return [text.strip() for text in page.locator("#rows th").all_inner_texts()]


def test_the_page_is_silent_and_asks_for_nothing(opened: Open) -> None:
    found = opened(FLAGS)
    found.page.wait_for_timeout(100)
    assert found.complaints == []
    assert len(found.requests) == 1


def test_the_policy_lets_nothing_else_run_or_load(opened: Open) -> None:
    found = opened(FLAGS)
    policy = found.page.locator("meta[http-equiv='Content-Security-Policy']").get_attribute("content")
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    found.page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = \"document.title = 'attacked'\"; "
        "document.body.append(s); const i = document.createElement('img'); i.src = 'https://example.invalid/x.png'; "
        "document.body.append(i); }"
    )
    found.page.wait_for_timeout(100)
    assert found.page.title() != "attacked"
    assert any("Content Security Policy" in complaint for complaint in found.complaints)


@pytest.mark.parametrize("scripted", [True, False])
def test_hostile_ids_and_labels_are_inert(opened: Open, scripted: bool) -> None:
    groups = {(f"task {attack}", attack): ORDER for attack in ATTACKS}
    found = opened(groups, java_script_enabled=scripted)
    found.page.wait_for_timeout(100)
    assert found.complaints == []
    assert found.page.title() == "toy-risk 1.0.0 · repeatability"
    assert found.page.locator("iframe, img, base, link").count() == 0
    assert found.page.locator("h1").is_visible()
    shown = visible_ids(found.page)
    assert ATTACKS[0] in shown
    assert "\\u202egnp.exe" in shown


def test_opening_a_case_by_keyboard_shows_its_paths(opened: Open) -> None:
    found = opened(FLAGS)
    button = found.page.locator("#rows button", has_text="A").first
    button.focus()
    found.page.keyboard.press("Enter")
    assert found.page.locator("#dialog").is_visible()
    assert found.page.locator("#d-title").inner_text() == "A"
    assert found.page.locator("#d-tree li").count() == 2
    found.page.keyboard.press("Escape")
    assert not found.page.locator("#dialog").is_visible()
    assert button.evaluate("node => node === document.activeElement")


def test_cases_are_searched_filtered_and_sorted(opened: Open) -> None:
    page = opened(groups_of(100)).page
    assert page.locator("#count").inner_text() == "100 cases"
    page.fill("#q", "case-00042")
    assert visible_ids(page) == ["CASE-00042"]
    page.fill("#q", "")
    page.select_option("#f-status", "decision changed")
    assert page.locator("#count").inner_text() == "12 of 100 cases"
    page.select_option("#f-task", "task-1")
    assert set(page.locator("#rows td:nth-child(2)").all_inner_texts()) == {"task-1"}
    page.select_option("#f-status", "")
    page.select_option("#f-task", "")
    page.click("#table thead button >> text=case")
    assert visible_ids(page)[0] == "CASE-00000"
    page.click("#table thead button >> text=case")
    assert visible_ids(page)[0] == "CASE-00099"
    assert page.locator("#table th[aria-sort='descending']").inner_text() == "case"


def test_what_deserves_attention_stands_first(opened: Open) -> None:
    page = opened(groups_of(40)).page
    states = [text for text in page.locator("#rows td:nth-child(3)").all_inner_texts() if text]
    assert states == sorted(states, key=["decision changed", "flagged", "stable"].index)


def test_the_page_is_readable_without_scripts(opened: Open) -> None:
    page = opened(groups_of(100), java_script_enabled=False).page
    assert len(visible_ids(page)) == 60
    assert page.locator("details.case").count() > 10
    assert page.locator("noscript").inner_text().startswith("The first 60 of 100 cases")
    assert not page.locator("#tools").is_visible()
    assert page.locator("svg").count() >= 6


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_accessibility_fault(opened: Open, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe-core; run: make browser")
    # The tool injects itself as a script, which the page's own policy rightly forbids.
    page = opened(groups_of(60), color_scheme=scheme, bypass_csp=True).page
    faults = axe.Axe().run(page).response["violations"]
    assert [fault["id"] for fault in faults if fault["impact"] in ("serious", "critical")] == []


class Clock:
    """Processor time of the page's main thread: what other programs do on this machine does not count.

    It begins anew with every page that is opened.
    """

    def __init__(self, page: Any) -> None:
        self._session = page.context.new_cdp_session(page)
        self._session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def ms(self) -> float:
        found = self._session.send("Performance.getMetrics")["metrics"]
        return 1000 * next(float(one["value"]) for one in found if one["name"] == "TaskDuration")


def opening_ms(page: Any) -> float:
    """What opening the page takes, at best."""
    measured = []
    for _ in range(3):
        again = page.context.new_page()
        clock = Clock(again)
        again.goto(page.url)
        measured.append(clock.ms())
        again.close()
    return min(measured)


def longest_step_ms(page: Any) -> float:
    """The most that one step through the table takes: all tasks until the next frame together."""
    clock, measured = Clock(page), []
    for place in range(20):
        before = clock.ms()
        page.evaluate(
            "place => new Promise(done => { document.getElementById('scroll').scrollTop = place * 12345; "
            "requestAnimationFrame(() => requestAnimationFrame(done)); })",
            place,
        )
        measured.append(clock.ms() - before)
    return max(measured)


@pytest.mark.slow
def test_ten_thousand_cases_open_and_scroll_without_waiting(opened: Open) -> None:
    few, page = opened(groups_of(100)).page, opened(groups_of(10_000)).page
    assert opening_ms(page) <= 3 * opening_ms(few)
    assert longest_step_ms(page) <= 200
    assert visible_ids(page)
    assert page.locator("#rows tr").count() < 100


@pytest.mark.parametrize("look", ["light", "dark", "print"])
def test_a_picture_of_the_page_can_be_taken(opened: Open, look: str, tmp_path: Path) -> None:
    page = opened(FLAGS, color_scheme="dark" if look == "dark" else "light").page
    if look == "print":
        page.emulate_media(media="print")
    path = tmp_path / f"{look}.png"
    page.screenshot(path=path, full_page=True)
    assert path.stat().st_size > 20_000
    background = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(18, 23, 28)" if look == "dark" else "rgb(255, 255, 255)")
