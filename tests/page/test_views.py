"""The page's views, as a person goes through them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.looking import Look, axe_finds, keep

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
    told = "".join(f"&{name}={quote(value)}" for name, value in {**NEAR, **others}.items())
    return f"/lineage?node={quote(node)}{told}"


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


def test_a_slash_searches_and_enter_opens_the_graph_around_what_was_found(look: Look) -> None:
    page = look("/")
    expect(page.get_by_text("Newest runs")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("hourly_act")
    expect(page.get_by_role("option").first).to_contain_text("yellow_rides_hourly_actuals")
    page.keyboard.press("Enter")
    expect(_node(page, "yellow_rides_hourly_actuals")).to_be_visible()
    expect(page.locator(".node.root [data-node]")).to_have_count(1)
    _node_count(page, 16)


def test_a_column_that_was_found_is_shown_locked_in_its_table(look: Look) -> None:
    page = look("/")
    page.get_by_role("combobox").fill("mean_distance")
    page.get_by_role("option").first.click()
    expect(page.get_by_role("button", name=re.compile("^mean_distance"))).to_have_attribute(
        "aria-pressed", "true"
    )


def test_the_start_page_shows_what_is_wrong_and_leads_there(look: Look) -> None:
    page = look("/")
    for title in ("Failed", "Late", "Checks that do not hold", "Lost: no end was ever told"):
        expect(page.get_by_role("region", name=title)).to_be_visible()
    page.get_by_role("link", name=re.compile("503 Service Unavailable")).click()
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


def test_a_run_that_comes_in_is_shown_without_a_reload(look: Look, lineage: Lineage) -> None:
    page = look("/")
    expect(page.get_by_text("Live")).to_be_visible()
    lineage.take(_run_of("just_now"))
    expect(page.get_by_role("link", name=re.compile("just_now"))).to_be_visible()


def test_new_events_refetch_a_slow_query_only_after_it_has_ended(
    look: Look, lineage: Lineage
) -> None:
    page = look("/")
    expect(page.get_by_text("Live")).to_be_visible()
    newest = page.get_by_role("region", name="Newest runs")
    expect(newest.get_by_role("link").first).to_be_visible()
    held: list[Route] = []
    page.route("**/api/v2/runs?*", lambda route: held.append(route), times=1)
    aborted: list[str] = []
    page.on("requestfailed", lambda request: aborted.append(request.url))
    with page.expect_request("**/api/v2/runs?*"):
        lineage.take(_run_of("first"))
    for job in ("second", "third"):  # another query is refetched after each
        with page.expect_response("**/api/v2/health?*"):
            lineage.take(_run_of(job))
    assert aborted == []
    held[0].fulfill(json={"items": [], "next": None})
    expect(newest.get_by_role("link", name=re.compile("third"))).to_be_visible()


def test_plus_shows_more_minus_hides_it_and_back_undoes(look: Look) -> None:
    page = look(_at(ACTUALS))
    _node_count(page, 3)
    page.get_by_role(
        "button", name=re.compile("Show 1 more node upstream of .*compute_actuals")
    ).click()
    _node_count(page, 4)
    expect(_node(page, "yellow_taxi_raw")).to_be_visible()
    page.get_by_role(
        "button", name=re.compile("Hide what is downstream of .*hourly_actuals")
    ).click()
    _node_count(page, 3)
    expect(page.get_by_role("status").get_by_text("1 side folded")).to_be_visible()
    page.go_back()
    page.go_back()
    _node_count(page, 3)
    expect(_node(page, "prepare_training_data")).to_be_visible()


def test_a_click_lights_the_path_another_opens_the_details_and_escape_closes(look: Look) -> None:
    page = look(_at(PREPARE, up="3"))
    face = _node(page, "yellow_taxi_raw")
    face.click()
    expect(face).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".node.dim")).not_to_have_count(0)
    face.click()
    details = page.get_by_role("complementary", name="Details")
    details.get_by_role("tab", name=re.compile("Schema")).click()
    expect(details.get_by_text("+ cbd_congestion_fee: double")).to_be_visible()
    page.keyboard.press("Escape")
    expect(details).to_be_hidden()


def test_a_change_of_the_schema_and_a_check_lead_to_their_run(look: Look) -> None:
    for node, tab in ((RAW, "schema"), (f"{_LAKE}yellow_taxi_staging", "quality")):
        page = look(_at(node, open=node, tab=tab))
        details = page.get_by_role("complementary", name="Details")
        entry = details.locator(".entries > li").first
        job = entry.get_by_role("link").text_content()
        assert job
        entry.get_by_role("link").click()
        expect(details.locator(".details-kind")).to_contain_text("run", ignore_case=True)
        expect(details.get_by_role("heading", level=2)).to_have_text(job.rpartition(".")[2])


def test_columns_unfold_in_the_node_and_a_click_locks_the_path_of_one(look: Look) -> None:
    page = look(_at(ACTUALS, up="2"))
    for name in ("nyc_taxi.yellow_rides_hourly_actuals", "nyc_taxi.yellow_taxi_raw"):
        page.get_by_role("button", name=f"Columns of {name}").click()
    page.get_by_role("button", name=re.compile("^mean_distance")).click()
    expect(page.locator(".columns li.lit")).to_have_count(2)
    expect(page.locator(".columns li.lit").filter(has_text="trip_distance")).to_be_visible()
    expect(page.locator(".edge-how")).to_have_text("aggregation")
    page.get_by_role("textbox", name=re.compile("columns of nyc_taxi.yellow_taxi_raw")).fill("fee")
    expect(page.get_by_role("button", name=re.compile("^cbd_congestion_fee"))).to_be_visible()


def test_what_is_left_out_is_said_and_can_be_shown(look: Look) -> None:
    page = look(_at(FORECAST, up="9"))
    expect(_node(page, "TrainForecastModelFlow.train")).to_be_visible()
    page.get_by_role("button", name="Datasets only").click()
    expect(_node(page, "TrainForecastModelFlow.train")).to_be_hidden()
    note = page.get_by_role("status").filter(has_text="drawn as lines")
    note.get_by_role("button", name="Show").click()
    expect(_node(page, "TrainForecastModelFlow.train")).to_be_visible()


def test_control_lines_are_dashed_and_can_be_hidden(look: Look) -> None:
    page = look(VIEWS["pipelines"])
    expect(page.locator(".react-flow__edge.control")).to_have_count(1)
    page.get_by_role("button", name="Hide control").click()
    expect(page.locator(".react-flow__edge.control")).to_have_count(0)
    expect(page.get_by_text("1 control line hidden")).to_be_visible()


def test_a_moment_shows_the_graph_as_it_was_and_two_show_the_difference(look: Look) -> None:
    page = look(_at(PREPARE, at=_days_ago(11)))
    expect(_node(page, "yellow_rides_hourly_actuals")).to_be_visible()
    expect(_node(page, "weather_raw")).to_be_hidden()
    page.get_by_role("button", name="Now", exact=True).first.click()
    expect(_node(page, "weather_raw")).to_be_visible()
    page = look(VIEWS["difference"])
    changes = page.get_by_role("complementary", name="What is different")
    expect(changes.get_by_text("now reads weather_raw")).to_be_visible()
    expect(page.locator(".react-flow__edge.added")).to_have_count(1)


def test_the_graph_can_be_walked_by_keyboard(look: Look) -> None:
    page = look(_at(ACTUALS))
    _node(page, "yellow_rides_hourly_actuals").focus()
    page.keyboard.press("ArrowLeft")
    expect(_node(page, "compute_actuals")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(page.get_by_role("complementary", name="Details")).to_be_focused()


def test_a_name_that_nothing_has_is_answered_with_those_like_it(look: Look) -> None:
    page = look("/")
    page.goto(page.url + "lineage?node=" + quote("weather_rwa"))
    page.get_by_role("link", name="nyc_taxi.weather_raw").click()
    expect(_node(page, "weather_raw")).to_be_visible()


def test_the_page_survives_a_restart_of_the_server(look: Look, lineage: Lineage) -> None:
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


def test_the_page_comes_back_when_a_proxy_has_answered_for_the_server(
    look: Look, lineage: Lineage
) -> None:
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
def test_the_search_says_that_the_server_is_away_and_comes_back(
    path: str, look: Look, lineage: Lineage
) -> None:
    page = look(path)
    expect(page.get_by_text("Live")).to_be_visible()
    lineage.stop()
    page.get_by_role("combobox").fill("hourly_act")
    silence = page.locator(".hits").get_by_text("The server does not answer")
    expect(silence).to_be_visible()
    lineage.start()
    expect(page.get_by_role("option").first).to_contain_text("yellow_rides_hourly_actuals")
    expect(silence).to_be_hidden()


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_has_nothing_that_axe_finds_wrong(name: str, look: Look) -> None:
    page = look(VIEWS[name])
    expect(page.locator(".row, [data-node]").first).to_be_visible()
    expect(page.locator(".waiting")).to_have_count(0)
    keep(page, name)
    assert axe_finds(page) == []


def test_the_start_page_fits_a_phone(look: Look) -> None:
    page = look("/", width=390, height=800)
    expect(page.get_by_text("Newest runs")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
