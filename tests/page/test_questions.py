"""Fifteen common questions, each answered within three clicks from the start page.

Typing does not count; Enter counts as a click if it selects something. Answers are read from the
page's text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.looking import Look, counted, details, find

pytestmark = [pytest.mark.browser, pytest.mark.server]


@pytest.fixture
def start(look: Look) -> Iterator[Page]:
    """Open the start page; check at the end that there were at most three clicks."""
    with counted(look("/")) as page:
        yield page


def test_which_file_did_this_forecast_come_from(start: Page) -> None:
    find(start, "hourly_forecast", "yellow_rides_hourly_forecast")
    start.get_by_role("link", name="Provenance").click()
    origin = start.get_by_role("region", name="Upstream versions")
    expect(origin.get_by_text(re.compile(r"yellow_tripdata_\d{4}-\d\d\.parquet"))).to_be_visible()


@pytest.mark.parametrize(
    ("column", "reached"),
    [("tpep_pickup_datetime", ["hour", "rides"]), ("trip_distance", ["mean_distance"])],
)
def test_what_breaks_if_i_drop_a_column(start: Page, column: str, reached: list[str]) -> None:
    find(start, column, "yellow_taxi_raw")
    start.get_by_role("link", name="Downstream columns").click()
    affected = start.get_by_role("region", name="forecasting", exact=True)
    names = affected.get_by_role("row").locator("th a > .clip")
    expect(names).to_have_text([f"{name} yellow_rides_hourly_actuals" for name in reached])


def test_when_did_weather_become_an_input(start: Page) -> None:
    find(start, "weather_raw", "weather_raw")
    change = start.get_by_role(
        "button", name=re.compile("weather_raw became an input of prepare_training_data")
    )
    expect(change).to_be_visible()
    change.click()
    expect(start.locator(".react-flow__edge.added")).to_have_count(1)


def test_why_is_this_table_late(start: Page) -> None:
    find(start, "weather_raw", "weather_raw")
    start.locator('[data-node$="nyc_taxi.weather_raw"]').click()
    late = details(start).get_by_role("region", name=re.compile("late", re.I))
    expect(late).to_contain_text("503 Service Unavailable")


def test_which_run_wrote_this_version(start: Page) -> None:
    find(start, "yellow_taxi_raw", "yellow_taxi_raw")
    start.locator('[data-node$="nyc_taxi.yellow_taxi_raw"]').click()
    details(start).get_by_role("tab", name="Versions").click()
    versions = details(start).get_by_role("listitem")
    expect(versions).to_have_count(14)
    expect(versions.first.get_by_role("link", name=re.compile("merge_upsert"))).to_be_visible()


def test_who_owns_the_downstream_datasets(start: Page) -> None:
    find(start, "yellow_taxi_staging", "yellow_taxi_staging")
    start.get_by_role("link", name="Impact").click()
    for owner in ("forecasting", "ingestion"):
        expect(start.get_by_role("region", name=owner, exact=True)).to_be_visible()


def test_which_sql_computes_this_column(start: Page) -> None:
    find(start, "mean_distance", "mean_distance")
    sql = details(start).get_by_role("region", name="SQL")
    expect(sql).to_contain_text("avg(trip_distance) AS mean_distance")


def test_what_changed_since_last_week(start: Page) -> None:
    start.get_by_role("link", name=re.compile("week")).click()
    changes = start.get_by_role("complementary", name="Differences")
    expect(changes.get_by_text("+ cbd_congestion_fee").first).to_be_visible()


def test_what_changed_since_yesterday(start: Page) -> None:
    start.get_by_role("link", name="since yesterday").click()
    changes = start.get_by_role("complementary", name="Differences")
    expect(changes.get_by_text(re.compile(r"00:00:00 UTC to now"))).to_be_visible()
    failed = changes.get_by_role("button", name=re.compile(r"^stage: Failed .+ UTC HTTPError: 503"))
    expect(failed.first).to_be_visible()


@pytest.mark.parametrize(
    ("column", "table", "verdict"),
    [
        ("tip_amount", "yellow_taxi_raw", "Safe to drop"),
        ("trip_distance", "yellow_taxi_raw", "Not safe to drop"),
        ("mean_distance", "yellow_rides_hourly_actuals", "Unknown"),
    ],
)
def test_is_it_safe_to_drop_this_column(start: Page, column: str, table: str, verdict: str) -> None:
    find(start, column, table)
    shown = details(start).get_by_role("region", name="Can this column be dropped?")
    expect(shown.get_by_role("heading")).to_have_text(verdict)


def test_where_is_pulocationid_used(start: Page) -> None:
    start.get_by_role("combobox").fill("PULocationID")
    start.get_by_role("link", name=re.compile("All .* matches for")).click()
    expect(start.get_by_text(re.compile(r"\d datasets with this column"))).to_be_visible()


def test_was_this_model_trained_on_pii(start: Page) -> None:
    find(start, "model", r"^model\b")
    start.get_by_role("link", name="Provenance").click()
    expect(start.get_by_role("note", name="Personal data")).to_contain_text("masked or not used")


def test_which_tables_does_this_team_own(start: Page) -> None:
    start.get_by_role("navigation", name="Browse").get_by_role("link", name="Owners").click()
    start.get_by_role("link", name="forecasting", exact=True).click()
    datasets = start.get_by_role("list", name="Datasets").get_by_role("listitem")
    expect(datasets).to_have_count(5)
    tables = datasets.filter(has_text="Hive table")
    expect(tables).to_have_count(2)
    expect(tables.first).to_contain_text("yellow_rides_hourly_actuals")


def test_where_are_the_logs_of_this_failure(start: Page) -> None:
    failed = start.get_by_role("region", name="Problems")
    failed.get_by_role("link", name="stage", exact=True).click()
    log = (
        details(start).get_by_role("region", name="Error").get_by_role("link", name="Open the log")
    )
    expect(log).to_have_attribute("href", re.compile(r"^https?://"))


def test_where_are_the_logs_of_a_failed_pipeline_run(start: Page) -> None:
    failed = start.get_by_role("region", name="Newest runs").get_by_role("link", name="Failed")
    failed.filter(has_text="ingest_weather_data").first.click()
    causes = details(start).get_by_role("region", name="Failed child runs")
    expect(causes.get_by_role("link", name="Failed ingest_weather_data.stage")).to_be_visible()
    expect(causes).to_contain_text("HTTPError: 503")
    log = causes.get_by_role("link", name="Open the log")
    expect(log).to_have_attribute("href", re.compile(r"^https?://"))


def test_which_pipelines_are_incomplete(start: Page) -> None:
    start.get_by_role("link", name="Incomplete pipelines").click()
    incomplete = start.get_by_role("region", name="ingest_weather_data", exact=True)
    expect(incomplete).to_contain_text("without column lineage")
    expect(incomplete).to_contain_text("What to do:")
