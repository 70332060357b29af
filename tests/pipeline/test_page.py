"""The page over what the pipeline told: every view, with what is really in it."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, expect

from commands.page import ensure_page
from tests.looking import Look, axe_finds, looking
from tests.pipeline.conftest import FLOW, Pipeline

pytestmark = [pytest.mark.airflow, pytest.mark.browser]

LAKE = "dataset:hive://lakehouse:nyc_taxi."
FORECAST, RAW = f"{LAKE}yellow_rides_hourly_forecast", f"{LAKE}yellow_taxi_raw"
MODEL = f"dataset:metaflow://local:{FLOW}/model"
MERGE = "job:nyc_taxi:ingest_yellow_taxi_data.merge_upsert_staging_into_raw_yellow"


def _graph(node: str, **others: str) -> str:
    told = "".join(f"&{name}={quote(value)}" for name, value in others.items())
    return f"/lineage?node={quote(node)}{told}"


VIEWS = {
    "start": "/",
    "forecast": _graph(FORECAST, up="100", lit=FORECAST),
    "pipelines": _graph(f"job:nyc_taxi:{FLOW}", level="pipeline", up="2", down="2"),
    "queries": _graph(RAW, level="query", up="2", down="2"),
    "columns": _graph(RAW, up="2", columns=RAW, column=f"{RAW}|trip_distance"),
    "dataset": _graph(RAW, open=RAW, tab="versions"),
    "job": _graph(MERGE, open=MERGE),
    "model": _graph(MODEL, open=MODEL),
}


@pytest.fixture
def look(browser: Browser, pipeline: Pipeline) -> Iterator[Look]:
    """Open an address of the page over the pipeline's lineage."""
    ensure_page()
    with looking(browser, pipeline.settings.throughline_url) as open_:
        yield open_


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", VIEWS)
def test_a_view_of_the_pipelines_lineage_stands_and_axe_finds_nothing(
    name: str, theme: str, look: Look
) -> None:
    page = look(VIEWS[name], theme)
    expect(page.locator(".row, [data-node]").first).to_be_visible()
    expect(page.locator(".waiting")).to_have_count(0)
    assert axe_finds(page) == []


def test_the_forecasts_lead_back_to_every_months_file(look: Look, pipeline: Pipeline) -> None:
    page = look(VIEWS["forecast"])
    for month in pipeline.months:
        file = page.locator(f'[data-node*="tripdata_{month}.parquet"]')
        expect(file.first).to_be_attached()
