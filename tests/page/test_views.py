"""Navigation through the page's views."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.looking import Look, axe_finds, keep, open_address

from .conftest import Lineage

pytestmark = [pytest.mark.browser, pytest.mark.server]

_LAKE = "dataset:hive://lake:9083:nyc_taxi."
ACTUALS, RAW = f"{_LAKE}yellow_rides_hourly_actuals", f"{_LAKE}yellow_taxi_raw"
FORECAST = f"{_LAKE}yellow_rides_hourly_forecast"
PREPARE = "job:nyc_taxi:TrainForecastModelFlow.prepare_training_data"
MERGE = "job:nyc_taxi:ingest_yellow_taxi_data.merge_upsert_staging_into_raw_yellow"


NEAR = {"up": "1", "down": "1"}
"""One step on each side, instead of all of a small graph."""


def _at(node: str, **others: str) -> str:
    view = {**NEAR, **others}
    parameters = "".join(f"&{name}={quote(value)}" for name, value in view.items())
    return f"/lineage?node={quote(node)}{parameters}"


def _days_ago(days: int) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")


VIEWS = {
    "start": "/",
    "graph": _at(PREPARE, up="3", down="1", lit=f"{_LAKE}weather_raw"),
    "pipelines": _at("job:nyc_taxi:TrainForecastModelFlow", level="pipeline", up="2", down="2"),
    "columns": _at(ACTUALS, up="2", down="0", column=f"{ACTUALS}|mean_distance")
    + f"&columns={quote(ACTUALS)}&columns={quote(RAW)}",
    "dataset": _at(RAW, open=RAW, tab="versions"),
    "job": _at(MERGE, open=f"{MERGE}.write"),
    "difference": _at(PREPARE, up="3", **{"from": _days_ago(11)}),
}


def _node(page: Page, name: str) -> Locator:
    return page.locator(f'[data-node$="{name}"]')


def _node_count(page: Page, count: int) -> None:
    expect(page.locator("[data-node]")).to_have_count(count)


def test_slash_opens_the_search_and_enter_the_graph(look: Look) -> None:
    page = look("/")
    expect(page.get_by_text("Newest runs")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("hourly_act")
    expect(page.get_by_role("option").first).to_contain_text("yellow_rides_hourly_actuals")
    page.keyboard.press("Enter")
    expect(_node(page, "yellow_rides_hourly_actuals")).to_be_visible()
    expect(page.locator("[data-node][aria-current]")).to_have_count(1)
    _node_count(page, 16)


def test_column_search_result_is_locked_in_its_table(look: Look) -> None:
    page = look("/")
    page.get_by_role("combobox").fill("mean_distance")
    page.get_by_role("option").first.click()
    expect(page.get_by_role("button", name=re.compile("^mean_distance"))).to_have_attribute(
        "aria-pressed", "true"
    )


def test_start_page_shows_pipelines_freshness_problems_and_runs(look: Look) -> None:
    page = look("/")
    pipelines = page.get_by_role("region", name="Pipelines")
    boxes = {
        name: pipelines.get_by_role("link", name=re.compile(name)).bounding_box()
        for name in ("ingest_yellow_taxi_data", "ingest_weather_data", "TrainForecastModelFlow")
    }
    yellow, weather, train = (box["x"] if box else -1 for box in boxes.values())
    assert 0 < yellow == weather < train, "upstream is at the left"
    expect(pipelines.get_by_role("link", name=re.compile("ingest_weather"))).to_contain_text(
        "Failed"
    )
    freshness = page.get_by_role("region", name="Freshness")
    expect(freshness.get_by_role("link", name=re.compile(r"^1\d with a schedule$"))).to_be_visible()
    expect(freshness.locator("[data-state=blocked]")).not_to_have_count(0)
    newest = page.get_by_role("region", name="Newest runs")
    row = newest.get_by_role("listitem").filter(has_text="ingest_weather_data")
    expect(row.locator("a[data-state]")).to_have_count(10)
    expect(row.locator("a[data-state]").last).to_have_attribute("data-state", "FAILED")
    problems = page.get_by_role("region", name="Problems")
    count = page.get_by_role("banner").get_by_role("link", name=re.compile("problems"))
    expect(problems.get_by_role("heading")).to_have_text(
        f"Problems {count.inner_text().split()[0]}"
    )
    freshness.get_by_role("link", name="2 at risk").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Datasets")
    page.go_back()
    problems.get_by_role("link", name="stage", exact=True).click()
    details = page.get_by_role("complementary", name="Details")
    expect(details.get_by_text("HTTPError: 503")).to_be_visible()
    expect(details.get_by_text("parent").or_(details.get_by_text("root"))).to_be_visible()


def _run_of(job: str) -> dict[str, Any]:
    return {
        "eventType": "COMPLETE",
        "eventTime": datetime.now(UTC).isoformat(),
        "producer": "https://example.org/test",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": str(uuid4())},
        "job": {"namespace": "nyc_taxi", "name": job},
    }


def test_new_run_appears_without_a_reload(look: Look, lineage: Lineage) -> None:
    page = look("/")
    expect(page.get_by_text("Live")).to_be_visible()
    lineage.take(_run_of("just_now"))
    runs = page.get_by_role("region", name="Newest runs").get_by_role("listitem")
    expect(runs.filter(has_text="just_now")).to_be_visible()


def test_new_events_refetch_a_slow_query_only_after_it_has_ended(
    look: Look, lineage: Lineage
) -> None:
    page = look("/")
    expect(page.get_by_text("Live")).to_be_visible()
    newest = page.get_by_role("region", name="Newest runs")
    expect(newest.get_by_role("link").first).to_be_visible()
    waiting: list[Route] = []
    page.route("**/api/v2/pipelines?*", lambda route: waiting.append(route), times=1)
    aborted: list[str] = []
    page.on("requestfailed", lambda request: aborted.append(request.url))
    with page.expect_request("**/api/v2/pipelines?*"):
        lineage.take(_run_of("first"))
    for job in ("second", "third"):  # another query is refetched after each
        with page.expect_response("**/api/v2/health?*"):
            lineage.take(_run_of(job))
    assert aborted == []
    waiting[0].fulfill(json={"items": [], "total": 0})
    expect(newest.get_by_role("listitem").filter(has_text="third")).to_be_visible()


def test_plus_shows_more_minus_hides_it_and_back_undoes(look: Look) -> None:
    page = look(_at(ACTUALS))
    _node_count(page, 3)
    page.get_by_role(
        "button", name=re.compile("Show 1 more node upstream of .*compute_actuals")
    ).click()
    _node_count(page, 4)
    expect(_node(page, "yellow_taxi_raw")).to_be_visible()
    page.get_by_role("button", name=re.compile("Hide nodes downstream of .*hourly_actuals")).click()
    _node_count(page, 3)
    expect(page.get_by_role("status").get_by_text("1 side of a node collapsed")).to_be_visible()
    page.go_back()
    page.go_back()
    _node_count(page, 3)
    expect(_node(page, "prepare_training_data")).to_be_visible()


def test_clicks_highlight_the_path_and_open_details(look: Look) -> None:
    page = look(_at(PREPARE, up="3"))
    face = _node(page, "yellow_taxi_raw")
    face.click()
    expect(face).to_have_attribute("aria-pressed", "true")
    expect(page.locator("[data-dim]")).not_to_have_count(0)
    face.click()
    details = page.get_by_role("complementary", name="Details")
    details.get_by_role("tab", name=re.compile("Schema")).click()
    expect(details.get_by_text("+ cbd_congestion_fee: double")).to_be_visible()
    page.keyboard.press("Escape")
    expect(details).to_be_hidden()


def test_schema_change_and_check_link_to_their_run(look: Look) -> None:
    for node, tab in ((RAW, "schema"), (f"{_LAKE}yellow_taxi_staging", "quality")):
        page = look(_at(node, open=node, tab=tab))
        details = page.get_by_role("complementary", name="Details")
        entry = details.get_by_role("tabpanel").get_by_role("listitem").first
        job = entry.get_by_role("link").text_content()
        assert job
        entry.get_by_role("link").click()
        expect(details.locator("p").first).to_contain_text("run", ignore_case=True)
        expect(details.get_by_role("heading", level=2)).to_have_text(job.rpartition(".")[2])


def test_clicking_an_unfolded_column_locks_its_path(look: Look) -> None:
    page = look(_at(ACTUALS, up="2"))
    for name in ("nyc_taxi.yellow_rides_hourly_actuals", "nyc_taxi.yellow_taxi_raw"):
        page.get_by_role("button", name=f"Columns of {name}").click()
    page.get_by_role("button", name=re.compile("^mean_distance")).click()
    expect(page.locator(".react-flow__node li:has([aria-pressed=true])")).to_have_count(2)
    expect(
        page.locator(".react-flow__node li:has([aria-pressed=true])").filter(
            has_text="trip_distance"
        )
    ).to_be_visible()
    expect(page.locator(".react-flow__edgelabel-renderer button")).to_have_text("aggregation")
    page.get_by_role("textbox", name=re.compile("columns of nyc_taxi.yellow_taxi_raw")).fill("fee")
    expect(page.get_by_role("button", name=re.compile("^cbd_congestion_fee"))).to_be_visible()


def test_hidden_nodes_are_counted_and_can_be_shown(look: Look) -> None:
    page = look(_at(FORECAST, up="9"))
    expect(_node(page, "TrainForecastModelFlow.train")).to_be_visible()
    page.get_by_role("button", name="Datasets only").click()
    expect(_node(page, "TrainForecastModelFlow.train")).to_be_hidden()
    note = page.get_by_role("status").filter(has_text="shown as edges")
    note.get_by_role("button", name="Show").click()
    expect(_node(page, "TrainForecastModelFlow.train")).to_be_visible()


_CONTRAST = """(path) => {
    const { stroke, strokeOpacity } = getComputedStyle(path);
    const { backgroundColor } = getComputedStyle(document.body);
    const parts = (color) => color.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255);
    const canvas = parts(backgroundColor);
    const line = parts(stroke).map(
        (part, nth) => canvas[nth] + (part - canvas[nth]) * strokeOpacity
    );
    const light = (rgb) => rgb.map((part) =>
        part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
    ).reduce((sum, part, nth) => sum + part * [0.2126, 0.7152, 0.0722][nth], 0.05);
    const [high, low] = [light(line), light(canvas)].sort((a, b) => b - a);
    return high / low;
}"""


def test_control_lines_are_dashed_and_can_be_hidden(look: Look) -> None:
    page = look(VIEWS["pipelines"], theme="dark")
    expect(page.locator(".react-flow__edge.control")).to_have_count(1)
    assert page.locator(".react-flow__edge.control path").first.evaluate(_CONTRAST) >= 3
    page.emulate_media(color_scheme="light")
    assert page.locator(".react-flow__edge.control path").first.evaluate(_CONTRAST) >= 3
    page.get_by_role("button", name="Hide control").click()
    expect(page.locator(".react-flow__edge.control")).to_have_count(0)
    expect(page.get_by_text("1 control dependency hidden")).to_be_visible()


def test_graph_at_a_time_and_difference_of_two_times(look: Look) -> None:
    page = look(_at(PREPARE, at=_days_ago(11)))
    expect(_node(page, "yellow_rides_hourly_actuals")).to_be_visible()
    expect(_node(page, "weather_raw")).to_be_hidden()
    page.get_by_role("button", name="Now", exact=True).first.click()
    expect(_node(page, "weather_raw")).to_be_visible()
    page = look(VIEWS["difference"])
    changes = page.get_by_role("complementary", name="Differences")
    expect(changes.get_by_text("now reads weather_raw")).to_be_visible()
    expect(page.locator(".react-flow__edge.added")).to_have_count(1)


def test_graph_works_by_keyboard(look: Look) -> None:
    page = look(_at(ACTUALS))
    _node(page, "yellow_rides_hourly_actuals").focus()
    page.keyboard.press("ArrowLeft")
    expect(_node(page, "compute_actuals")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(page.get_by_role("complementary", name="Details")).to_be_focused()


def test_unknown_name_suggests_similar_ones(look: Look) -> None:
    page = look("/")
    open_address(page, page.url + "lineage?node=" + quote("weather_rwa"))
    page.get_by_role("link", name="nyc_taxi.weather_raw").click()
    expect(_node(page, "weather_raw")).to_be_visible()


def test_page_survives_a_server_restart(look: Look, lineage: Lineage) -> None:
    page = look(_at(ACTUALS))
    _node_count(page, 3)
    lineage.stop()
    expect(page.get_by_text("Reconnecting")).to_be_visible()
    _node_count(page, 3)
    lineage.start()
    expect(page.get_by_text("Live")).to_be_visible()
    _node(page, "compute_actuals").click()
    _node(page, "compute_actuals").click()
    expect(page.get_by_role("tab", name="About")).to_be_visible()


def test_page_recovers_after_a_proxys_error_response(look: Look, lineage: Lineage) -> None:
    page = look(_at(ACTUALS))
    expect(page.get_by_text("Live")).to_be_visible()
    page.route("**/events/stream", lambda route: route.fulfill(status=502))
    with page.expect_response(lambda answer: answer.status == 502):
        lineage.stop()
    lineage.start()
    expect(page.get_by_text("Reconnecting")).to_be_visible()
    page.unroute("**/events/stream")
    expect(page.get_by_text("Live")).to_be_visible()


@pytest.mark.parametrize("path", ["/", "/search?text=none"])
def test_search_shows_an_outage_and_recovers(path: str, look: Look, lineage: Lineage) -> None:
    page = look(path)
    expect(page.get_by_text("Live")).to_be_visible()
    lineage.stop()
    page.get_by_role("combobox").fill("hourly_act")
    silence = page.get_by_role("search").get_by_text("The server does not respond")
    expect(silence).to_be_visible()
    lineage.start()
    expect(page.get_by_role("option").first).to_contain_text("yellow_rides_hourly_actuals")
    expect(silence).to_be_hidden()


@pytest.mark.parametrize("name", VIEWS)
def test_views_have_no_axe_violations(name: str, look: Look) -> None:
    page = look(VIEWS[name])
    expect(page.locator("main li a, [data-node]").first).to_be_visible()
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    keep(page, name)
    assert axe_finds(page) == []
