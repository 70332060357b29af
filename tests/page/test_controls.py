"""The controls around the graph."""

from __future__ import annotations

import re
import uuid

import pytest
from playwright.sync_api import Browser, expect

from tests.looking import Look, looking, open_address

from .conftest import Lineage
from .test_trial import _made
from .test_views import ACTUALS, PREPARE, _at, _node, _node_count

pytestmark = [pytest.mark.browser, pytest.mark.server]


def test_depth_changes_by_one_step_down_to_zero(look: Look) -> None:
    page = look(_at(ACTUALS))
    _node_count(page, 3)
    page.get_by_role("button", name="One step more upstream").click()
    _node_count(page, 4)
    less = page.get_by_role("button", name="One step fewer upstream")
    less.click()
    _node_count(page, 3)
    less.click()
    _node_count(page, 2)
    expect(less).to_be_disabled()


def test_show_all_can_be_undone(look: Look) -> None:
    page = look(_at(ACTUALS))
    _node_count(page, 3)
    every = page.get_by_role("button", name=re.compile("^Everything"))
    count = int(every.locator(".muted").inner_text())
    every.click()
    expect(every).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_test_id("notes")).to_contain_text(f"{count} nodes")
    every.click()
    _node_count(page, 3)


def test_show_all_of_a_large_graph_asks_first(look: Look, lineage: Lineage) -> None:
    name = f"hub_{uuid.uuid4().hex}"
    lineage.take(*(_made(f"{name}_{place}", [name], []) for place in range(301)))
    page = look(_at(f"dataset:trial:{name}", down="0"))
    _node_count(page, 1)
    every = page.get_by_role("button", name=re.compile("^Everything"))
    every.click()
    warning = page.get_by_role("alert").filter(has_text="302 nodes take a while to draw")
    warning.get_by_role("button", name="Cancel").click()
    expect(warning).to_be_hidden()
    _node_count(page, 1)
    every.click()
    warning.get_by_role("button", name="Show all").click()
    expect(page.get_by_test_id("notes")).to_contain_text("302 nodes")


_PANE = "() => document.querySelector('.react-flow__viewport').style.transform"


def test_dragging_the_overview_moves_the_graph(look: Look) -> None:
    page = look(_at(PREPARE, up="100", down="100"), width=1000)
    overview = page.get_by_role("img", name="Overview of the graph")
    expect(overview).to_be_visible()
    box = overview.bounding_box()
    assert box is not None
    transforms: list[str] = []
    page.mouse.move(box["x"] + 10, box["y"] + box["height"] / 2)
    page.mouse.down()
    for place in (20, 60, 100):
        page.mouse.move(box["x"] + place, box["y"] + box["height"] / 2)
        page.wait_for_function(
            f"was => ({_PANE})() !== was", arg=transforms[-1] if transforms else ""
        )
        transforms.append(page.evaluate(_PANE))
    page.mouse.up()
    shifts = [float(re.findall(r"-?[\d.]+", transform)[0]) for transform in transforms]
    assert shifts[0] > shifts[1] > shifts[2], "to the right on the overview, the graph to the left"
    page.mouse.move(box["x"] + 20, box["y"] + 10)
    assert page.evaluate(_PANE) == transforms[-1], "without a button it stays"


def test_copy_writes_to_the_clipboard(browser: Browser, lineage: Lineage) -> None:
    allowed = ["clipboard-read", "clipboard-write"]
    with looking(browser, lineage.url, permissions=allowed) as look:
        page = look(_at(ACTUALS, open=ACTUALS))
        page.get_by_text("On the command line").first.click()
        page.get_by_role("button", name="Copy the command").first.click()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied.startswith("./run lineage ")
        expect(page.locator("pre", has_text=copied).first).to_be_visible()


@pytest.mark.parametrize(("motion", "moves"), [("reduce", False), ("no-preference", True)])
def test_reduced_motion_disables_animations(
    motion: str, moves: bool, browser: Browser, lineage: Lineage
) -> None:
    with looking(browser, lineage.url, reduced_motion=motion) as look:
        page = look(_at(ACTUALS))
        expect(_node(page, "yellow_rides_hourly_actuals")).to_be_visible()
        assert (page.evaluate(_TRANSITIONS) > 0) is moves


_TRANSITIONS = """() => [...document.querySelectorAll("*")].filter((each) => {
    const { transitionDuration, animationName } = getComputedStyle(each);
    return animationName !== "none" || transitionDuration.split(",").some((one) => parseFloat(one));
}).length"""


def test_number_of_occurrences_is_in_the_url(look: Look, lineage: Lineage) -> None:
    name = f"many_{uuid.uuid4().hex}"
    lineage.take(*(_made(f"{name}_{place}", [], []) for place in range(205)))
    page = look(f"/search?text={name}")
    rows = page.get_by_role("list", name="Search results").get_by_role("listitem")
    expect(rows).to_have_count(200)
    page.get_by_role("button", name="Show more").click()
    expect(rows).to_have_count(205)
    page.reload()
    expect(rows).to_have_count(205)
    page.go_back()
    expect(rows).to_have_count(200)


def test_impact_reports_nodes_beyond_its_depth(look: Look, lineage: Lineage) -> None:
    name = f"chain_{uuid.uuid4().hex}"
    lineage.take(
        *(_made(f"{name}_job_{at}", [f"{name}_{at}"], [f"{name}_{at + 1}"]) for at in range(51))
    )
    page = look(f"/impact?node=dataset:trial:{name}_0")
    expect(page.get_by_role("status").filter(has_text="up to 100 steps away")).to_be_visible()
    said = page.get_by_text("there may be more")
    expect(said).to_be_visible()
    open_address(page, page.url.removesuffix("0") + "2")
    expect(page.get_by_role("status").filter(has_text="up to 98 steps away")).to_be_visible()
    expect(said).to_be_hidden()
