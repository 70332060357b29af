"""Problems of first-time users of the page."""

from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from tests.looking import Look, axe_finds, walk_every_view

from .conftest import Lineage
from .test_views import _LAKE, ACTUALS, FORECAST, NEAR, PREPARE

pytestmark = [pytest.mark.browser, pytest.mark.server]

_SPANS = """all => all.map((e) => e.getBoundingClientRect()).map((e) => [e.left, e.right])"""
_IS_IN_ITS_WINDOW = """id => {
    const node = document.querySelector(`[data-node="${CSS.escape(id)}"]`)?.getBoundingClientRect();
    const frame = document.querySelector('[role=region][aria-busy]').getBoundingClientRect();
    return node && node.left >= frame.left && node.right <= frame.right
        && node.top >= frame.top && node.bottom <= frame.bottom;
}"""


_PARTLY_HIDDEN = """() => {
    const canvas = document.querySelector('.react-flow').getBoundingClientRect();
    const buttons = document.querySelector('[aria-label="Zoom in"]').parentElement;
    const { right, top } = buttons.getBoundingClientRect();
    const boxes = [...document.querySelectorAll(".react-flow__node:has([data-node])")];
    return boxes.map((node) => node.getBoundingClientRect()).filter((box) =>
        box.left < canvas.left || box.right > canvas.right || box.top < canvas.top
        || box.bottom > canvas.bottom || box.left < right && box.bottom > top).length;
}"""


def _at(node: str, **others: str) -> str:
    return f"/lineage?{urlencode({'node': node, **NEAR, **others})}"


def test_opened_details_leave_the_node_visible(look: Look) -> None:
    page = look(_at(PREPARE, up="100", down="100"))
    faces = page.locator("[data-node]")
    expect(faces.first).to_be_visible()
    rights = "all => all.map(e => [e.getBoundingClientRect().right, e.dataset.node])"
    frame = page.locator("[role=region][aria-busy]").bounding_box()
    assert frame
    visible = [
        face for face in faces.evaluate_all(rights) if face[0] <= frame["x"] + frame["width"]
    ]
    id_ = max(visible)[1]
    node = page.locator(f'[data-node="{id_}"]')
    node.click()
    node.click()
    expect(page.get_by_role("complementary", name="Details")).to_be_visible()
    page.wait_for_function(_IS_IN_ITS_WINDOW, arg=id_)


def test_failed_task_and_its_pipeline_are_visible_beside_the_details(look: Look) -> None:
    page = look("/")
    runs = page.get_by_role("region", name="Newest runs").get_by_role("link", name="Failed")
    runs.filter(has_text="ingest_weather_data").first.click()
    expect(page.get_by_role("region", name="Failed child runs")).to_be_visible()
    stage = "job:nyc_taxi:ingest_weather_data.stage"
    page.wait_for_function(_IS_IN_ITS_WINDOW, arg=stage)
    pipeline = page.get_by_role("region", name="Pipeline ingest_weather_data")
    name = pipeline.get_by_role("button", name="ingest_weather_data", exact=True)
    canvas, label = (
        page.get_by_role("region", name="Lineage graph").bounding_box(),
        name.bounding_box(),
    )
    assert canvas
    assert label
    assert canvas["x"] <= label["x"]
    assert label["x"] + label["width"] <= canvas["x"] + canvas["width"]
    node = page.locator(f'[data-node="{stage}"]').bounding_box()
    assert node
    for overview in page.get_by_role("img", name="Overview of the graph").all():
        box = overview.bounding_box()
        assert box is None or node["y"] + node["height"] <= box["y"]


def test_partly_visible_graph_can_be_fitted(look: Look) -> None:
    page = look(_at(FORECAST, up="100", down="100"), width=1000, height=700)
    notes = page.get_by_test_id("notes")
    expect(notes).to_contain_text("outside the window")
    count = page.evaluate(_PARTLY_HIDDEN)
    expect(notes).to_contain_text(re.compile(rf"\b{count} nodes are outside the window"))
    overview = page.get_by_role("img", name="Overview of the graph")
    expect(overview).to_be_visible()
    expect(page.get_by_role("region", name="Timeline").locator("p")).to_contain_text(
        "within all steps upstream and all downstream"
    )
    notes.get_by_role("button", name="Fit all").click()
    expect(notes).not_to_contain_text("outside the window")
    expect(overview).to_be_hidden()
    small = look(_at(PREPARE, up="100", down="100"), width=860)
    expect(small.get_by_test_id("notes")).to_contain_text("outside the window")
    expect(small.get_by_role("img", name="Overview of the graph")).to_be_hidden()


def test_focus_moves_from_search_to_root_and_back_from_details(
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
    expect(page.get_by_role("tooltip")).to_contain_text("nyc_taxi.yellow_rides_hourly_actuals")
    page.keyboard.press("/")
    page.keyboard.type("hourly_act")
    expect(page.get_by_role("option").first).to_contain_text("yellow_rides_hourly_actuals")
    page.keyboard.press("Enter")
    expect(root).to_be_focused()


def _made(job: str, of: list[str], outputs: list[str]) -> dict[str, Any]:
    """Return a run that wrote datasets from others."""
    return {
        "eventType": "COMPLETE",
        "eventTime": "2026-01-01T00:00:00Z",
        "producer": "https://example.org/test",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": str(uuid.uuid4())},
        "job": {"namespace": "trial", "name": job},
        "inputs": [{"namespace": "trial", "name": name} for name in of],
        "outputs": [{"namespace": "trial", "name": name} for name in outputs],
    }


def test_plus_is_only_shown_if_it_adds_a_node(look: Look, lineage: Lineage) -> None:
    lineage.take(_made("back", ["forth_table"], ["back_table"]))
    lineage.take(_made("forth", ["back_table"], ["forth_table"]))
    page = look(_at("dataset:trial:back_table", level="pipeline"))
    expect(page.locator("[data-node]")).to_have_count(3)
    page.get_by_role("button", name="Show 1 more node upstream of back", exact=True).click()
    expect(page.locator("[data-node]")).to_have_count(4)
    expect(page.locator(".react-flow__edge")).to_have_count(4)
    expect(page.get_by_role("button", name=re.compile(r"^Show \d+ more node"))).to_have_count(0)


def test_highlighted_path_only_contains_inputs_of_the_output(look: Look, lineage: Lineage) -> None:
    copies = _made("copy_each", ["first", "second"], ["first_copy", "second_copy"])
    copies["job"]["facets"] = {"lineage": {"entries": [
        {"type": "DATASET", "namespace": "trial", "name": f"{name}_copy",
         "inputs": [{"type": "DATASET", "namespace": "trial", "name": name}]}
        for name in ("first", "second")
    ]}}  # fmt: skip
    lineage.take(copies)
    page = look(_at("job:trial:copy_each", lit="dataset:trial:first_copy"))
    dimmed = page.locator("[data-dim] [data-node] > :first-child")
    expect(dimmed).to_have_text(["second", "second_copy"])
    expect(page.locator(".react-flow__edge.lit")).to_have_count(2)


def test_plus_shows_the_announced_number_of_nodes(look: Look, lineage: Lineage) -> None:
    lineage.take(_made("sum", ["in_1", "in_2", "in_3"], ["sums"]), _made("use", ["sums"], ["used"]))
    lineage.take(_made("make_in_1", ["source"], ["in_1"]))
    page = look(_at("dataset:trial:used"))
    nodes = page.locator("[data-node]")
    expect(nodes).to_have_count(2)
    for more, name in (("1 more node", "use"), ("1 more node", "sums"), ("3 more nodes", "sum"),
                       ("1 more node", "in_1")):  # fmt: skip
        page.get_by_role("button", name=f"Show {more} upstream of {name}", exact=True).click()
    expect(nodes).to_have_count(8)
    page.get_by_role("button", name="Hide nodes upstream of sums").click()
    expect(nodes).to_have_count(3)
    page.get_by_role("button", name="Show 5 more nodes upstream of sums").click()
    expect(nodes).to_have_count(8)
    expect(page.get_by_text("collapsed")).to_have_count(0)


def test_jobs_as_lines_are_counted(look: Look) -> None:
    page = look(_at(FORECAST, only="datasets", up="3", down="0"))
    note = page.get_by_test_id("notes").locator("span").filter(has_text="shown as edges")
    expect(note).to_contain_text(re.compile(r"^[1-9]"))
    count = int((note.text_content() or "").split()[0])
    note.get_by_role("button", name="Show").click()
    jobs = page.locator('[data-node^="job:"]')
    expect(jobs).to_have_count(count)


def test_datasets_only_view_shows_direct_neighbors(look: Look, lineage: Lineage) -> None:
    page = look(_at(FORECAST, only="datasets"))
    expect(page.locator("[data-node]")).to_have_count(2)
    expect(page.get_by_test_id("notes")).to_contain_text("1 job shown as edges")
    page.get_by_role("button", name=re.compile("Show 1 more node upstream of .*model")).click()
    expect(page.locator("[data-node]")).to_have_count(3)
    lineage.take(_made("writes_alone", [], ["alone_table"]))
    page = look(_at("dataset:trial:alone_table", only="datasets"))
    notes = page.get_by_test_id("notes")
    expect(notes).to_contain_text("No jobs connect it to other datasets")
    notes.get_by_role("button", name="Show jobs").click()
    expect(page.locator("[data-node]")).to_have_count(2)


_UNNAMED = """() => [...document.querySelectorAll("button")]
    .filter((each) => each.checkVisibility() && !each.innerText.trim())
    .filter((each) => !each.title || !(each.ariaLabel || each.innerText))
    .map((each) => each.outerHTML.slice(0, 120))"""


@pytest.mark.parametrize("width", [1440, 390])
def test_icon_buttons_have_tooltips_for_mouse_and_keyboard(width: int, look: Look) -> None:
    page = look(_at(PREPARE, moment="2026-01-01", open=PREPARE, up="2"), width=width)
    expect(page.get_by_role("tab", name="About")).to_be_visible()
    assert page.evaluate(_UNNAMED) == []
    page.get_by_role("button", name="Zoom in").focus()
    page.keyboard.press("Tab")
    tip = page.get_by_role("tooltip")
    expect(tip).to_have_text("Zoom out")
    expect(tip).to_be_in_viewport(ratio=1)
    page.keyboard.press("Escape")
    expect(tip).to_be_hidden()


def test_legend_can_be_folded(look: Look) -> None:
    page = look(_at(ACTUALS))
    expect(page.locator("[data-node]").first).to_be_visible()
    button = page.get_by_role("button", name="Legend")
    button.click()
    legend = page.get_by_role("list", name="Legend")
    expect(legend).to_contain_text("Control dependency")
    assert axe_finds(page) == []
    button.click()
    expect(legend).to_be_hidden()


def test_escape_closes_the_legend_before_the_details(look: Look) -> None:
    page = look(_at(ACTUALS, open=ACTUALS))
    expect(page.get_by_role("complementary", name="Details")).to_be_visible()
    legend = page.get_by_role("list", name="Legend")
    page.keyboard.press("?")
    expect(legend).to_be_visible()
    page.keyboard.press("Escape")
    expect(legend).to_be_hidden()
    expect(page.get_by_role("complementary", name="Details")).to_be_visible()


def test_dataset_labels_are_explained(look: Look) -> None:
    page = look(_at(f"{_LAKE}yellow_taxi_staging", up="9"))
    staging = page.locator(f'[data-node="{_LAKE}yellow_taxi_staging"]')
    lines = ["Hive table · nyc_taxi", "Failed checks", "3.2M rows"]
    expect(staging).to_have_text(re.compile(".*".join(lines)))
    expect(staging).not_to_contain_text("version")
    source = page.locator("[data-node^='dataset:https:']")
    title = "No reported run wrote it"
    expect(source.get_by_title(title).first).to_have_text("Source")


def test_facts_of_a_dataset_do_not_overlap(look: Look, lineage: Lineage) -> None:
    of_columns = [("pii", "a"), ("pii", "b"), ("gold", "a")]  # the 4 tags of the whole table too
    keys = [*((key, "") for key in ("pii", "daily", "gold", "raw")), *of_columns]
    tags = {"tags": [{"key": key, "value": "true", "field": field} for key, field in keys]}
    checks = {"dataQualityAssertions": {"assertions": [{"assertion": "unique", "success": True}]}}
    written = _made("fill_tagged", [], ["tagged"])
    written["eventTime"] = (datetime.now(UTC) - timedelta(minutes=55)).isoformat()
    facts = {"outputStatistics": {"rowCount": 120_000}}
    written["outputs"][0] |= {"facets": {"tags": tags}, "outputFacets": facts}
    checked = _made("check_tagged", ["tagged"], [])
    checked["inputs"][0]["inputFacets"] = checks
    lineage.take(written, checked)
    page = look(_at("dataset:trial:tagged"))
    passed = page.locator('[data-node="dataset:trial:tagged"]').get_by_title(
        "All newest checks passed"
    )
    expect(passed).to_be_visible()
    facts_row = passed.locator("xpath=..")
    expect(facts_row.get_by_text("4 tags")).to_be_visible()
    widths = facts_row.get_by_text("4 tags").evaluate("e => [e.scrollWidth, e.clientWidth]")
    assert widths[0] <= widths[1], "the number of tags is not cut"
    spans = facts_row.locator(":scope > *").evaluate_all(_SPANS)
    chevron = page.get_by_role("button", name="Columns of tagged").evaluate_all(_SPANS)
    for (_, right), (left, _) in pairwise([*spans, *chevron]):
        assert right <= left


def test_every_view_works_by_keyboard(look: Look) -> None:
    walk_every_view(look("/"))
