"""The page on a phone and on a large screen."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.looking import Look, axe_finds, details, looking

from .conftest import Lineage
from .test_views import _days_ago

pytestmark = [pytest.mark.browser, pytest.mark.server]

_TABLE = "dataset:hive://lake:9083:nyc_taxi.weather_raw"
_GRAPH = f"/lineage?node={_TABLE}"
_SIZES = {"phone": (390, 800), "laptop": (1280, 720), "screen": (1440, 900), "4K": (3840, 2160)}


def _is_within(page: Page) -> bool:
    inside: bool = page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    return inside


_DAYS = f"&from={_days_ago(11)}&at={_days_ago(2)}"
_BESIDE = {
    "nothing": "",
    "details": f"&open={_TABLE}",
    "a moment": f"&at={_days_ago(2)}",
    "two moments": _DAYS,
    "two moments and details": f"{_DAYS}&open={_TABLE}",
}


_TOOLBAR_FITS = """(most) => document.documentElement.scrollWidth <= innerWidth
    && document.querySelector("[role=toolbar]").getBoundingClientRect().height < most"""


_LABELS = {
    "Datasets only": "Datasets",
    "Hide control": "Hide control",
    "Collapse chains": "Chains",
    "Share": "Share",
}


@pytest.mark.parametrize("beside", _BESIDE)
def test_toolbar_is_one_row_and_fits_the_screen(beside: str, look: Look) -> None:
    page = look(_GRAPH + _BESIDE[beside])
    expect(page.locator(f'[data-node="{_TABLE}"]')).to_be_visible()
    for size, (width, height) in _SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        # The time fields have a row of their own on a phone, and several rows between two panels.
        several = "and details" in beside and size != "phone"
        most = height if several else 90 if size == "phone" and "moment" in beside else 60
        page.wait_for_function(_TOOLBAR_FITS, arg=most)
        if beside == "nothing" and size in ("screen", "4K"):
            for name, label in _LABELS.items():
                button = page.get_by_role("toolbar").get_by_role("button", name=name)
                expect(button).to_have_text(label, use_inner_text=True)


def test_toolbar_has_a_menu_on_a_phone(look: Look) -> None:
    page = look(_GRAPH, width=390, height=800)
    expect(page.locator(f'[data-node="{_TABLE}"]')).to_be_visible()
    datasets = page.get_by_role("button", name="Datasets only")
    down = page.get_by_text("Top to bottom")
    expect(down).to_be_hidden()
    options = page.get_by_role("button", name="Options")
    options.click()
    expect(options).to_have_attribute("aria-expanded", "true")
    assert axe_finds(page) == []
    expect(down).to_be_visible()
    datasets.click()
    expect(page.get_by_text("shown as edges")).to_be_visible()
    page.keyboard.press("Escape")
    expect(datasets).to_be_hidden()


def test_details_are_a_sheet_on_a_phone(look: Look) -> None:
    page = look(f"{_GRAPH}&open={_TABLE}", width=390, height=800)
    details = page.get_by_role("complementary", name="Details")
    sheet = details.bounding_box()
    assert sheet is not None
    assert sheet["y"] > 150
    assert sheet["width"] == 390
    for tab in details.get_by_role("tab").all():
        expect(tab).to_be_in_viewport(ratio=0.9)
    assert axe_finds(page) == []
    details.get_by_role("button", name="Close details").click()
    expect(details).to_be_hidden()


def test_search_result_is_readable_on_a_phone(look: Look) -> None:
    page = look(_GRAPH, width=390, height=800)
    page.get_by_role("combobox").fill("mean_distance")
    expect(page.get_by_role("option").first).to_contain_text("yellow_rides_hourly_actuals")
    assert _is_within(page)
    hits = page.get_by_role("listbox").bounding_box()
    assert hits is not None
    assert hits["width"] > 300


_BEYOND = """() => [...document.querySelectorAll("main *")]
    .filter((each) => !each.closest(".hidden, svg, option"))
    .filter((each) => {
        const { left, right, width } = each.getBoundingClientRect();
        const isClipped = getComputedStyle(each).overflowX !== "visible"
            && each.scrollWidth > each.clientWidth + 1;
        return width > 1 && (left < 0 || right > innerWidth || isClipped);
    }).map((each) => each.outerHTML.slice(0, 120))"""


def test_provenance_is_complete_on_a_phone(look: Look) -> None:
    table = "dataset:hive://lake:9083:nyc_taxi.yellow_rides_hourly_forecast"
    page = look(f"/provenance?node={table}", width=390, height=800)
    expect(page.get_by_role("combobox", name="Version").locator("option")).to_have_count(15)
    expect(page.get_by_test_id("origins").get_by_role("listitem").last).to_be_attached()
    assert page.evaluate(_BEYOND) == []
    assert axe_finds(page) == []


def test_search_has_a_short_placeholder_and_no_key_hint_on_a_phone(look: Look) -> None:
    page = look("/", width=390)
    placeholder = "Search tables, columns, tags"
    expect(page.get_by_role("combobox")).to_have_attribute("placeholder", placeholder)
    expect(page.locator("kbd")).to_be_hidden()
    page.set_viewport_size({"width": 1440, "height": 900})
    expect(page.locator("kbd")).to_be_visible()


def test_verdict_is_as_wide_as_the_details(look: Look) -> None:
    page = look(f"{_GRAPH}&open=column:{_TABLE}|prcp")
    panel = page.get_by_role("complementary", name="Details")
    verdict = panel.get_by_role("region", name="Can this column be dropped?").bounding_box()
    frame = panel.bounding_box()
    assert verdict
    assert frame
    assert frame["x"] + frame["width"] - verdict["x"] - verdict["width"] <= 24


_COVERED = """() => {
    const name = it => it.ariaLabel || it.innerText || it.title;
    return [...document.querySelectorAll("button, a[href], input, [role=tab]")]
        .filter(it => !it.closest(".react-flow__viewport") && name(it) !== "Skip to content")
        .filter(it => it.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
        .filter(it => {
            it.scrollIntoView({ block: "center", inline: "center" });
            const { x, y, width, height } = it.getBoundingClientRect();
            const top = document.elementFromPoint(x + width / 2, y + height / 2);
            return width > 1 && !it.contains(top) && !it.closest("label")?.contains(top);
        }).map(name);
}"""
"""Returns the names of controls that another element covers, or that scrolling does not reach."""

_FREE = """() => {
    const graph = document.querySelector("[role=region][aria-label='Lineage graph']");
    graph.scrollIntoView();  // below the differences
    const { x, y, width, height } = graph.getBoundingClientRect();
    const steps = Array.from({ length: 10 }, (_, place) => (place + 0.5) / 10);
    const seen = steps.flatMap(right => steps.map(down =>
        graph.contains(document.elementFromPoint(x + width * right, y + height * down))));
    return [width, height, seen.filter(Boolean).length];
}"""


@pytest.mark.parametrize("beside", ["nothing", "details", "two moments", "two moments and details"])
def test_zoom_of_200_percent_keeps_the_graph_and_reaches_every_control(
    beside: str, browser: Browser, lineage: Lineage
) -> None:
    with looking(browser, lineage.url, device_scale_factor=2) as look:
        page = look(_GRAPH + _BESIDE[beside], width=720, height=450)
        expect(page.locator(f'[data-node="{_TABLE}"]')).to_be_visible()
        if "details" in beside:
            expect(details(page).get_by_role("tab", name="About")).to_be_visible()
        page.wait_for_function("document.documentElement.scrollWidth <= 720")
        width, height, seen = page.evaluate(_FREE)
        assert min(width, height) >= 200
        assert seen > 80, "less than 80 % of the graph is visible"
        assert page.evaluate(_COVERED) == []
