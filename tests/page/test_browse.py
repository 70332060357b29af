"""The lists of datasets, jobs, runs, owners and tags, freshness, and filters of search results."""

from __future__ import annotations

import re
import uuid
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.looking import Look, axe_finds, fits_a_phone, tab_to

from .conftest import Lineage
from .test_glance import _written

pytestmark = [pytest.mark.browser, pytest.mark.server]

_LISTS = ["Datasets", "Jobs", "Runs", "Owners", "Tags"]


def _rows(page: Page, name: str) -> Locator:
    return page.get_by_role("list", name=name, exact=True).get_by_role("listitem")


def _filter(page: Page, facet: str) -> Locator:
    return page.get_by_role("group", name="Filters").get_by_role("combobox", name=facet, exact=True)


def _nodes(page: Page, name: str) -> Locator:
    """Return the links of the rows to the graph, which have the full path as their title."""
    return _rows(page, name).locator("a[title]")


@pytest.mark.parametrize("name", _LISTS)
def test_every_list_opens_from_the_header_and_is_accessible(name: str, look: Look) -> None:
    page = look("/")
    link = page.get_by_role("navigation", name="Browse").get_by_role("link", name=name)
    link.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(name)
    expect(link).to_have_attribute("aria-current", "page")
    expect(_rows(page, name).first).to_be_visible()
    assert axe_finds(page) == []
    fits_a_phone(page)
    expect(link).to_be_visible()


def test_start_page_counts_link_to_lists_of_equal_length(look: Look) -> None:
    page = look("/")
    for name in ("datasets", "jobs", "runs"):
        count = page.get_by_role("main").get_by_role("link", name=re.compile(rf"^[\d,]+ {name}$"))
        number = (count.inner_text()).split()[0]
        count.click()
        heading = page.get_by_role("heading", level=1)
        expect(heading).to_have_text(f"{name.capitalize()} {number}")
        page.go_back()


def test_filters_order_and_back_button_follow_the_address(look: Look) -> None:
    page = look("/datasets")
    expect(_filter(page, "Owner")).to_be_visible()
    _filter(page, "Owner").select_option("forecasting (5)")
    _filter(page, "Type").select_option("Table (2)")
    _filter(page, "Sort by").select_option("Last written")
    titles = ["yellow_rides_hourly_forecast", "yellow_rides_hourly_actuals"]
    expect(_nodes(page, "Datasets").locator(".clip")).to_have_text(titles)
    page.reload()
    expect(_nodes(page, "Datasets").locator(".clip")).to_have_text(titles)
    expect(_filter(page, "Owner")).to_have_value("=forecasting")
    page.go_back()
    expect(_nodes(page, "Datasets").locator(".clip")).to_have_text(titles[::-1])
    page.get_by_role("link", name="Clear filters").click()
    expect(_filter(page, "Owner")).to_have_value("all")
    assert page.url.endswith("/datasets")


def test_jobs_and_runs_are_filtered_by_state(look: Look) -> None:
    page = look("/jobs?state=failed")
    expect(_rows(page, "Jobs").first).to_contain_text("Failed")
    expect(_rows(page, "Jobs").filter(has_not_text="Failed")).to_have_count(0)
    page = look("/runs")
    _filter(page, "State").select_option("=LOST")
    expect(_rows(page, "Runs").filter(has_not_text="No end event")).to_have_count(0)
    _nodes(page, "Runs").filter(has_text="refresh_dashboards").click()
    expect(page.get_by_role("complementary", name="Details")).to_contain_text("refresh_dashboards")


def test_list_is_filtered_by_name_with_the_keyboard_only(look: Look) -> None:
    page = look("/")
    tab_to(page, "^Jobs$")
    page.keyboard.press("Enter")
    expect(_rows(page, "Jobs").first).to_be_visible()
    page.get_by_role("searchbox", name="Name contains").focus()
    page.keyboard.type("WEATHER_data.stage")
    expect(_rows(page, "Jobs")).to_have_count(1)
    assert "name=WEATHER_data.stage" in page.url
    tab_to(page, "^ingest_weather_data.stage|^stage")
    page.keyboard.press("Enter")
    expect(page.locator('[data-node$="ingest_weather_data.stage"]')).to_be_visible()
    page.get_by_role("navigation", name="Browse").get_by_role("link", name="Runs").click()
    page.get_by_role("searchbox", name="Name contains").fill("weather_DATA.stage")
    page.wait_for_url(re.compile("name=weather_DATA.stage"))
    expect(_rows(page, "Runs").first).to_be_visible()
    expect(_rows(page, "Runs").filter(has_not_text="ingest_weather_data.stage")).to_have_count(0)


def test_equal_names_are_distinguished_by_their_full_path(look: Look, lineage: Lineage) -> None:
    name = f"twin_{uuid.uuid4().hex}"
    lineage.take(*(_written("hive://lake:9083", f"{place}.{name}") for place in ("raw", "mart")))
    page = look(f"/datasets?name={name}")
    titles = [f"mart.{name}", f"raw.{name}"]
    expect(_nodes(page, "Datasets").locator(".clip")).to_have_text(titles)
    page = look(f"/search?text={name}&type=table")
    expect(_nodes(page, "Search results").locator(".clip")).to_have_text(titles)
    first = _rows(page, "Search results").first
    expect(first).to_contain_text(f"Hive table · hive://lake:9083/mart.{name}")
    expect(first.locator("time")).to_contain_text(re.compile("just now|ago"))


def _many(name: str) -> list[dict[str, Any]]:
    old = {"eventTime": "2026-01-01T00:00:00Z"}  # so that they are not among the newest runs
    return [_written("hive://lake:9083", f"{name}.t{number:03}") | old for number in range(105)]


def test_pages_of_a_list_are_in_the_address(look: Look, lineage: Lineage) -> None:
    name = f"paged_{uuid.uuid4().hex}"
    lineage.take(*_many(name))
    page = look(f"/datasets?name={name}")
    pages = page.get_by_role("navigation", name="Pages")
    expect(pages).to_contain_text("1–50 of 105")
    delayed: list[Route] = []
    page.route("**/api/v2/datasets?*cursor=*", lambda route: delayed.append(route), times=1)
    with page.expect_request("**/api/v2/datasets?*cursor=*"):
        pages.get_by_role("link", name="Next").click()
    pages.get_by_role("link", name="Next").click()  # does nothing, as the page is not shown yet
    delayed[0].continue_()
    expect(pages).to_contain_text("51–100 of 105")
    pages.get_by_role("link", name="Next").click()
    expect(pages).to_contain_text("101–105 of 105")
    expect(pages.get_by_role("link", name="Next")).to_have_count(0)
    page.reload()
    expect(_rows(page, "Datasets")).to_have_count(5)
    pages.get_by_role("link", name="Previous").click()
    expect(pages).to_contain_text("51–100 of 105")
    _filter(page, "Sort by").select_option("Name, Z to A")
    expect(pages).to_contain_text("1–50 of 105")
    expect(_nodes(page, "Datasets").locator(".clip").first).to_have_text("t104")


def test_owners_and_tags_lead_to_their_datasets_and_jobs(look: Look) -> None:
    page = look("/owners")
    row = _rows(page, "Owners").filter(has_text="ingestion")
    jobs = row.get_by_role("link", name=re.compile("jobs: ingestion"))
    number = jobs.inner_text().split()[0]
    jobs.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Jobs {number}")
    expect(_filter(page, "Owner")).to_have_value("=ingestion")
    page = look("/tags")
    _rows(page, "Tags").get_by_role("link", name="dataset: pii").click()
    expect(_nodes(page, "Datasets").locator(".clip")).to_have_text(["yellow_taxi_raw"])


def _audited(name: str) -> list[dict[str, Any]]:
    """Return runs that write a tagged table, one with a derived column and one without lineage."""
    where = {"namespace": "hive://lake:9083"}
    tags = {"tags": [{"key": name, "value": "true", "field": "mail"}]}
    direct = [{"type": "DIRECT", "subtype": "IDENTITY"}]
    source = {**where, "name": f"{name}.raw", "field": "mail", "transformations": direct}
    runs = [_written(where["namespace"], f"{name}.{table}") for table in ("raw", "day", "share")]
    for run, table in zip(runs[1:], ("raw", "day"), strict=True):
        run["inputs"] = [{**where, "name": f"{name}.{table}"}]
    runs[0]["outputs"][0]["facets"] = {"tags": tags}
    lineage = {"fields": {"who": {"inputFields": [source]}}}
    runs[1]["outputs"][0]["facets"] = {"columnLineage": lineage}
    for minute, run in enumerate(runs):
        run["eventTime"] = f"2026-01-01T00:0{minute}:00Z"
    return runs


def test_columns_with_a_tag_are_listed_with_their_path_and_saved(
    look: Look, lineage: Lineage
) -> None:
    name = f"audit_{uuid.uuid4().hex[:8]}"
    lineage.take(*_audited(name))
    page = look("/tags")
    page.get_by_role("searchbox", name="Name contains").fill(name)
    expect(_rows(page, "Tags")).to_have_count(1)
    _rows(page, "Tags").get_by_role("link", name=name, exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    summary = "Tagged 1 column, derived 1, possible 1, masked 0"
    expect(page.get_by_text(summary)).to_be_visible()
    day = page.get_by_role("region", name=f"{name}.day").get_by_role("listitem")
    expect(day).to_have_text("whoDerivedraw.mail")
    share = page.get_by_role("region", name=f"{name}.share").get_by_role("listitem")
    expect(share).to_have_text("whole datasetPossibleraw.mail → day.who")
    assert axe_finds(page) == []
    fits_a_phone(page)
    page.get_by_role("group", name="Status").get_by_role("button", name="Derived").click()
    expect(share).to_have_count(0)
    with page.expect_download() as saved:
        page.get_by_role("button", name="CSV").click()
    assert saved.value.path().read_text().splitlines()[1:] == [
        f'"hive://lake:9083","{name}.day","who","derived","","{name}.raw.mail > {name}.day.who"'
    ]
    day.get_by_role("link", name="who", exact=True).click()
    column = page.get_by_role("complementary", name="Details")
    expect(column.get_by_text(f"{name}, derived")).to_be_visible()


def test_search_results_are_filtered(look: Look) -> None:
    page = look("/search?text=weather&state=FAILED")  # `state` is only a filter of lists
    rows = _rows(page, "Search results")
    expect(rows.first).to_be_visible()
    _filter(page, "Type").select_option("=table")
    expect(_nodes(page, "Search results").locator(".clip")).to_have_text(
        ["weather_raw", "weather_staging"]
    )
    _filter(page, "Tag").select_option("=tier:gold")
    expect(_nodes(page, "Search results").locator(".clip")).to_have_text(["weather_raw"])
    expect(rows).to_contain_text(re.compile(r"\d+ (d|h|min) ago"))
    page.reload()
    expect(rows).to_have_count(1)
    page.get_by_role("link", name="Clear filters").click()
    expect(rows.nth(3)).to_be_visible()
    assert "type=" not in page.url
    assert axe_finds(page) == []


def test_list_without_matches_shows_a_message(look: Look) -> None:
    page = look("/jobs?owner=nobody")
    expect(page.get_by_text("No jobs match these filters.")).to_be_visible()
    expect(_filter(page, "Owner")).to_have_value("=nobody")


def test_lists_of_an_empty_server_are_empty(empty: Look) -> None:
    page = empty("/datasets")
    expect(page.get_by_text("No datasets yet.")).to_be_visible()
    assert axe_finds(page) == []


def test_freshness_shows_when_datasets_are_due_and_what_puts_them_at_risk(look: Look) -> None:
    page = look("/datasets")
    parts = page.get_by_role("group", name="Datasets to show")
    rows = _rows(page, "Datasets")
    parts.get_by_role("button", name="Unused").click()
    expect(rows.filter(has_text="metrics")).to_contain_text(
        re.compile("Never.*Unknown.*It was first written", re.DOTALL)
    )
    expect(rows.filter(has_text="yellow_taxi_raw")).to_have_count(0)
    page.get_by_role("button", name=re.compile(r"^Unused \d")).click()
    expect(rows.filter(has_text="metrics")).to_have_count(0)
    page.get_by_role("button", name="7 days").click()
    expect(rows.filter(has_text="metrics")).to_contain_text("Unused")
    assert axe_finds(page) == []
    parts.get_by_role("button", name="Freshness").click()
    forecast = rows.filter(has_text="yellow_rides_hourly_forecast")
    expect(forecast).to_contain_text(re.compile(r"1 d.*in \d+ h", re.DOTALL))
    expect(rows.filter(has_text="weather_raw")).to_contain_text("overdue by")
    assert axe_finds(page) == []
    fits_a_phone(page)
    parts.get_by_role("button", name="At risk").click()
    weather = rows.filter(has_text="weather_raw")
    expect(weather.get_by_role("link", name="stage failed")).to_be_visible()
    expect(rows.filter(has_text="yellow_taxi_raw")).to_have_count(0)
    parts.get_by_role("button", name="Sources").click()
    expect(page.get_by_text("Their freshness is unknown")).to_be_visible()
    expect(rows.first).to_contain_text("unknown")
    page.go_back()
    expect(weather).to_be_visible()


def test_names_can_be_joined_and_separated(look: Look, lineage: Lineage) -> None:
    name = f"joined_{uuid.uuid4().hex[:8]}"
    load, report = _written("postgres://db:5432", name), _written("db", f"{name}_report")
    report["inputs"] = [{"namespace": "hive://lake:9083", "name": name}]
    load["eventTime"], report["eventTime"] = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"
    lineage.take(load, report)
    page = look("/datasets?fresh=names")
    join = page.get_by_role("button", name=f"Join {name} and {name}")
    expect(join).to_be_visible()
    assert axe_finds(page) == []
    fits_a_phone(page)
    join.click()
    expect(page.get_by_role("status").filter(has_text="Joined")).to_be_visible()
    expect(join).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(join).to_be_visible()
    page.get_by_role("button", name=f"Separate {name} and {name}").click()
    expect(page.get_by_role("status").filter(has_text="Separated")).to_be_visible()
    expect(join).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(join).to_be_visible()


def test_rules_for_names_are_listed_and_removed(look: Look, lineage: Lineage) -> None:
    name = f"ruled_{uuid.uuid4().hex[:8]}"
    lineage.take(
        _written("postgres://db:5432", f"prod_{name}"), _written("postgres://db:5432", name)
    )
    prefix = f"dataset:postgres://db:5432:{name[:-1]}"
    rule = {"one": f"dataset:postgres://db:5432:prod_{name[:-1]}%s", "other": f"{prefix}%s"}
    made = httpx.post(f"{lineage.url}/api/v2/aliases", json={**rule, "isRule": True})
    made.raise_for_status()
    page = look("/datasets?fresh=names")
    stated = page.get_by_role("list", name="Joined and separated names")
    row = stated.get_by_role("listitem").filter(has_text=f"prod_{name[:-1]}%s")
    expect(row).to_contain_text("Rule: 1 pair")
    assert axe_finds(page) == []
    fits_a_phone(page)
    row.get_by_role("button", name="Remove").click()
    expect(row).to_have_count(0)


def test_search_language_selects_in_the_search_and_in_lists(look: Look) -> None:
    page = look("/")
    page.get_by_role("combobox").fill("yellow raw")
    option = page.get_by_role("option").first
    expect(option).to_contain_text("yellow_taxi_raw")
    page = look("/search?text=%2Byellow_rides_hourly_actuals%20type:table")
    titles = _nodes(page, "Search results").locator(".clip")
    tables = ["yellow_rides_hourly_actuals", "yellow_taxi_raw", "yellow_taxi_staging"]
    expect(titles).to_have_text(tables)
    page.get_by_text("Search syntax").click()
    expect(page.get_by_role("link", name="revenue+2")).to_be_visible()
    assert axe_finds(page) == []
    page.get_by_role("navigation", name="Browse").get_by_role("link", name="Datasets").click()
    field = page.get_by_role("searchbox", name="Name contains")
    field.fill("+yellow_rides_hourly_actuals owner:ingestion type:table")
    expect(_nodes(page, "Datasets").locator(".clip")).to_have_text(tables[1:])


def test_search_finds_a_version_a_run_an_error_and_a_query(look: Look, lineage: Lineage) -> None:
    table, sample = "dataset:hive://lake:9083:nyc_taxi.yellow_taxi_raw", f"{lineage.url}/sample"
    answer = httpx.get(f"{sample}/api/v2/history", params={"node": table, "limit": 1})
    version = answer.json()["items"][0]
    page = look("/sample/")
    for text, name, place in (
        (version["version"], "yellow_taxi_raw", "Version"),
        (version["run"]["runId"], "merge_upsert_staging_into_raw_yellow", "Run"),
        ("503 Service", "stage", "Error"),
        ("avg(trip_distance)", "write", "SQL"),
    ):
        page.goto(f"{sample}/search?text={quote(text)}")
        row = _rows(page, "Search results")
        expect(row).to_have_count(1)
        expect(row).to_contain_text(name)
        expect(row).to_contain_text(place)
    row.get_by_role("link", name="write").first.click()
    expect(page.get_by_role("button", name="Query", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )
    details = page.get_by_role("complementary", name="Details")
    expect(details.locator("pre").first).to_contain_text("avg(trip_distance) AS mean_distance")


def test_platforms_are_listed_once(look: Look) -> None:
    page = look("/datasets")
    options = _filter(page, "Platform").locator("option")
    expect(options).not_to_have_count(1)
    names = [re.sub(r" \(.*", "", text).lower() for text in options.all_inner_texts()]
    assert len(names) == len(set(names))
