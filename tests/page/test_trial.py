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
