"""The graph fits its window: frames of pipelines, rows, chains and directions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.looking import Look, axe_finds, details

from .conftest import Lineage
from .test_trial import _made

pytestmark = [pytest.mark.browser, pytest.mark.server]

_FORECAST = "/lineage?node=dataset:hive://lakehouse:nyc_taxi.yellow_rides_hourly_forecast"
_INGEST, _TRAIN = "ingest_yellow_taxi_data", "TrainForecastModelFlow"

_SEEN = """() => {
    const frame = document.querySelector('[role=region][aria-busy]').getBoundingClientRect();
    const sizes = [], beyond = [];
    for (const face of document.querySelectorAll("[data-node]")) {
        const box = face.getBoundingClientRect();
        const scale = box.width / face.offsetWidth;
        for (const text of face.querySelectorAll("*"))
            if ([...text.childNodes].some((each) => each.nodeType === 3 && each.data.trim()))
                sizes.push(parseFloat(getComputedStyle(text).fontSize) * scale);
        const isWithin = box.left >= frame.left && box.right <= frame.right;
        if (!isWithin || box.top < frame.top || box.bottom > frame.bottom)
            beyond.push(face.dataset.node);
    }
    return { least: Math.min(...sizes), beyond };
}"""


def _wait_for_graph(page: Page, count: int) -> None:
    expect(page.locator("[data-node]")).to_have_count(count)
    expect(page.locator("[role=region][aria-busy]")).to_have_attribute("aria-busy", "false")


def test_whole_demo_is_in_rows_of_whole_pipelines_also_beside_details(look_at_demo: Look) -> None:
    page = look_at_demo(_FORECAST)
    _wait_for_graph(page, 17)
    seen = page.evaluate(_SEEN)
    assert seen["beyond"] == []
    assert seen["least"] >= 8
    assert len(_tops(page, "TrainForecastModelFlow.")) == 1, "a pipeline is one line"
    assert len(_tops(page, "job:")) > 1, "pipelines are below each other"
    assert axe_finds(page) == []
    notes = page.get_by_test_id("notes")
    page.locator("[data-node][aria-current]").click()
    expect(details(page)).to_be_visible()
    page.wait_for_function(f"() => ({_SEEN})().beyond.length === 0")
    expect(notes).not_to_contain_text("outside the window")
    page.get_by_role("button", name="Close details").click()
    page.wait_for_function(f"(least) => ({_SEEN})().least >= least", arg=seen["least"] - 0.1)
    page.get_by_role("button", name="Pipeline", exact=True).click()
    expect(page.locator('[data-node="job:nyc_taxi:TrainForecastModelFlow"]')).to_be_visible()
    page.wait_for_function(f"() => ({_SEEN})().beyond.length === 0 && ({_SEEN})().least > 10")


def _tops(page: Page, part: str) -> set[int]:
    """Return the vertical positions of the jobs with a text in their ids."""
    boxes = [
        node.bounding_box()
        for node in page.locator(f'[data-node^="job:"][data-node*="{part}"]').all()
    ]
    return {round(box["y"]) for box in boxes if box}


def test_six_nodes_are_one_line_and_many_neighbors_collapse(look: Look, lineage: Lineage) -> None:
    chain = [_made(f"step_{nth}", [f"part_{nth}"], [f"part_{nth + 1}"]) for nth in range(2)]
    lineage.take(*chain, *(_made(f"reader_{nth}", ["part_2"], []) for nth in range(30)))
    page = look("/lineage?node=dataset:trial:part_2&up=9&down=0")
    _wait_for_graph(page, 5)
    assert len(_tops(page, "job:")) == 1
    assert page.evaluate(_SEEN)["beyond"] == []
    page.get_by_role("button", name="One step more downstream").click()
    _wait_for_graph(page, 5 + 12)
    everything = page.get_by_role("button", name="Everything 35")
    expect(everything).to_have_attribute("aria-pressed", "false")
    more = page.get_by_role("button", name="Show 18 more nodes downstream of part_2")
    expect(more).to_have_text("18 more")
    more.click()
    others = page.get_by_role("region", name="18 more downstream of part_2")
    others.get_by_role("searchbox").fill("reader_2 trial")
    others.get_by_role("button", name="Show reader_29").click()
    _wait_for_graph(page, 5 + 13)
    others = page.get_by_role("region", name="17 more downstream of part_2")
    others.get_by_role("button", name="Show all 17", exact=True).click()
    _wait_for_graph(page, 5 + 30)
    expect(others).to_be_hidden()


def test_demo_is_readable_on_a_phone_from_top_to_bottom(look_at_demo: Look) -> None:
    page = look_at_demo(_FORECAST, width=390, height=844)
    _wait_for_graph(page, 17)
    assert page.evaluate(_SEEN)["least"] >= 11
    boxes = [
        box
        for node in page.locator(".react-flow__node:has([data-node])").all()
        if (box := node.bounding_box())
    ]
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= 390 for box in boxes)
    tops = sorted(box["y"] for box in boxes)
    heights = [below - above for above, below in zip(tops, tops[1:], strict=False)]
    assert min(heights) > boxes[0]["height"], "one node below the other"


def test_large_graph_begins_with_the_nearest_nodes(look: Look) -> None:
    page = look("/lineage?node=dataset:hive://lake:9083:nyc_taxi.weather_raw&up=1")
    expect(page.get_by_role("group", name="Steps upstream")).to_contain_text("1")
    expect(page.get_by_role("group", name="Steps downstream")).to_contain_text("all")
    page.get_by_role("button", name="One step fewer downstream").click()
    expect(page.get_by_role("group", name="Steps downstream")).not_to_contain_text("all")


def test_pipeline_collapses_into_one_node_and_expands_again(look_at_demo: Look) -> None:
    page = look_at_demo(_FORECAST)
    frame = page.get_by_role("region", name=f"Pipeline {_INGEST}")
    expect(frame).to_be_visible()
    page.get_by_role("button", name=f"Collapse {_INGEST}").click()
    _wait_for_graph(page, 12)
    expect(frame).to_be_hidden()
    node = page.locator(f'[data-node="job:nyc_taxi:{_INGEST}"]')
    expect(node).to_contain_text("3 jobs · 3 datasets")
    assert "collapsed=job" in page.url
    page.reload()
    _wait_for_graph(page, 12)
    assert axe_finds(page) == []
    page.get_by_role("button", name=f"Expand {_INGEST}").press("Enter")
    _wait_for_graph(page, 17)
    page.go_back()
    _wait_for_graph(page, 12)


def test_chains_collapse_on_demand_and_one_expands(look_at_demo: Look) -> None:
    page = look_at_demo(_FORECAST)
    chains = page.get_by_role("button", name="Collapse chains")
    chains.click()
    _wait_for_graph(page, 10)
    expect(page.locator('[data-node^="chain:"]')).to_have_count(2)
    page.get_by_role("button", name="Expand 7 steps in a row").click()
    _wait_for_graph(page, 16)
    chains.click()
    _wait_for_graph(page, 17)


def test_direction_is_selectable_and_in_the_address(look_at_demo: Look) -> None:
    page = look_at_demo(_FORECAST)
    _wait_for_graph(page, 17)
    below = page.locator(".react-flow__handle-bottom")
    expect(below).to_have_count(0)
    down = page.get_by_role("button", name="Top to bottom")
    down.click()
    expect(below).to_have_count(17)
    expect(down).to_have_attribute("aria-pressed", "true")
    assert "direction=down" in page.url
    down.click()
    expect(below).to_have_count(0)


_UNDER = """path => {
    const nodes = [...document.querySelectorAll(".react-flow__node:has([data-node])")];
    const boxes = nodes.map((e) => e.getBoundingClientRect());
    const at = path.getScreenCTM(), length = path.getTotalLength();
    const isUnder = (p, b) => p.x > b.left + 2 && p.x < b.right - 2
        && p.y > b.top + 2 && p.y < b.bottom - 2;
    return Array.from({ length: 98 }, (_, i) => path.getPointAtLength(((i + 1) / 99) * length))
        .map((p) => p.matrixTransform(at)).filter((p) => boxes.some((b) => isUnder(p, b))).length;
}"""


@pytest.mark.parametrize("direction", ["right", "down"])
@pytest.mark.parametrize("width", [1440, 390])
def test_no_edge_of_a_wrapped_graph_is_under_a_node(
    width: int, direction: str, look_at_demo: Look
) -> None:
    page = look_at_demo(f"{_FORECAST}&direction={direction}", width=width)
    _wait_for_graph(page, 17)
    edges = page.locator(".react-flow__edge path.react-flow__edge-path")
    expect(edges).not_to_have_count(0)
    assert [edge.evaluate(_UNDER) for edge in edges.all()] == [0] * edges.count()


def test_column_path_is_highlighted_in_rows_and_from_top_to_bottom(look: Look) -> None:
    lake = "dataset:hive://lake:9083:nyc_taxi."
    column = f"{lake}yellow_rides_hourly_actuals|mean_distance"
    for direction in ("right", "down"):
        page = look(
            f"/lineage?node={lake}yellow_rides_hourly_forecast&column={column}"
            f"&direction={direction}"
        )
        expect(page.locator(".react-flow__node li:has([aria-pressed=true])")).not_to_have_count(0)
        expect(page.locator(".react-flow__edge.column.lit").first).to_be_attached()


def test_exported_picture_has_the_proportions_of_a_page(look_at_demo: Look, tmp_path: Path) -> None:
    page = look_at_demo(_FORECAST)
    _wait_for_graph(page, 17)
    page.get_by_role("button", name="Share").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name=re.compile("Drawing")).or_(
            page.get_by_role("button", name=re.compile("Drawing"))
        ).click()
    download.value.save_as(tmp_path / "graph.svg")
    svg = (tmp_path / "graph.svg").read_text()
    found = re.search(r'width="([\d.]+)" height="([\d.]+)"', svg)
    assert found is not None
    width, height = (float(size) for size in found.groups())
    assert 1 < width / height < 4
    assert f">{_TRAIN}</text>" in svg
