"""Impact, provenance, how a column is made, and where a text is, as a person goes to them."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.looking import Look, axe_finds

pytestmark = [pytest.mark.browser, pytest.mark.server]

_LAKE = "dataset:hive://lake:9083:nyc_taxi."
RAW, ACTUALS = f"{_LAKE}yellow_taxi_raw", f"{_LAKE}yellow_rides_hourly_actuals"
MODEL = "dataset:metaflow://local:TrainForecastModelFlow/model"


def _at(path: str, node: str, **others: str) -> str:
    told = "".join(f"&{name}={quote(value)}" for name, value in others.items())
    return f"/{path}?node={quote(node)}{told}"


VIEWS = {
    "impact": _at("impact", RAW),
    "impact-of-a-column": _at("impact", RAW, column="trip_distance"),
    "provenance": _at("provenance", MODEL),
    "search": "/search?text=PULocationID",
    "column": _at("lineage", ACTUALS, up="2", open=f"column:{ACTUALS}|mean_distance",
                  column=f"{ACTUALS}|mean_distance") + f"&columns={quote(ACTUALS)}",
}  # fmt: skip


def _find(page: Page, text: str) -> None:
    page.get_by_role("combobox").fill(text)
    page.get_by_role("option").first.click()


def test_a_found_column_leads_to_its_sql_and_to_all_that_it_reaches(look: Look) -> None:
    page = look("/")
    _find(page, "mean_distance")
    details = page.get_by_role("complementary", name="Details")
    sql = details.get_by_role("region", name="SQL")
    expect(sql.locator("mark").first).to_be_visible()
    assert sql.evaluate(
        "e => [...e.querySelectorAll('mark')].map(m => m.textContent).join('')"
    ) == ("sum(trip_distance) AS mean_distance")
    expect(details.get_by_text("aggregation")).to_be_visible()
    link = details.get_by_role("link", name="jobs.py at 9f3c2a7")
    expect(link).to_have_attribute(
        "href", "https://github.com/example/rides/blob/9f3c2a71d0/jobs.py"
    )
    details.get_by_role("link", name="What it reaches").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("mean_distance")


def test_what_a_column_reaches_is_told_by_owner_with_what_may_be_reached(look: Look) -> None:
    page = look(VIEWS["impact-of-a-column"])
    reached = page.get_by_role("region", name="forecasting", exact=True)
    perhaps = page.get_by_role("region", name="forecasting, perhaps")
    expect(reached.get_by_role("row", name=re.compile("mean_distance"))).to_contain_text(
        "aggregation"
    )
    expect(perhaps.get_by_role("row", name=re.compile("prepare_training_data"))).to_be_visible()
    expect(page.get_by_text("1 column of 1 dataset")).to_be_visible()
    page.get_by_label("All of it, or a column").select_option("")
    expect(page.get_by_role("heading", level=1)).to_have_text("What yellow_taxi_raw reaches")
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_contain_text("trip_distance")


def test_a_filter_says_what_it_hides_and_the_address_keeps_it(look: Look) -> None:
    page = look(VIEWS["impact"])
    page.get_by_label("Filter").fill("model")
    row = page.get_by_role("row", name=re.compile("^6 model"))
    expect(row).to_be_visible()
    expect(page.get_by_text("hidden by the filter")).to_be_visible()
    page.reload()
    expect(row).to_be_visible()
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.get_by_role("row", name=re.compile("compute_actuals"))).to_be_visible()


def test_the_graph_leads_to_the_provenance_of_a_version_down_to_the_files(look: Look) -> None:
    page = look("/")
    _find(page, "hourly_forecast")
    page.get_by_role("link", name="Provenance").click()
    tree = page.get_by_role("region", name="What it comes from")
    source = tree.locator("li").filter(has_text="source: no run").last
    expect(source).to_contain_text("yellow_tripdata")
    expect(tree.get_by_role("link", name=re.compile("9f3c2a7")).first).to_be_visible()
    versions = page.get_by_label("Version", exact=True)
    oldest = versions.locator("option").last.get_attribute("value")
    assert oldest is not None
    versions.select_option(oldest)
    expect(tree.get_by_text(oldest)).to_be_visible()
    expect(tree.get_by_text("weather_raw")).to_have_count(0)  # it came six days later
    expect(page.get_by_text(f"--version {oldest}")).to_be_visible()


def test_whether_a_model_was_trained_on_pii_is_said_plainly(look: Look) -> None:
    page = look(VIEWS["provenance"])
    said = page.get_by_role("note", name="Personal data")
    expect(said).to_contain_text("are told not to go into it")
    expect(said.get_by_text("nyc_taxi.yellow_taxi_raw tip_amount")).to_be_visible()
    page.goto(page.url.split("/provenance")[0] + _at("provenance", RAW))
    expect(page.get_by_role("note", name="Personal data")).to_contain_text("PII is in it")


def test_where_a_column_is_anywhere_is_a_list_with_counts(look: Look) -> None:
    page = look("/")
    page.get_by_role("combobox").fill("PULocationID")
    page.get_by_role("link", name=re.compile("All .* places of")).click()
    expect(page.get_by_role("status").get_by_text("datasets with such a column")).to_be_visible()
    page.get_by_role("button", name=re.compile("^SQL")).click()
    rows = page.locator(".found li")
    expect(rows.filter(has_text="PULocationID").first).to_contain_text("compute_actuals")
    page.get_by_role("button", name=re.compile("^Column")).click()
    page.get_by_role("link", name=re.compile("Impact of PULocationID of .*yellow_taxi_raw")).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("PULocationID")


def test_a_column_opens_by_keyboard_and_so_does_the_way_that_makes_it(look: Look) -> None:
    page = look(_at("lineage", ACTUALS, up="2") + f"&columns={quote(ACTUALS)}&columns={quote(RAW)}")
    page.get_by_role("button", name=re.compile("^mean_distance")).press("Enter")
    page.get_by_role("button", name="aggregation: how mean_distance is made").press("Enter")
    details = page.get_by_role("complementary", name="Details")
    expect(details.get_by_role("heading", name="mean_distance")).to_be_visible()
    details.get_by_role("tab", name="Elsewhere").click()
    expect(details.get_by_text("No other dataset has a column of this name.")).to_be_visible()


def test_what_is_asked_of_nothing_says_what_is_like_it(look: Look) -> None:
    page = look("/impact?node=weather_rwa")
    expect(page.get_by_role("alert").get_by_role("link").first).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", VIEWS)
def test_a_view_has_nothing_that_axe_finds_wrong(name: str, theme: str, look: Look) -> None:
    page = look(VIEWS[name], theme)
    expect(page.locator(".reached, .origin, .found, .made-by").first).to_be_visible()
    expect(page.locator(".waiting")).to_have_count(0)
    assert axe_finds(page) == []


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_fits_a_phone(name: str, look: Look) -> None:
    page = look(VIEWS[name], width=390, height=800)
    expect(page.locator(".reached, .origin, .found, .made-by").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
