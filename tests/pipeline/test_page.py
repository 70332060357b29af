"""All views of the page with the pipeline's lineage."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

from commands.page import ensure_page
from tests.looking import Look, axe_finds, counted, details, find, looking, walk_every_view
from tests.pipeline.conftest import FLOW, TRAIN_DAG, Pipeline

pytestmark = [pytest.mark.airflow, pytest.mark.browser]

LAKE = "dataset:hive://lakehouse:nyc_taxi."
FORECAST, RAW = f"{LAKE}yellow_rides_hourly_forecast", f"{LAKE}yellow_taxi_raw"
MODEL = f"dataset:metaflow://local:{FLOW}/model"
MERGE = "job:nyc_taxi:ingest_yellow_taxi_data.merge_upsert_staging_into_raw_yellow"
TRAIN = f"job:nyc_taxi:{FLOW}.train"


def _graph(node: str, **others: str) -> str:
    view = {"up": "1", "down": "1", **others}
    parameters = "".join(f"&{name}={quote(value)}" for name, value in view.items())
    return f"/lineage?node={quote(node)}{parameters}"


VIEWS = {
    "start": "/",
    "forecast": _graph(FORECAST, up="100", lit=FORECAST),
    "pipelines": _graph(f"job:nyc_taxi:{FLOW}", level="pipeline", up="2", down="2"),
    "queries": _graph(RAW, level="query", up="2", down="2"),
    "columns": _graph(RAW, up="2", columns=RAW, column=f"{RAW}|trip_distance"),
    "dataset": _graph(RAW, open=RAW, tab="versions"),
    "job": _graph(MERGE, open=MERGE),
    "model": _graph(MODEL, open=MODEL),
    "impact": f"/impact?node={quote(RAW)}&column=trip_distance",
    "provenance": f"/provenance?node={quote(MODEL)}",
    "search": "/search?text=PULocationID",
    "difference": _graph(RAW, up="2", down="2", **{"from": "THEN"}),
    "beside": _graph(RAW, up="2", down="2", at="THEN", moment="THEN", beside="now"),
    "timeline": _graph(RAW, timeline="all"),
    "history": _graph(RAW, open=RAW, tab="history"),
    "run": _graph(MERGE, open="run:RUN"),
}
"""THEN is the moment at which the first month was loaded, RUN the run that did it."""
SHOWN = {
    "difference": "aside[aria-label=Differences] li",
    "beside": "section + section [data-node]",
    "timeline": "[role=group][aria-label=Runs] button",
    "history": "[role=tabpanel] li",
    "run": "[role=tabpanel] dl",
}
"""What is to be seen of a view, where that is not its first node or row."""


@pytest.fixture
def look(browser: Browser, pipeline: Pipeline) -> Iterator[Look]:
    """Return a function that opens a path of the page with the pipeline's lineage."""
    ensure_page()
    with looking(browser, pipeline.settings.headwater_url) as open_:
        yield open_


@pytest.mark.parametrize("name", VIEWS)
def test_pipeline_views_render_without_axe_violations(
    name: str, look: Look, pipeline: Pipeline
) -> None:
    runs = pipeline.get("/api/v2/runs", job=MERGE, limit=1_000)["items"]
    first = min(
        (run for run in runs if run["state"] == "COMPLETED"), key=lambda run: run["endedAt"]
    )
    path = VIEWS[name].replace("THEN", quote(first["endedAt"])).replace("RUN", first["runId"])
    page = look(path)
    what = "main li a, [data-node], main table, main [role=status]:visible, [data-testid=origins]"
    expect(page.locator(SHOWN.get(name, what)).first).to_be_visible()
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    assert axe_finds(page) == []


@pytest.fixture
def start(look: Look) -> Iterator[Page]:
    """Open the start page; check at the end that there were at most three clicks."""
    with counted(look("/")) as page:
        yield page


def test_forecasts_come_from_every_months_file(start: Page, pipeline: Pipeline) -> None:
    find(start, "hourly_forecast", "yellow_rides_hourly_forecast")
    start.get_by_role("link", name="Provenance").click()
    origin = start.get_by_role("region", name="Upstream versions")
    for month in pipeline.months:
        expect(origin.get_by_text(f"yellow_tripdata_{month}.parquet").first).to_be_attached()


def test_each_version_of_the_trips_shows_its_run(start: Page) -> None:
    find(start, "yellow_taxi_raw", "yellow_taxi_raw")
    start.locator('[data-node$="nyc_taxi.yellow_taxi_raw"]').click()
    details(start).get_by_role("tab", name="Versions").click()
    newest = details(start).get_by_role("listitem").first
    expect(newest.get_by_role("link", name=re.compile("merge_upsert"))).to_be_visible()


def test_provenance_shows_no_personal_data_in_the_model(start: Page) -> None:
    find(start, "model", r"^model\b")
    start.get_by_role("link", name="Provenance").click()
    note = start.get_by_role("note", name="Personal data")
    expect(note).to_contain_text(
        "Inputs have columns tagged PII, but column lineage shows that they are masked or not used"
    )
    expect(note).to_contain_text("tip_amount")


def test_run_shows_the_command_to_open_its_card(look: Look) -> None:
    page = look(_graph(TRAIN, open=TRAIN, tab="runs"))
    details(page).get_by_role("link", name=re.compile("^Completed")).first.click()
    command = details(page).get_by_text(re.compile(r"card view \S+/train/\d+$"))
    expect(command).to_be_visible()
    expect(
        details(page).get_by_role("button", name="Copy the command that opens the card")
    ).to_be_visible()


def test_training_run_shows_its_steps_over_time(look: Look) -> None:
    page = look("/")
    page.get_by_role("link", name=re.compile(f"Completed.*{TRAIN_DAG}")).first.click()
    details(page).get_by_role("tab", name=re.compile("Child runs")).click()
    expect(details(page).get_by_text("compute_actuals").first).to_be_visible()
    expect(details(page).get_by_text("write_forecasts_to_table").first).to_be_visible()


def test_every_view_works_by_keyboard(look: Look) -> None:
    walk_every_view(look("/"))
