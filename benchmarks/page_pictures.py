"""Make the screenshots of the lineage page in docs/pictures, from the sample: light and dark.

.venv/bin/python -m benchmarks.page_pictures
"""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Page, expect

from lakehouse.settings import REPOSITORY

PICTURES = REPOSITORY / "docs" / "pictures"
LAKE = "dataset:hive://lake:9083:nyc_taxi."
TASK = "job:nyc_taxi:TrainForecastModelFlow.prepare_training_data"
MODEL = "dataset:metaflow://local:TrainForecastModelFlow/model"
BEFORE = (datetime.now(UTC) - timedelta(days=13)).strftime("%Y-%m-%dT%H:%M:%SZ")
_GRAPH = f"/lineage?node={quote(TASK)}&up=3&down=1"
VIEWS = {
    "start": "/",
    "graph": f"{_GRAPH}&lit={quote(LAKE)}weather_raw",
    "difference": f"{_GRAPH}&from={BEFORE}",
    "provenance": f"/provenance?node={quote(MODEL)}",
}


def main() -> None:
    """Draw the pictures."""
    from commands.page import ensure_page
    from headwater.server.sample import sample_events
    from tests.looking import chromium, looking
    from tests.page.conftest import Lineage

    ensure_page()
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        server = Lineage(Path(folder))
        try:
            server.take(*sample_events(datetime.now(UTC) - timedelta(minutes=7)))
            with looking(browser, server.url) as look:
                for name, path in VIEWS.items():
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
