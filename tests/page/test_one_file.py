"""The page as one file, opened from a disk without any network."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from commands.environment import script
from commands.page import ensure_page
from headwater.log import EventLog, entry_of
from headwater.projection.live import Batch, Live
from headwater.server.sample import sample_events
from tests.looking import details
from tests.page.conftest import Lineage

pytestmark = pytest.mark.browser

_LARGEST = 2 * 1024**2
Open = Callable[..., Page]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the page and return a log with the sample, which is faster to export than the demo."""
    ensure_page()
    file = tmp_path_factory.mktemp("sample") / "log.db"
    events = sample_events(datetime.now(UTC))
    with closing(EventLog(str(file))) as log:
        Live(log).ingest(Batch([entry_of(orjson.dumps(event)) for event in events]))
    return file


@pytest.fixture
def open_file(browser: Browser, log: Path, tmp_path: Path) -> Iterator[Open]:
    """Return a function that exports a file and opens it; errors and requests fail the test."""
    context = browser.new_context(offline=True)
    problems: list[str] = []

    def block(route: Route) -> None:
        if route.request.url.startswith(("file:", "blob:", "data:")):
            route.continue_()
        else:
            problems.append(route.request.url)
            route.abort()

    def open_(*arguments: str) -> Page:
        file = tmp_path / "lineage.html"
        command = [script("headwater"), "export", "--format", "html", "--output", str(file)]
        source = () if "--url" in arguments else ("--database", str(log))
        subprocess.run([*command, *source, *arguments], capture_output=True, check=True)
        assert file.stat().st_size <= _LARGEST
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "console", lambda line: problems.append(line.text) if line.type == "error" else None
        )
        page.goto(file.as_uri())
        return page

    context.route("**/*", block)
    yield open_
    context.close()
    assert problems == []


def test_file_of_a_node_has_graph_columns_and_details(open_file: Open) -> None:
    page = open_file("yellow_taxi_raw")
    for name in ("yellow_taxi_staging", "yellow_rides_hourly_forecast", "training_data"):
        expect(page.locator(".react-flow__node", has_text=name).first).to_be_visible()
    page.locator(".react-flow__node", has_text="yellow_taxi_raw").first.click()
    expect(details(page).get_by_text("tpep_pickup_datetime").first).to_be_visible()
    page.reload()
    expect(details(page).get_by_text("tpep_pickup_datetime").first).to_be_visible()
    details(page).get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Share").click()
    with page.expect_download() as download:  # the policy of the file allows no request
        page.get_by_role("menuitem", name="Picture").click()
    assert Path(download.value.path()).read_bytes().startswith(b"\x89PNG")


def test_file_of_all_nodes_searches_and_lists_without_a_server(
    lineage: Lineage, open_file: Open
) -> None:
    page = open_file("--all", "--url", f"{lineage.url}/sample")
    page.get_by_role("combobox").fill("mean_distance")
    hits = page.get_by_role("listbox", name="Search results")
    expect(hits.get_by_text("yellow_rides_hourly_actuals").first).to_be_visible()
    hits.get_by_text("yellow_rides_hourly_actuals").first.click()
    expect(page.locator(".react-flow__node", has_text="yellow_taxi_raw").first).to_be_visible()
    page.get_by_role("link", name="Datasets").click()
    expect(page.get_by_text("yellow_taxi_staging").first).to_be_visible()
    page.go_back()
    expect(page.locator(".react-flow__node", has_text="yellow_taxi_raw").first).to_be_visible()
