"""How much the page transfers, and which queries an event makes it repeat."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.looking import TRANSFERRED, Look

pytestmark = [pytest.mark.browser, pytest.mark.server]

_GRAPH = "/lineage?node=dataset:hive://lake:9083:nyc_taxi.weather_raw"


def test_start_page_transfers_at_most_150_kilobytes(look: Look) -> None:
    page = look("/")
    expect(page.get_by_role("region", name="Newest runs").get_by_role("link").first).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert 50 < page.evaluate(TRANSFERRED) <= 150


def test_first_graph_transfers_at_most_650_kilobytes(look: Look) -> None:
    page = look(_GRAPH)  # without a cache, so it also loads the code of the start page
    expect(page.locator(".canvas[aria-busy=false] .react-flow__edge").first).to_be_attached()
    page.wait_for_load_state("networkidle")
    assert 400 < page.evaluate(TRANSFERRED) <= 650
