"""Make the screenshots of the lineage page in docs/pictures: ten views, light and dark.

.venv/bin/python -m benchmarks.page_pictures
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
from playwright.sync_api import Browser, Page, expect

from benchmarks.dbt_project import events
from lakehouse.settings import REPOSITORY

PICTURES = REPOSITORY / "docs" / "pictures"
LAKE = "dataset:hive://lake:9083:nyc_taxi."
TASK = "job:nyc_taxi:TrainForecastModelFlow.prepare_training_data"
MODEL = "dataset:metaflow://local:TrainForecastModelFlow/model"
PROD = "dataset:snowflake://org-acct:shop.prod."
ACTUALS, RAW = f"{LAKE}yellow_rides_hourly_actuals", f"{LAKE}yellow_taxi_raw"
BEFORE = (datetime.now(UTC) - timedelta(days=13)).strftime("%Y-%m-%dT%H:%M:%SZ")
_GRAPH = f"/lineage?node={quote(TASK)}&up=3&down=1"
OF_SAMPLE = {
    "start": "/",
    "graph": f"{_GRAPH}&lit={quote(LAKE)}weather_raw",
    "difference": f"{_GRAPH}&from={BEFORE}",
    "provenance": f"/provenance?node={quote(MODEL)}",
    "columns": f"/lineage?node={quote(ACTUALS)}&up=2&down=0&columns={quote(ACTUALS)}"
    f"&column={quote(ACTUALS)}%7Cmean_distance&open=column%3A{quote(ACTUALS)}%7Cmean_distance",
    "versions": f"/lineage?node={quote(RAW)}&open={quote(RAW)}&tab=versions",
}
OF_PROJECT = {
    "problems": "/problems",
    "freshness": "/datasets?fresh=risk",
    "map": "/map?path=snowflake&path=shop.prod",
    "impact": f"/impact?node={quote(PROD)}stg_17",
}


def main() -> None:
    """Draw the pictures."""
    from commands.page import ensure_page
    from headwater.server.sample import sample_events
    from tests.looking import chromium

    ensure_page()
    start = datetime.now(UTC) - timedelta(minutes=7)
    with chromium() as browser:
        _draw(browser, sample_events(start), OF_SAMPLE)
        _draw(browser, events(start), OF_PROJECT)


def _draw(browser: Browser, events: Iterable[dict[str, Any]], views: dict[str, str]) -> None:
    """Draw views of a server with some events."""
    from tests.looking import looking
    from tests.page.conftest import Lineage

    with tempfile.TemporaryDirectory() as folder:
        server = Lineage(Path(folder))
        try:
            every = iter(events)
            while batch := list(islice(every, 500)):
                server.take(*batch)
            # The first answer waits until all events are processed.
            httpx.get(f"{server.url}/api/v2/health", timeout=120).raise_for_status()
            with looking(browser, server.url) as look:
                for name, path in views.items():
                    for theme in ("light", "dark"):
                        page = look(path, theme)
                        _wait(page)
                        page.screenshot(path=PICTURES / f"{name}-{theme}.png")
        finally:
            server.stop()


def _wait(page: Page) -> None:
    page.wait_for_load_state("networkidle")
    expect(page.locator("[aria-busy=true]")).to_have_count(0)


if __name__ == "__main__":
    main()
