"""The roll-up map of a dbt-like project of 300 tables, with a failure and a late table."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Locator, Page, expect

from benchmarks.dbt_project import FAILED, LATE
from tests.looking import Look, axe_finds, details, open_address

from .conftest import Lineage

pytestmark = [pytest.mark.browser, pytest.mark.server]


@pytest.fixture
def look(look_at_project: Look) -> Look:
    """Return a function that opens a path of the page."""
    return look_at_project


def _box(page: Page, title: str) -> Locator:
    """Return the box of a group or node in the map."""
    return page.locator("[data-item]").filter(has=page.get_by_text(title, exact=True))


def _current(page: Page) -> Locator:
    return page.get_by_role("navigation", name="Groups").locator('[aria-current="page"]')


def test_large_store_is_explored_from_platforms_to_a_table(look: Look) -> None:
    page = look("/")
    start = page.get_by_role("region", name="Map")
    expect(start).to_contain_text("341 datasets")
    expect(_box(page, "snowflake")).to_contain_text("301 datasets1 failed, 5 blocked, 1 late")
    expect(_box(page, "s3")).to_have_text("s3 40 datasets")
    _box(page, "snowflake").get_by_role("link").click()
    expect(_current(page)).to_have_text(re.compile("snowflake"))
    _box(page, "shop.prod").get_by_role("link").click()
    expect(_current(page)).to_have_text(re.compile(r"shop\.prod"))
    expect(_box(page, FAILED)).to_have_attribute("data-state", "failed")
    expect(_box(page, "mart_17")).to_contain_text(f"Not rebuilt: {FAILED} failed")
    expect(_box(page, LATE)).to_contain_text("Late 3 d")
    expect(page.get_by_text("1–50 of 301, those with problems first")).to_be_visible()
    assert axe_finds(page) == []
    page.get_by_role("link", name="Next").click()
    expect(page.get_by_text("51–100 of 301")).to_be_visible()
    expect(_box(page, FAILED)).to_have_count(0)
    tree = page.get_by_role("navigation", name="Groups")
    tree.get_by_role("button", name="Collapse shop.prod").click()
    expect(tree.get_by_role("link", name="mart_17")).to_have_count(0)
    tree.get_by_role("link", name="All").click()
    expect(_box(page, "snowflake")).to_be_visible()
    page.get_by_role("button", name="Owner", exact=True).click()
    expect(_box(page, "core-data")).to_contain_text("1 failed, 3 blocked")
    tree.get_by_role("button", name="Expand growth").click()
    tree.get_by_role("link", name="dbt").click()
    expect(_current(page)).to_have_text(re.compile("dbt"))
    expect(page.get_by_role("region", name="Map")).to_contain_text("87 tasks · 2 blocked")
    page.go_back()
    expect(_box(page, "core-data")).to_be_visible()
    page.get_by_role("button", name="Hide groups").click()
    expect(tree).to_have_count(0)


def test_start_page_without_the_code_of_its_map_keeps_the_search(
    look: Look, project: Lineage
) -> None:
    page = look("/map")
    page.route("**/StartMap-*.js", lambda route: route.abort())
    with page.expect_event("requestfailed", lambda request: "StartMap" in request.url):
        open_address(page, project.url)
    expect(page.get_by_role("region", name="Pipelines")).to_be_visible()
    page.get_by_role("combobox").fill("shop")
    expect(page.get_by_role("option").first).to_be_visible()
    expect(page.get_by_role("region", name="Map")).to_have_count(0)


def test_menu_of_the_map_leads_to_the_views_of_a_node(look: Look) -> None:
    page = look("/map?path=snowflake&path=shop.prod")
    box = _box(page, "mart_17")
    box.click(button="right")
    page.get_by_role("menuitem", name="Only upstream").click()
    expect(page.locator('[data-node$="shop.prod.mart_17"]')).to_be_visible()
    expect(page.locator(f'[data-node$="shop.prod.{FAILED}"]')).to_be_visible()
    expect(page.locator('[data-node$="shop.prod.rpt_16"]')).to_have_count(0)
    page.go_back()
    menu = box.get_by_role("button", name="Actions for mart_17")
    for choice, title in (("Impact", "Impact of mart_17"), ("Provenance", "Provenance of mart_17")):
        menu.focus()
        page.keyboard.press("Enter")
        page.get_by_role("menuitem", name=choice).press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text(title)
        page.go_back()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    menu.click()
    page.get_by_role("menuitem", name="Copy id").click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == "dataset:snowflake://org-acct:shop.prod.mart_17"
    menu.click()
    assert axe_finds(page) == []
    page.get_by_role("menuitem", name="Hide").click()
    expect(box).to_have_count(0)
    page.reload()
    expect(page.get_by_text("1 hidden.")).to_be_visible()
    page.get_by_role("link", name="Show all").click()
    expect(box).to_be_visible()


def test_map_fits_a_phone(look: Look) -> None:
    for path in ("/", "/map?by=owner", "/map?path=snowflake&path=shop.prod"):
        page = look(path, width=390, height=800)
        expect(page.locator("[data-item]").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert axe_finds(page) == []
    box = _box(page, FAILED).bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    page.get_by_role("button", name="Show groups").click()
    expect(_current(page)).to_have_text(re.compile(r"shop\.prod"))


_DATES = "dataset:snowflake://org-acct:shop.prod.dim_dates"
_COLOR = "element => getComputedStyle(element).backgroundColor"


def test_many_neighbors_are_chosen_by_owner_or_pipeline(look: Look) -> None:
    page = look(f"/lineage?{urlencode({'node': _DATES})}")
    nodes = page.locator("[data-node]")
    page.get_by_role("button", name=re.compile("Show 87 more nodes downstream")).click()
    others = page.get_by_role("region", name="87 more downstream of dim_dates")
    expect(others.get_by_role("searchbox")).to_be_focused()
    assert axe_finds(page) == []
    count = nodes.count()
    others.get_by_role("searchbox").fill("mart_9 growth")
    others.get_by_role("button", name="Pipeline", exact=True).click()
    expect(others.get_by_role("heading", level=3)).to_have_text("dbtShow all 5")
    others.get_by_role("button", name="Show all 5 of dbt").click()
    expect(nodes).not_to_have_count(count)
    expect(page.locator('[data-node="job:shop:dbt.mart_99"]')).to_be_attached()
    others = page.get_by_role("region", name="82 more downstream of dim_dates")
    expect(others).to_be_visible()
    page.keyboard.press("Escape")
    expect(others).to_be_hidden()
    expect(page.locator(f'[data-node="{_DATES}"]')).to_be_focused()


def test_forced_colors_show_what_is_selected_and_bars(look: Look) -> None:
    job = {"node": "job:shop:dbt", "level": "pipeline", "open": "job:shop:dbt", "tab": "runs"}
    page = look(f"/lineage?{urlencode(job)}")
    details(page).get_by_role("listitem").get_by_role("link").first.click()
    page.get_by_role("tab", name="Child runs").click()
    rows = details(page).get_by_role("listitem")
    expect(rows.nth(1)).to_contain_text(FAILED)  # failed first
    page.emulate_media(forced_colors="active")
    canvas = page.locator("body").evaluate(_COLOR)
    for name, other in (
        ("Pipeline", "Task"),
        ("All", "24 h"),
        ("Failed and slow first", "By start"),
    ):
        selected, rest = (
            page.get_by_role("button", name=text, exact=True).evaluate(_COLOR)
            for text in (name, other)
        )
        assert selected not in (rest, canvas), name
    tabs = [page.get_by_role("tab", name=name) for name in ("Child runs", "About")]
    assert tabs[0].evaluate(_COLOR) != tabs[1].evaluate(_COLOR)
    for bar in (
        page.get_by_role("button", name="View the graph at that time").locator("i").first,
        rows.nth(1).locator("i"),
    ):
        assert bar.evaluate(_COLOR) != canvas
    page.set_viewport_size({"width": 720, "height": 450})  # zoomed to 200 %
    graph, panel = page.get_by_role("region", name="Lineage graph"), details(page)
    page.wait_for_function("document.documentElement.scrollWidth <= 720")
    boxes = graph.bounding_box(), panel.bounding_box()
    assert boxes[0]
    assert boxes[1]
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"] + 1 or (
        boxes[0]["y"] + boxes[0]["height"] <= boxes[1]["y"] + 1
    )
