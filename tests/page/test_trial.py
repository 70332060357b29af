"""What someone who tried the page for the first time stumbled over."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from tests.looking import Look

from .test_views import ACTUALS, PREPARE

pytestmark = [pytest.mark.browser, pytest.mark.server]

_IS_IN_ITS_WINDOW = """id => {
    const node = document.querySelector(`[data-node="${CSS.escape(id)}"]`)?.getBoundingClientRect();
    const frame = document.querySelector(".canvas").getBoundingClientRect();
    return node && node.left >= frame.left && node.right <= frame.right
        && node.top >= frame.top && node.bottom <= frame.bottom;
}"""


def _at(node: str, **others: str) -> str:
    return f"/lineage?{urlencode({'node': node, **others})}"


def test_details_that_open_leave_their_node_in_sight(look: Look) -> None:
    page = look(_at(PREPARE, up="100", down="100"))
    faces = page.locator(".node-face")
    expect(faces.first).to_be_visible()
    rights = "all => all.map(e => [e.getBoundingClientRect().right, e.dataset.node])"
    frame = page.locator(".canvas").bounding_box()
    assert frame
    seen = [each for each in faces.evaluate_all(rights) if each[0] <= frame["x"] + frame["width"]]
    id_ = max(seen)[1]
    node = page.locator(f'[data-node="{id_}"]')
    node.click()
    node.click()
    expect(page.get_by_role("complementary", name="Details")).to_be_visible()
    page.wait_for_function(_IS_IN_ITS_WINDOW, arg=id_)


def test_a_graph_that_is_seen_in_part_says_so_and_can_be_fitted(look: Look) -> None:
    page = look(_at(PREPARE, up="100", down="100"))
    notes = page.locator(".notes")
    expect(notes).to_contain_text("outside of the window")
    overview = page.get_by_role("img", name="Overview of the graph")
    expect(overview).to_be_visible()
    expect(page.locator(".timeline-said")).to_contain_text("within all steps up and all down")
    notes.get_by_role("button", name="Fit all").click()
    expect(notes).not_to_contain_text("outside of the window")
    expect(overview).to_be_hidden()
    small = look(_at(PREPARE, up="100", down="100"), width=860)
    expect(small.locator(".notes")).to_contain_text("outside of the window")
    expect(small.get_by_role("img", name="Overview of the graph")).to_be_hidden()


def test_the_focus_goes_from_the_search_to_the_root_and_from_details_back_to_the_node(
    look: Look,
) -> None:
    page = look("/")
    expect(page.get_by_text("Newest runs")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("hourly_act")
    expect(page.get_by_role("option").first).to_contain_text("yellow_rides_hourly_actuals")
    page.keyboard.press("Enter")
    root = page.locator(f'[data-node="{ACTUALS}"]')
    expect(root).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("complementary", name="Details")).to_be_focused()
    page.keyboard.press("Escape")
    expect(root).to_be_focused()
