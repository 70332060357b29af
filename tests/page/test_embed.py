"""The page in a frame of another page, and how the keyboard gets to its content."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.looking import Look, axe_finds

pytestmark = [pytest.mark.browser, pytest.mark.server]

_TABLE = "dataset:hive://lake:9083:nyc_taxi.weather_raw"
_MOST_TABS = 5


@pytest.mark.parametrize("path", ["/?embed", f"/lineage?embed&node={_TABLE}"])
def test_embedded_page_has_no_header_on_any_view(path: str, look: Look) -> None:
    page = look(path)
    expect(page.locator("main li a, [data-node]").first).to_be_visible()
    expect(page.get_by_role("banner")).to_have_count(0)
    assert axe_finds(page) == []
    if "node" not in path:
        page.get_by_role("region", name="Newest runs").get_by_role("link").first.click()
        expect(page.locator("[data-node]").first).to_be_visible()
        expect(page.get_by_role("banner")).to_have_count(0)


def test_page_without_embed_has_a_header(look: Look) -> None:
    expect(look("/").get_by_role("banner")).to_be_visible()


def _skip(page: Page) -> int:
    """Press Tab until the skip link has the focus, then Enter; return the number of Tabs."""
    link = page.get_by_role("link", name="Skip to content")
    for count in range(1, _MOST_TABS + 1):
        page.keyboard.press("Tab")
        if link.evaluate("each => each === document.activeElement"):
            expect(link).to_be_in_viewport()
            page.keyboard.press("Enter")
            return count
    raise AssertionError("no skip link")


@pytest.mark.parametrize("embed", ["", "embed&"])
def test_graph_is_at_most_five_tabs_away(embed: str, look: Look) -> None:
    page = look(f"/lineage?{embed}node={_TABLE}")
    expect(page.locator("[role=region][aria-busy=false] [data-node]").first).to_be_visible()
    assert _skip(page) <= _MOST_TABS
    expect(page.locator(f'[data-node="{_TABLE}"]')).to_be_focused()


@pytest.mark.parametrize("path", ["/", f"/provenance?node={_TABLE}"])
def test_skip_link_leads_to_the_content(path: str, look: Look) -> None:
    page = look(path)
    expect(page.locator("main li a, [data-testid=origins]").first).to_be_visible()
    _skip(page)
    expect(page.get_by_role("main")).to_be_focused()
