"""Time on the page: timeline, changes, and two times side by side."""

from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, quote, urlparse

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.looking import Look, axe_finds, keep

from .conftest import Lineage
from .test_views import _LAKE, PREPARE, RAW, _at, _days_ago, _node

pytestmark = [pytest.mark.browser, pytest.mark.server]

_WEATHER = f"{_LAKE}weather_raw"


def _address(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlparse(page.url).query).items()}


def _timeline(page: Page) -> Locator:
    return page.get_by_role("region", name="Timeline")


def test_timeline_shows_the_day_of_a_new_input(
    look: Look,
) -> None:
    page = look(_at(PREPARE, up="3"))
    expect(_timeline(page).get_by_text("weather_raw → prepare_training_data")).to_be_visible()
    _timeline(page).get_by_role(
        "button", name=re.compile("weather_raw became an input of prepare_training_data")
    ).click()
    changes = page.get_by_role("complementary", name="Differences")
    expect(changes.get_by_text("now reads weather_raw")).to_be_visible()
    expect(page.locator(".react-flow__edge.added")).to_have_count(1)
    page.go_back()
    expect(changes).to_be_hidden()


def test_timeline_bars_show_past_graph_and_difference(look: Look) -> None:
    page = look(_at(PREPARE, up="3"))
    bars = _timeline(page).get_by_role("group", name="Runs").get_by_role("button")
    expect(bars).to_have_count(14)
    expect(_node(page, "weather_raw")).to_be_visible()
    bars.nth(2).click()
    expect(page.get_by_text("As of 20")).to_be_visible()
    expect(_node(page, "weather_raw")).to_be_hidden()
    bars.last.click(modifiers=["Shift"])
    expect(page.get_by_text("now reads weather_raw")).to_be_visible()
    assert _address(page).keys() >= {"from"}
    assert "at" not in _address(page), "the last bar is the present"


def test_timeline_works_by_keyboard(look: Look) -> None:
    page = look(_at(PREPARE, up="3"))
    marks = _timeline(page).get_by_role("group", name="Changes").get_by_role("button")
    marks.last.focus()
    page.keyboard.press("ArrowLeft")
    expect(marks.nth(1)).to_be_focused()
    expect(page.get_by_role("region", name="Timeline").locator("p")).to_contain_text(
        "weather_raw became an input"
    )
    page.keyboard.press("Home")
    expect(marks.first).to_be_focused()
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(page.get_by_text("now reads weather_raw")).to_be_visible()


def test_timeline_range_and_visibility_are_in_the_url(look: Look) -> None:
    page = look(_at(PREPARE))
    runs = _timeline(page).get_by_role("group", name="Runs").get_by_role("button")
    expect(runs).to_have_count(14)
    # The shortest range with all runs begins at the first one.
    expect(_timeline(page).locator("[aria-pressed=true]")).to_have_text("All")
    expect(runs.first).to_have_css("left", "0px")
    _timeline(page).get_by_role("button", name="24 h").click()
    expect(runs).not_to_have_count(14)
    assert _address(page)["timeline"] == "day"
    _timeline(page).get_by_role("button", name="Timeline").click()
    expect(runs).to_have_count(0)
    page.reload()
    expect(_timeline(page).get_by_role("button", name="Timeline")).to_have_attribute(
        "aria-expanded", "false"
    )


@pytest.mark.parametrize(("range_", "days"), [("7 d", 7), ("30 d", 30)])
def test_axis_of_the_timeline_is_the_pressed_range(range_: str, days: int, look: Look) -> None:
    page = look(_at(PREPARE))
    _timeline(page).get_by_role("button", name=range_, exact=True).click()
    bars = _timeline(page).get_by_role("group", name="Runs").get_by_role("button")
    # The range begins at a full hour, so it may contain the end of one more night.
    expect(bars.nth(min(days, 14) + 1)).to_have_count(0)
    expect(bars.nth(min(days, 14) - 1)).to_be_visible()
    first = float(bars.first.evaluate("bar => parseFloat(bar.style.left)"))
    age = days * (100 - first) / 100
    assert age == pytest.approx(min(days - 0.5, 13.5), abs=0.6)


@pytest.mark.parametrize("where", ["timeline", "list"])
def test_change_brings_both_ends_of_its_edge_into_view(where: str, look: Look) -> None:
    page = look(_at(PREPARE, up="3"), width=800, height=640)
    name = "weather_raw became an input of prepare_training_data"
    _timeline(page).get_by_role("button", name=re.compile(name)).click()
    if where == "list":
        for _ in range(4):
            page.get_by_role("button", name="Zoom in").click()
        changes = page.get_by_role("complementary", name="Differences")
        changes.get_by_role("button", name=re.compile("now reads weather_raw")).click()
    for end in ("weather_raw", "prepare_training_data"):
        expect(_node(page, end)).to_be_in_viewport(ratio=0.99)


def test_changes_are_grouped_by_dataset_and_job(look: Look) -> None:
    page = look(_at(PREPARE, **{"from": _BEFORE}))
    changes = page.get_by_role("complementary", name="Differences")
    datasets = changes.get_by_role("region", name="Datasets").get_by_role("heading", level=4)
    taxi = datasets.filter(has_text="yellow_taxi")  # other tests change other datasets
    expect(taxi).to_have_text(["tableyellow_taxi_raw", "tableyellow_taxi_staging"])
    job = changes.get_by_role("region", name="Jobs").get_by_role("list", name="prepare_training")
    expect(job.get_by_role("button")).to_contain_text(["now reads weather_raw"])


@pytest.mark.parametrize("node", [PREPARE, _WEATHER])
def test_history_shows_when_a_dataset_became_an_input(node: str, look: Look) -> None:
    page = look(_at(PREPARE, open=node, tab="history"))
    entry = page.get_by_role("complementary", name="Details").get_by_role("listitem")
    entry = entry.filter(has_text="weather_raw became an input of prepare_training_data")
    entry.get_by_role("link", name="Before and after").click()
    expect(page.get_by_text("now reads weather_raw")).to_be_visible()


def test_timeline_leads_back_from_a_time_without_the_node(look: Look) -> None:
    page = look(_at(PREPARE, at=_days_ago(300)))
    expect(page.get_by_role("alert")).to_contain_text("at that moment")
    _timeline(page).get_by_role("group", name="Runs").get_by_role("button").last.click()
    expect(_node(page, "prepare_training_data")).to_be_visible()


def test_comparison_states_that_its_node_did_not_exist_yet(look: Look) -> None:
    page = look(_at(PREPARE, at=_days_ago(300), **{"from": _days_ago(301)}))
    expect(page.get_by_text("prepare_training_data did not exist at that time.")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    page.get_by_role("button", name="Show the current graph").click()
    expect(_node(page, "prepare_training_data")).to_be_visible()


@pytest.mark.parametrize("time", ["at", "from"])
def test_invalid_time_is_rejected_with_a_link_to_now(time: str, look: Look) -> None:
    page = look(_at(PREPARE, **{time: "yesterday"}))
    refusal = page.get_by_role("alert")
    expect(refusal).to_contain_text("received 'yesterday', expected a time such as 2026-")
    refusal.get_by_role("button", name="Show the current graph").click()
    expect(_node(page, "prepare_training_data")).to_be_visible()
    expect(refusal).to_be_hidden()


_BEFORE = _days_ago(11)
_STAGING = f"{_LAKE}yellow_taxi_staging"
_COLUMNS = _at(RAW, up="2", down="0", columns=RAW, **{"from": _BEFORE})
_COLUMNS += f"&columns={quote(_STAGING)}"
VIEWS = {
    "columns of two moments": _COLUMNS,
    "beside": _at(PREPARE, up="1", at=_BEFORE, moment=_BEFORE, beside="now"),
    "timeline": _at(PREPARE, up="3"),
    "runs": _at(PREPARE, open="job:nyc_taxi:TrainForecastModelFlow", tab="runs"),
    "history": _at(PREPARE, open=_WEATHER, tab="history"),
}


@pytest.mark.parametrize("name", VIEWS)
def test_time_views_have_no_axe_violations(name: str, look: Look) -> None:
    page = look(VIEWS[name])
    expect(page.locator("[data-node]").first).to_be_visible()
    expect(
        page.get_by_role("region", name="Timeline")
        .get_by_role("button", name="View the graph")
        .first
    ).to_be_visible()
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    keep(page, name)
    assert axe_finds(page) == []


def _height(part: Locator) -> float:
    box = part.bounding_box()
    assert box is not None
    return box["height"]


def test_timeline_and_difference_fit_a_phone(look: Look) -> None:
    page = look(_at(PREPARE, at=_days_ago(2), **{"from": _BEFORE}), width=390, height=800)
    for name in ("^From ", "^To ", "^Now$", "^Compare$"):
        controls = page.get_by_role("toolbar").get_by_role("button", name=re.compile(name))
        expect(controls).to_be_in_viewport(ratio=1)
    changes = page.get_by_role("complementary", name="Differences")
    graph = page.locator("[role=region][aria-busy=false]")
    expect(graph).to_be_visible()
    assert _height(changes) > 250
    assert _height(graph) > 250
    changes.get_by_role("button", name=re.compile("now reads weather_raw")).click()
    expect(graph).to_be_in_viewport(ratio=1)
    for part in (_timeline(page).get_by_role("button", name="24 h"), page.get_by_test_id("notes")):
        part.scroll_into_view_if_needed()
        expect(part).to_be_in_viewport(ratio=0.99)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_all_differences_are_shown_on_a_phone(look: Look) -> None:
    page = look(f"/lineage?from={_BEFORE}", width=390, height=800)
    changes = page.get_by_role("complementary", name="Differences")
    expect(changes).to_be_visible()
    assert changes.evaluate("it => it.scrollHeight <= it.clientHeight")
    changes.get_by_role("button").last.click()
    expect(page.locator("[role=region][aria-busy=false]")).to_be_in_viewport(ratio=1)


def test_two_times_are_stacked_on_a_phone(look: Look) -> None:
    page = look(VIEWS["beside"], width=390, height=800)
    graphs = page.locator("[role=region][aria-busy=false]")
    expect(graphs).to_have_count(2)
    for graph in graphs.all():
        assert _height(graph) > 240
        graph.scroll_into_view_if_needed()
        expect(graph).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def _picker(page: Page, label: str) -> Locator:
    page.get_by_role("button", name=re.compile(f"^{label}")).click()
    return page.get_by_role("dialog", name="select a time in UTC")


def test_time_is_picked_from_presets_in_utc(look: Look) -> None:
    page = look(_at(PREPARE))
    toolbar = page.get_by_role("group", name="Time, in UTC")
    before = datetime.now(UTC)
    with page.expect_response(re.compile("/api/v2/runs")) as response:
        dialog = _picker(page, "Now")
    last = response.value.json()["items"][0]["endedAt"]
    dialog.get_by_role("button", name="Last successful run").click()
    page.wait_for_url(re.compile(quote(last)))
    expect(dialog).to_be_hidden()
    for preset, hours in (("1 h ago", 1), ("24 h ago", 24)):
        _picker(page, "As of").get_by_role("button", name=preset).click()
        expect(dialog).to_be_hidden()
        expect(toolbar.get_by_role("button", name=re.compile("^As of .* UTC$"))).to_be_visible()
        age = before - datetime.fromisoformat(_address(page)["at"])
        assert abs(age - timedelta(hours=hours)) < timedelta(minutes=5)
    for preset, days in (("Yesterday", 1), ("Last week", 7)):
        _picker(page, "As of").get_by_role("button", name=preset).click()
        day = (before - timedelta(days=days)).strftime("%Y-%m-%dT00:00:00Z")
        page.wait_for_url(re.compile(quote(day)))


def test_calendar_and_time_work_by_keyboard(look: Look) -> None:
    page = look(_at(PREPARE, at="2026-03-01T09:30:00Z", timeline="no"))
    dialog = _picker(page, "As of")
    expect(dialog.get_by_text("March 2026")).to_be_visible()
    dialog.get_by_role("button", name="1 March 2026", exact=True).focus()
    page.keyboard.press("ArrowLeft")
    expect(dialog.get_by_text("February 2026")).to_be_visible()
    expect(dialog.get_by_role("button", name="28 February 2026", exact=True)).to_be_focused()
    time = dialog.get_by_role("textbox", name="Time, in UTC")
    time.fill("25:00")
    expect(dialog.get_by_role("alert")).to_have_text("Enter a time such as 09:30.")
    assert axe_finds(page) == []
    time.fill("8:05")
    time.press("Enter")
    expect(dialog).to_be_hidden()
    assert _address(page)["at"] == "2026-02-28T08:05:00Z"
    dialog = _picker(page, "As of")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("button", name=re.compile("^As of"))).to_be_focused()


def test_picker_fits_a_phone(look: Look) -> None:
    page = look(_at(PREPARE, at=_days_ago(2)), width=390, height=800)
    dialog = _picker(page, "As of")
    for part in ("Yesterday", "Apply"):
        expect(dialog.get_by_role("button", name=part)).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_times_are_tabs_that_can_be_closed(look: Look) -> None:
    page = look(_at(PREPARE, up="3"))
    bars = _timeline(page).get_by_role("group", name="Runs").get_by_role("button")
    bars.nth(2).click()
    expect(_node(page, "weather_raw")).to_be_hidden()
    tabs = page.get_by_role("list", name="Open times").get_by_role("listitem")
    expect(tabs).to_have_count(2)
    tabs.first.get_by_role("button", name="Now", exact=True).click()
    expect(_node(page, "weather_raw")).to_be_visible()
    expect(tabs).to_have_count(2)
    tabs.last.get_by_role("button").first.click()
    expect(_node(page, "weather_raw")).to_be_hidden()
    tabs.last.get_by_role("button", name=re.compile("Close")).click()
    expect(tabs).to_have_count(0)
    expect(_node(page, "weather_raw")).to_be_visible()


def test_two_times_are_shown_side_by_side(look: Look) -> None:
    page = look(_at(PREPARE, up="1"))
    bars = _timeline(page).get_by_role("group", name="Runs").get_by_role("button")
    bars.nth(2).click()
    page.get_by_role("button", name="Show Now beside").click()
    then, now = (
        page.locator("main section:has([role=region][aria-busy])").nth(place) for place in (0, 1)
    )
    expect(then.locator("[data-node$=prepare_training_data]")).to_be_visible()
    expect(then.locator("[data-node$=weather_raw]")).to_have_count(0)
    expect(now.locator("[data-node$=weather_raw]")).to_be_visible()
    now.get_by_role("button", name=re.compile("Show 1 more node upstream of .*actuals")).click()
    for pane in (then, now):
        expect(pane.locator("[data-node$=compute_actuals]")).to_be_visible()
    expect(then.locator("[data-node$=weather_raw]")).to_have_count(0)
    now.get_by_role("button", name="Close the comparison with Now").click()
    expect(page.locator("main section:has([role=region][aria-busy])")).to_have_count(1)


def _places(pane: Locator) -> dict[str, tuple[int, int]]:
    """Return the place of every node within its pane."""
    box = pane.locator("[role=region][aria-busy]").bounding_box()
    assert box is not None
    found = {}
    for node in pane.locator("[data-node]").all():
        place = node.bounding_box()
        assert place is not None
        name = node.get_attribute("data-node") or ""
        found[name] = (round(place["x"] - box["x"]), round(place["y"] - box["y"]))
    return found


def test_two_times_side_by_side_are_aligned_and_pan_together(look: Look) -> None:
    page = look(_at(PREPARE, up="3", at=_BEFORE, moment=_BEFORE, beside="now"))
    panes = [
        page.locator("main section:has([role=region][aria-busy])").nth(place) for place in (0, 1)
    ]
    expect(panes[1].locator("[data-node$=weather_raw]")).to_be_visible()
    expect(panes[0].locator(f'[data-node="{PREPARE}"]')).to_be_visible()
    then, now = map(_places, panes)
    assert len(now) > len(then) > 3
    assert {name: now[name] for name in then} == then
    box = panes[0].locator("[role=region][aria-busy]").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 40, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + 140, box["y"] + 90, steps=4)
    page.mouse.up()
    panes[1].get_by_role("button", name="Zoom out").click()
    then, after = map(_places, panes)
    assert after[PREPARE] != now[PREPARE]
    assert {name: after[name] for name in then} == then


def test_added_column_and_its_line_are_marked(look: Look) -> None:
    page = look(_COLUMNS)
    rows = page.locator(".react-flow__node li").filter(has_text="cbd_congestion_fee")
    expect(rows.get_by_text("Added", exact=True)).to_have_count(2)
    expect(
        page.locator(".react-flow__node li").get_by_text(re.compile("^(Added|Removed|Changed)$"))
    ).to_have_count(2)
    expect(page.locator(".react-flow__edge.column.added")).to_have_count(1)
    changes = page.get_by_role("complementary", name="Differences")
    expect(changes.get_by_text("+ cbd_congestion_fee: double")).to_have_count(2)


def test_schema_change_links_to_the_columns(look: Look) -> None:
    page = look(_at(PREPARE, **{"from": _BEFORE}))
    changes = page.get_by_role("complementary", name="Differences")
    changes.get_by_role("button", name=re.compile("yellow_taxi_raw.*cbd_congestion_fee")).click()
    expect(
        page.locator(".react-flow__node li").filter(has_text="cbd_congestion_fee")
    ).to_be_visible()


def test_start_page_links_to_changes_since_last_week(look: Look) -> None:
    page = look("/")
    page.get_by_role("link", name="Changes since last week").click()
    changes = page.get_by_role("complementary", name="Differences")
    expect(changes.get_by_text("+ cbd_congestion_fee: double").first).to_be_visible()
    expect(page.get_by_text("Select a change to show it in the graph.")).to_be_visible()
    assert "node=" not in page.url
    page.go_back()
    expect(page.get_by_text("Newest runs")).to_be_visible()


def test_added_node_is_not_requested_at_the_time_before_it_existed(
    look: Look, lineage: Lineage
) -> None:
    lineage.take(
        {
            "eventType": "COMPLETE",
            "eventTime": (datetime.now(UTC) - timedelta(minutes=30)).isoformat(),
            "producer": "https://example.org/test",
            "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
            "run": {"runId": str(uuid.uuid4())},
            "job": {"namespace": "trial", "name": "write_brand_new"},
            "outputs": [{"namespace": "trial", "name": "brand_new"}],
        }
    )
    page = look("/")
    failing: list[str] = []
    page.on("response", lambda answer: failing.append(answer.url) if not answer.ok else None)
    page.get_by_role("link", name="Changes since last week").click()
    changes = page.get_by_role("complementary", name="Differences")
    changes.get_by_role("button", name=re.compile("^brand_new: Added")).click()
    expect(page.locator('[data-node="dataset:trial:brand_new"]')).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert failing == []


def test_empty_difference_is_stated(look: Look) -> None:
    page = look(f"/lineage?from={_days_ago(0)}")
    expect(page.get_by_text("No differences.", exact=True)).to_be_visible()


def test_child_runs_are_a_tree_that_works_by_keyboard(look: Look) -> None:
    job = "job:nyc_taxi:TrainForecastModelFlow"
    page = look(_at(PREPARE, open=job, tab="runs"))
    details = page.get_by_role("complementary", name="Details")
    details.get_by_role("link", name=re.compile("^Timeline of the child runs of ")).first.click()
    rows = details.get_by_role("tabpanel").get_by_role("link")
    expect(rows).to_have_count(6)
    expect(rows.first).to_have_attribute("title", re.compile("completed, from .*, 14 min"))
    expect(rows.nth(2)).to_contain_text("write")
    left = [float(bar.evaluate("bar => bar.offsetLeft")) for bar in rows.locator("i").all()]
    assert left[0] < left[1] < left[5]
    rows.first.focus()
    page.keyboard.press("ArrowDown")
    expect(rows.nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    expect(details.get_by_role("heading", name="compute_actuals")).to_be_visible()


def test_run_shows_its_received_events(look: Look) -> None:
    page = look(_at(PREPARE, open=PREPARE, tab="runs"))
    details = page.get_by_role("complementary", name="Details")
    details.get_by_role("link", name=re.compile("^Completed")).first.click()
    details.get_by_role("tab", name="Events").click()
    expect(details.get_by_role("group")).to_have_count(2)
    details.locator("summary").last.click()
    expect(details.get_by_role("region", name="Event 2")).to_contain_text('"eventType": "COMPLETE"')
    expect(details.get_by_role("button", name="Copy the event").last).to_be_visible()
