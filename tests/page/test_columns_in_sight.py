"""Unfolded and locked columns are visible in the window with their path."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.looking import Look

from .test_views import ACTUALS, FORECAST, NEAR, RAW

pytestmark = [pytest.mark.browser, pytest.mark.server]

_ALL_ARE_WITHIN = """what => {
    const canvas = document.querySelector('[role=region][aria-busy]');
    if (!canvas) return false;
    const frame = canvas.getBoundingClientRect();
    const boxes = [...document.querySelectorAll(what)].map((e) => e.getBoundingClientRect());
    return boxes.length > 0 && boxes.every((box) => box.left >= frame.left && box.top >= frame.top
        && box.right <= frame.right && box.bottom <= frame.bottom - 40);
}"""


_FONT = """e => parseFloat(getComputedStyle(e).fontSize)
    * e.getBoundingClientRect().height / e.offsetHeight"""


def _at(node: str, **others: str) -> str:
    return f"/lineage?{urlencode({'node': node, **NEAR, **others})}"


def _are_in_sight(page: Page, what: str) -> None:
    page.wait_for_function(_ALL_ARE_WITHIN, arg=what)


def test_unfolded_columns_are_in_the_window(look: Look) -> None:
    page = look(_at(RAW, up="2", down="2"))
    buttons = page.get_by_role("button", name=re.compile("^Columns of "))
    expect(buttons.first).to_be_visible()
    for place in range(3):
        buttons.nth(place).click()
        expect(page.locator(".react-flow__node input")).to_have_count(place + 1)
        _are_in_sight(page, ".react-flow__node:has(ul)")


def test_locked_column_highlights_its_path(look: Look) -> None:
    page = look(_at(ACTUALS, up="2", down="2"))
    page.get_by_role("button", name="Columns of nyc_taxi.yellow_rides_hourly_actuals").click()
    page.get_by_role("button", name=re.compile("^mean_distance")).click()
    lit = page.locator(".react-flow__node li:has([aria-pressed=true])")
    expect(lit.filter(has_text="trip_distance")).to_be_visible()
    expect(page.locator(".react-flow__node li").filter(has_text="tpep_pickup")).to_have_count(0)
    expect(page.locator(".react-flow__edge.column.lit").first).to_be_attached()
    _are_in_sight(page, ".react-flow__node:has(li [aria-pressed=true])")
    page.get_by_role("button", name="Columns of nyc_taxi.yellow_taxi_raw").click()
    expect(
        page.locator(".react-flow__node li").filter(has_text="tpep_pickup").first
    ).to_be_visible()
    page.get_by_role("button", name="Columns of nyc_taxi.yellow_taxi_raw").click()
    page.get_by_role("button", name="Clear").click()
    expect(page.locator(".react-flow__node ul")).to_have_count(1)


def test_column_with_a_hidden_path_links_to_it(look: Look) -> None:
    page = look(_at(RAW))
    page.get_by_role("button", name="Columns of nyc_taxi.yellow_taxi_raw").click()
    page.get_by_role("button", name=re.compile("^trip_distance")).click()
    expect(page.get_by_role("complementary", name="Details")).to_be_visible()
    expect(page.locator(".react-flow__node li:has([aria-pressed=true])")).to_have_count(1)
    _are_in_sight(page, ".react-flow__node:has([data-node])")
    page.get_by_role("button", name="Show two more steps").click()
    expect(page.locator(".react-flow__edge.column.lit").first).to_be_attached()


def _open_upstream(page: Page) -> None:
    """Show the next node upstream, and check that it comes into the window."""
    shown = page.locator("[data-node]")
    before = {node.get_attribute("data-node") for node in shown.all()}
    page.get_by_role("button", name=re.compile("^Show 1 more node upstream")).click()
    expect(shown).to_have_count(len(before) + 1)
    (came,) = {node.get_attribute("data-node") for node in shown.all()} - before
    _are_in_sight(page, f'.react-flow__node:has([data-node="{came}"])')


def test_nodes_shown_by_plus_come_into_the_window(look: Look) -> None:
    page = look(_at(FORECAST, down="0"))
    expect(page.locator("[data-node]")).to_have_count(2)
    for _ in range(4):
        _open_upstream(page)


def test_nodes_are_readable_on_a_phone(look: Look) -> None:
    page = look(_at(FORECAST, down="0"), width=390)
    _are_in_sight(page, ".react-flow__node:has([aria-current])")
    assert page.locator("[data-node][aria-current] > :nth-child(2)").evaluate(_FONT) >= 10
    page.locator("[data-node][aria-current]").focus()
    page.keyboard.press("ArrowLeft")
    for _ in range(4):
        _open_upstream(page)
