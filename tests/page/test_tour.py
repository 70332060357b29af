"""The first use of the page: its description, the guided tour, and incomplete pipelines."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.looking import Look, axe_finds, tab_to

pytestmark = [pytest.mark.browser, pytest.mark.server]

_STEPS = (
    ("Search everything", "/sample/"),
    ("See what needs attention", "/sample/"),
    ("Follow the data", "/sample/lineage"),
    ("Go back in time", "/sample/lineage"),
    ("Prove where a version came from", "/sample/provenance"),
)


def _step(page: Page, number: int) -> Locator:
    """Return the dialog of a step, counted from 1."""
    title, path = _STEPS[number - 1]
    dialog = page.get_by_role("dialog", name=title)
    expect(dialog.get_by_text(f"Step {number} of 5")).to_be_visible()
    expect(page).to_have_url(re.compile(f"{path}(\\?|$)"))
    expect(page.locator(".driver-active-element")).to_be_visible()
    expect(page.locator("#driver-dummy-element")).to_have_count(0)  # shown if there is no element
    return dialog


def test_empty_page_starts_the_tour_which_the_keyboard_completes(empty: Look) -> None:
    page = empty("/")
    tab_to(page, "^Take the guided tour$")
    page.keyboard.press("Enter")
    for number in range(1, 6):
        dialog = _step(page, number)
        name = "Finish" if number == 5 else "Next"
        expect(dialog.get_by_role("button", name=name)).to_be_focused()
        page.keyboard.press("Enter" if number % 2 else "ArrowRight")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("complementary", name="Sample")).to_be_visible()


@pytest.mark.parametrize("width", [1440, 390])
def test_help_menu_starts_the_tour_which_can_be_skipped(width: int, look: Look) -> None:
    page = look("/", width=width)
    page.get_by_role("button", name="Help").click()
    page.get_by_role("menuitem", name="Guided tour").click()
    _step(page, 1)
    assert axe_finds(page) == []
    for number in (2, 3):  # a key pressed while a step appears moves from the one before
        page.keyboard.press("ArrowRight")
        _step(page, number)
    page.keyboard.press("ArrowLeft")
    _step(page, 2).get_by_role("button", name="Skip the tour").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.reload()
    expect(page.get_by_text("Newest runs")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_start_page_describes_the_product(look: Look) -> None:
    expect(look("/").get_by_text("See where your data comes from")).to_be_visible()


def test_incomplete_pipelines_list_what_is_missing_and_what_to_do(look: Look) -> None:
    page = look("/sample/completeness")
    expect(page.get_by_role("status").filter(has_text="of")).to_have_text(
        "3 of 6 pipelines are incomplete."
    )
    stale = page.get_by_role("region", name="refresh_dashboards")
    expect(stale).to_contain_text("1 run without an end event")
    expect(stale).to_contain_text("What to do: make its producer report an end event")
    complete = page.get_by_role("region", name="Complete (1)")
    expect(complete).to_contain_text("ingest_yellow_taxi_data")
    unknown = page.get_by_role("region", name="Unknown: no completed run read or wrote data (2)")
    expect(unknown).to_contain_text("archive_landing_files")
    assert axe_finds(page) == []
    stale.get_by_role("link", name="refresh_dashboards").last.click()
    expect(page.get_by_role("complementary", name="Details")).to_be_visible()
