"""Views of impact, provenance, column queries and occurrences of a text."""

from __future__ import annotations

import csv
import json
import re
from base64 import b64encode
from io import StringIO
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.looking import Look, axe_finds, details, keep, open_address

pytestmark = [pytest.mark.browser, pytest.mark.server]

_LAKE = "dataset:hive://lake:9083:nyc_taxi."
RAW, ACTUALS = f"{_LAKE}yellow_taxi_raw", f"{_LAKE}yellow_rides_hourly_actuals"
MODEL = "dataset:metaflow://local:TrainForecastModelFlow/model"


def _at(path: str, node: str, **others: str) -> str:
    parameters = "".join(f"&{name}={quote(value)}" for name, value in others.items())
    return f"/{path}?node={quote(node)}{parameters}"


_ANSWER = (
    "main table, [data-testid=origins], main ul[aria-label='Search results'], "
    "section[aria-label^='By ']"
)
"""Elements that a view shows once it is loaded."""

VIEWS = {
    "impact": _at("impact", RAW),
    "impact-of-a-column": _at("impact", RAW, column="trip_distance"),
    "provenance": _at("provenance", MODEL),
    "search": "/search?text=PULocationID",
    "column": _at("lineage", ACTUALS, up="2", open=f"column:{ACTUALS}|mean_distance",
                  column=f"{ACTUALS}|mean_distance")
    + f"&columns={quote(ACTUALS)}&columns={quote(RAW)}",
}  # fmt: skip


def _find(page: Page, text: str) -> None:
    page.get_by_role("combobox").fill(text)
    page.get_by_role("option").first.click()


def test_column_search_leads_to_sql_and_impact(look: Look) -> None:
    page = look("/")
    _find(page, "mean_distance")
    details = page.get_by_role("complementary", name="Details")
    sql = details.get_by_role("region", name="SQL")
    expect(sql.locator("mark").first).to_be_visible()
    assert sql.evaluate(
        "e => [...e.querySelectorAll('mark')].map(m => m.textContent).join('')"
    ) == ("avg(trip_distance) AS mean_distance")
    expect(details.get_by_text("aggregation")).to_be_visible()
    link = details.get_by_role("link", name="jobs.py at 9f3c2a7")
    expect(link).to_have_attribute(
        "href", "https://github.com/example/rides/blob/9f3c2a71d0/jobs.py"
    )
    details.get_by_role("link", name="Downstream columns").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("mean_distance")


def test_column_impact_is_grouped_by_owner(look: Look) -> None:
    page = look(VIEWS["impact-of-a-column"])
    reached = page.get_by_role("region", name="forecasting", exact=True)
    perhaps = page.get_by_role("region", name="forecasting, possibly affected")
    expect(reached.get_by_role("row", name=re.compile("mean_distance"))).to_contain_text(
        "aggregation"
    )
    expect(perhaps.get_by_role("row", name=re.compile("prepare_training_data"))).to_be_visible()
    expect(page.get_by_text("1 column of 1 dataset")).to_be_visible()
    page.get_by_label("Whole dataset or a column").select_option("")
    expect(page.get_by_role("heading", level=1)).to_have_text("Impact of yellow_taxi_raw")
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_contain_text("trip_distance")


def test_filter_shows_hidden_count_and_is_in_the_url(look: Look) -> None:
    page = look(VIEWS["impact"])
    page.get_by_label("Filter").fill("model")
    row = page.get_by_role("row", name=re.compile("^6 model"))
    expect(row).to_be_visible()
    expect(page.get_by_text("hidden by the filter")).to_be_visible()
    page.reload()
    expect(row).to_be_visible()
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.get_by_role("row", name=re.compile("compute_actuals"))).to_be_visible()


def test_graph_links_to_provenance_down_to_the_files(look: Look) -> None:
    page = look("/")
    _find(page, "hourly_forecast")
    page.get_by_role("link", name="Provenance").click()
    tree = page.get_by_role("region", name="Upstream versions")
    source = tree.locator("li").filter(has_text="source: no known run").last
    expect(source).to_contain_text("yellow_tripdata")
    expect(tree.get_by_role("link", name=re.compile("9f3c2a7")).first).to_be_visible()
    versions = page.get_by_label("Version", exact=True)
    expect(versions.locator("option")).to_have_count(15)
    oldest = versions.locator("option").last.get_attribute("value")
    assert oldest is not None
    versions.select_option(oldest)
    expect(tree.get_by_text(oldest)).to_be_visible()
    expect(tree.get_by_text("weather_raw")).to_have_count(0)  # it became an input six days later
    expect(page.get_by_text(f"--version {oldest}")).to_be_visible()


def test_provenance_states_whether_pii_was_used(look: Look) -> None:
    page = look(VIEWS["provenance"])
    said = page.get_by_role("note", name="Personal data")
    expect(said).to_contain_text("masked or not used")
    expect(said.get_by_text("nyc_taxi.yellow_taxi_raw.tip_amount")).to_be_visible()
    open_address(page, page.url.split("/provenance")[0] + _at("provenance", RAW))
    expect(page.get_by_role("note", name="Personal data")).to_contain_text("Contains PII")


def test_column_occurrences_are_listed_with_counts(look: Look) -> None:
    page = look("/")
    page.get_by_role("combobox").fill("PULocationID")
    page.get_by_role("link", name=re.compile("All .* matches for")).click()
    expect(page.get_by_role("status").get_by_text("datasets with this column")).to_be_visible()
    page.get_by_role("button", name=re.compile("^SQL")).click()
    rows = page.get_by_role("list", name="Search results").get_by_role("listitem")
    expect(rows.filter(has_text="PULocationID").first).to_contain_text("compute_actuals")
    page.get_by_role("button", name=re.compile("^Column")).click()
    page.get_by_role("link", name=re.compile("Impact of PULocationID of .*yellow_taxi_raw")).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("PULocationID")


def test_column_and_its_query_open_by_keyboard(look: Look) -> None:
    page = look(_at("lineage", ACTUALS, up="2") + f"&columns={quote(ACTUALS)}&columns={quote(RAW)}")
    page.get_by_role("button", name=re.compile("^mean_distance")).press("Enter")
    page.get_by_role("button", name="aggregation: lineage of mean_distance").press("Enter")
    details = page.get_by_role("complementary", name="Details")
    expect(details.get_by_role("heading", name="mean_distance")).to_be_visible()
    details.get_by_role("tab", name="Elsewhere").click()
    expect(details.get_by_text("No other dataset has a column of this name.")).to_be_visible()


def test_unmatched_search_suggests_similar_names(look: Look) -> None:
    page = look("/impact?node=weather_rwa")
    expect(page.get_by_role("alert").get_by_role("link").first).to_be_visible()


@pytest.mark.parametrize("name", VIEWS)
def test_views_have_no_axe_violations_and_fit_a_phone(name: str, look: Look) -> None:
    page = look(VIEWS[name])
    expect(page.locator(_ANSWER).first).to_be_visible()
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    keep(page, name)
    assert axe_finds(page) == []
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_function("document.documentElement.scrollWidth <= 390")


def test_version_of_the_details_leads_to_its_readers(look: Look) -> None:
    page = look(_at("lineage", RAW, open=RAW, tab="versions"))
    page.get_by_role("complementary", name="Details").locator("li code").first.click()
    readers = page.get_by_role("region", name=re.compile("^Read by 1 run"))
    expect(readers).to_contain_text("compute_actuals")
    expect(readers).to_contain_text("by time")
    contained = page.get_by_role("region", name=re.compile("^Contained in or used by"))
    expect(contained.get_by_role("link", name=re.compile("^model"))).to_be_visible()
    expect(page.get_by_role("region", name="Unknown")).to_contain_text("reporting a version")
    assert axe_finds(page) == []
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_function("document.documentElement.scrollWidth <= 390")


def test_failed_check_leads_to_those_who_used_the_data(look: Look) -> None:
    page = look("/problems")
    page.get_by_role("link", name="Who used the data").first.click()
    expect(page.get_by_role("region", name="Bad versions")).to_contain_text("failed not_negative")
    affected = page.get_by_role("region", name=re.compile("affected nodes$"))
    expect(affected.get_by_role("listitem").last).to_contain_text("forecasting")
    expect(page.locator("pre").first).to_contain_text("airflow dags trigger")
    expect(page.get_by_role("button", name="Copy the message")).to_be_visible()
    assert axe_finds(page) == []
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_function("document.documentElement.scrollWidth <= 390")


def _saved(page: Page, choice: str) -> tuple[str, bytes]:
    page.get_by_role("button", name="Share").press("ArrowDown")
    expect(page.get_by_role("menuitem").first).to_be_focused()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name=re.compile(choice)).press("Enter")
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_graph_export_is_complete_sharp_and_themed(theme: str, look: Look) -> None:
    page = look(VIEWS["column"].replace("&open=", "&was="), theme)
    expect(page.locator(".react-flow__edgelabel-renderer button")).to_be_visible()
    name, drawing = _saved(page, "SVG")
    svg = drawing.decode()
    assert name.startswith("lineage-nyc_taxi.yellow_rides_hourly_actuals-20")
    for text in (
        "task level",
        "yellow_taxi_raw",
        "mean_distance",
        "aggregation",
        "compute_actuals",
    ):
        assert text in svg
    assert ("rgb(14, 15, 18)" in svg) == (theme == "dark")  # the page's own color
    size = [
        int(float(length)) for length in re.findall(r'<svg .*?width="(.*?)" height="(.*?)"', svg)[0]
    ]
    name, picture = _saved(page, "PNG")
    assert (name[-4:], picture[:4]) == (".png", b"\x89PNG")
    assert [int.from_bytes(picture[at : at + 4]) for at in (16, 20)] == [
        2 * length for length in size
    ]
    url = "data:image/png;base64," + b64encode(picture).decode()
    colors = page.evaluate(_COLORS, url)
    assert colors["corner"] == ([14, 15, 18] if theme == "dark" else [250, 250, 251])
    assert colors["count"] > 20  # the picture is not empty: text and lines have many colors


_COLORS = """async url => {
  const image = new Image(); image.src = url; await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height);
  const context = canvas.getContext("2d"); context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, image.width, image.height);
  const found = new Set();
  for (let at = 0; at < data.length; at += 4) found.add(data.slice(at, at + 3).join());
  return { corner: [...data.slice(0, 3)], count: found.size };
}"""


def test_graph_is_exported_as_mermaid_csv_and_json(look: Look) -> None:
    page = look(_at("lineage", ACTUALS, up="1", down="1"))
    expect(page.locator("[data-node]")).to_have_count(3)
    _, text = _saved(page, "Mermaid")
    assert re.findall(r'\[\(?"(.*?)"', text.decode()) == [
        "nyc_taxi.yellow_rides_hourly_actuals",
        "TrainForecastModelFlow.compute_actuals",
        "TrainForecastModelFlow.prepare_training_data",
    ]
    _, table = _saved(page, "CSV")
    rows = list(csv.DictReader(StringIO(table.decode())))
    assert [row["downstream"].rpartition(".")[2] for row in rows if row["kind"] == "table"] == [
        "prepare_training_data"
    ]
    for choice, message in (("this view", "Link copied"), ("at this time", "Link copied")):
        page.get_by_role("button", name="Share").press("ArrowDown")
        page.get_by_role("menuitem", name=re.compile(choice)).press("Enter")
        expect(page.get_by_role("status").filter(has_text=message)).to_be_attached()
    _, data = _saved(page, "JSON")
    exported = json.loads(data)
    assert (exported["node"], len(exported["nodes"]), len(exported["edges"])) == (ACTUALS, 3, 2)


def test_escape_closes_menus_and_dialogs_but_not_the_details(look: Look) -> None:
    page = look(VIEWS["column"])
    page.get_by_role("button", name="Options").click()
    button = page.get_by_role("button", name="Share")
    expect(button).to_be_enabled()
    button.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("menuitem").last).to_be_focused()
    assert axe_finds(page) == []
    page.keyboard.press("Escape")
    expect(page.get_by_role("menu")).to_be_hidden()
    expect(button).to_be_focused()
    expect(page.get_by_role("complementary", name="Details")).to_be_visible()
    details(page).get_by_role("button", name="Wrap lines").first.click()
    details(page).get_by_role("button", name="Enlarge").first.click()
    code = page.get_by_role("dialog", name="SQL")
    expect(code.get_by_role("button", name="Wrap lines")).to_have_attribute("aria-pressed", "true")
    assert axe_finds(page) == []
    page.keyboard.press("Escape")
    expect(code).to_be_hidden()
    expect(details(page)).to_be_visible()
