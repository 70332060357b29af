"""States, texts that fit and several columns, mostly of a dbt-like project of 300 tables."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.looking import Look, details, fits_a_phone

pytestmark = [pytest.mark.browser, pytest.mark.server]

_PROD = "dataset:snowflake://org-acct:shop.prod."
_MART = f"/lineage?node={quote(_PROD)}mart_17"

_CUT_TEXTS = """selector => [...document.querySelectorAll(selector)]
    .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth + 1)
    .map(({ textContent }) => textContent)"""

_TEXTS = """() => [...document.querySelectorAll(".react-flow__node .clip")].map(it => {
    const range = document.createRange();
    range.selectNodeContents(it);
    const text = range.getBoundingClientRect(), box = it.getBoundingClientRect();
    const sides = [Math.max(text.left, box.left), Math.min(text.right, box.right)];
    return [...sides, box.top, box.bottom, it.textContent];
})"""


def _drawn(page: Page) -> None:
    """Wait until the graph is complete."""
    expect(page.locator("[role=region][aria-busy=false] .react-flow__edge").first).to_be_attached()


def test_impact_of_a_failed_table_shows_what_was_not_rebuilt(look_at_project: Look) -> None:
    page = look_at_project(f"/impact?node={quote(_PROD)}stg_17")
    rows = page.get_by_role("row")
    expect(rows.filter(has_text="mart_17 shop.prod")).to_contain_text("Not rebuilt: stg_17 failed")
    expect(rows.filter(has_text="Completed")).to_have_count(0)


def test_states_of_the_freshness_list_fit_beside_their_causes(look_at_project: Look) -> None:
    page = look_at_project("/datasets?fresh=risk")
    rows = page.get_by_role("main").get_by_role("listitem").filter(has_text="mart_17")
    expect(rows).to_contain_text("Not rebuilt")
    expect(rows).to_contain_text("Cause:stg_17 failed")
    for row in rows.all():
        sides = row.evaluate(
            "row => [...row.querySelectorAll('*'), row].map(it => it.getBoundingClientRect().right)"
        )
        assert max(sides) == sides[-1]


def test_nodes_show_the_cause_and_the_age_uncut(look_at_project: Look) -> None:
    page = look_at_project(_MART)
    _drawn(page)
    node = page.locator(".react-flow__node-dataset").filter(has_text="mart_17")
    expect(node).to_contain_text("Not rebuilt: stg_17 failed")
    expect(node).to_contain_text("1 d ago")
    assert page.evaluate(_CUT_TEXTS, ".react-flow__node-dataset [class*=facts] > *") == []


def test_number_of_more_nodes_covers_no_text(look_at_project: Look) -> None:
    page = look_at_project("/lineage?node=job:shop:load&level=pipeline")
    _drawn(page)
    more = page.get_by_role("button", name=re.compile("^Show .* more nodes")).all()
    assert more
    texts = page.evaluate(_TEXTS)
    for button in more:
        box = button.bounding_box()
        assert box is not None
        left, top = box["x"] + 1, box["y"]
        right, bottom = box["x"] + box["width"] - 1, top + box["height"]
        covered = [
            text
            for start, end, high, low, text in texts
            if start < right and end > left and high < bottom and low > top
        ]
        assert covered == [], button.inner_text()


def test_incomplete_pipeline_counts_its_jobs_and_lists_the_first_ones(
    look_at_project: Look,
) -> None:
    page = look_at_project("/completeness")
    card = page.get_by_role("region", name="dbt")
    expect(card.get_by_role("heading", name="Code location 260")).to_be_visible()
    expect(card.get_by_role("listitem")).to_have_count(10)
    card.get_by_role("button", name="Show 250 more").click()
    expect(card.get_by_role("listitem")).to_have_count(260)


def test_map_states_all_problems_of_a_group(look_at_project: Look) -> None:
    page = look_at_project("/map")
    box = page.locator("[data-item=snowflake]")
    expect(box).to_contain_text("1 failed, 5 blocked, 1 late")
    assert page.evaluate(_CUT_TEXTS, "[data-item] *") == []


def test_header_of_a_phone_has_room_for_the_search(look_at_project: Look) -> None:
    page = look_at_project("/problems")
    expect(page.get_by_role("banner").get_by_role("link", name="2 problems")).to_be_visible()
    fits_a_phone(page)
    expect(page.get_by_role("banner").get_by_text("problems")).to_be_hidden()
    box = page.get_by_role("combobox", name="Search the lineage").bounding_box()
    assert box is not None
    assert box["width"] > 160


def test_filters_and_order_of_datasets_are_in_one_line(look_at_project: Look) -> None:
    page = look_at_project("/datasets")
    first, last = (page.get_by_label(name) for name in ("Name contains", "Sort by"))
    top = "it => it.getBoundingClientRect().top"
    assert first.evaluate(top) == last.evaluate(top)


def test_error_of_a_failed_job_is_in_its_details(look_at_project: Look) -> None:
    job = "job:shop:dbt.stg_17"
    page = look_at_project(f"/lineage?node={quote(job)}&open={quote(job)}")
    error = details(page).get_by_role("region", name="Lateness")
    expect(error.get_by_role("heading", name="Error")).to_be_visible()
    expect(error).to_contain_text("numeric value 'n/a' is not recognized")


def test_paths_of_several_columns_are_highlighted_together(look_at_project: Look) -> None:
    page = look_at_project(f"{_MART}&columns={quote(_PROD)}mart_17")
    _drawn(page)
    node = page.locator(".react-flow__node-dataset").filter(has=page.get_by_text("mart_17"))
    source = page.locator(".react-flow__node-dataset").filter(has_text="raw_39")
    node.get_by_role("button", name=re.compile("^email")).click()
    expect(page.get_by_test_id("notes")).to_contain_text("Path of column email highlighted")
    expect(source.get_by_role("button", name=re.compile("^id"))).to_have_count(0)
    node.get_by_role("button", name="Highlight the path of id too").click()
    expect(page.get_by_test_id("notes")).to_contain_text("Paths of columns email, id highlighted")
    expect(page).to_have_url(re.compile("also="))
    for hue, column in (("0", "email"), ("1", "id")):
        expect(node.locator(f"[data-hue='{hue}']")).to_contain_text(column)
    expect(page.locator(".react-flow__edge.hue-1").first).to_be_attached()
    page.reload()
    _drawn(page)
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("notes")).not_to_contain_text("highlighted")
    node.get_by_role("button", name=re.compile("^id")).click(modifiers=["ControlOrMeta"])
    node.get_by_role("button", name=re.compile("^email")).click(modifiers=["ControlOrMeta"])
    node.get_by_role("button", name="Stop highlighting the path of id").click()
    expect(page.get_by_test_id("notes")).to_contain_text("Path of column email highlighted")


def test_names_of_columns_are_shown_in_full(look_at_demo: Look) -> None:
    table = quote("dataset:hive://lakehouse:nyc_taxi.yellow_taxi_raw")
    page = look_at_demo(f"/lineage?node={table}&columns={table}")
    _drawn(page)
    expect(page.get_by_role("button", name=re.compile("^tpep_dropoff_datetime"))).to_be_visible()
    names = ".react-flow__node li > button:first-of-type > :first-child"
    assert page.evaluate(_CUT_TEXTS, names) == []
