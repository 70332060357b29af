"""The page for first-time visitors and invalid addresses."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.looking import Look, axe_finds, open_address

from .conftest import Lineage

pytestmark = [pytest.mark.browser, pytest.mark.server]

VIEWS = {
    "sample": "/sample/",
    "sample graph": "/sample/lineage?node=weather_raw&open=dataset:hive://lake:9083:nyc_taxi.weather_raw",
    "not found": "/lineages",
    "no node": "/provenance",
    "unknown run": f"/run?job={quote('job:nyc_taxi:TrainForecastModelFlow')}&id=manual__1",
}


def test_empty_server_links_to_the_sample_and_back(empty: Look) -> None:
    page = empty("/")
    base = page.url + "sample"
    expect(page.get_by_role("heading", name="No lineage yet")).to_be_visible()
    expect(page.get_by_text("./run lineage harvest --help")).to_be_visible()
    page.get_by_role("link", name="open a sample lineage").click()
    banner = page.get_by_role("complementary", name="Sample")
    expect(banner).to_contain_text("Not your data")
    page.get_by_role("link", name="stage", exact=True).click()
    expect(page.get_by_role("complementary", name="Details")).to_contain_text("HTTPError: 503")
    command = page.get_by_text("./run lineage runs --url")
    expect(command).to_contain_text(base)
    assert page.url.startswith(f"{base}/lineage?")
    page.reload()
    expect(page.get_by_role("complementary", name="Details")).to_contain_text("HTTPError: 503")
    banner.get_by_role("link", name="Leave the sample").click()
    expect(page.get_by_role("heading", name="No lineage yet")).to_be_visible()
    expect(banner).to_be_hidden()
    open_address(page, base.removesuffix("sample") + "impact")
    expect(page.get_by_text("Search above")).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_role("combobox")).to_be_focused()


def test_invalid_address_shows_an_error_with_links(look: Look) -> None:
    page = look("/lineages?node=x")
    expect(page.get_by_role("heading", name="Not found")).to_be_visible()
    expect(page.get_by_text("/lineages?node=x")).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_role("combobox")).to_be_focused()
    page.get_by_role("link", name="start page", exact=True).click()
    expect(page.get_by_text("Newest runs")).to_be_visible()


BEGINNINGS = {
    "/lineage": "Upstream and downstream lineage",
    "/provenance": "Upstream versions",
    "/impact": "Downstream impact",
    "/search": "Search the lineage",
}


@pytest.mark.parametrize("path", BEGINNINGS)
def test_empty_view_explains_its_purpose(path: str, look: Look) -> None:
    # The sample's list is always the same; other tests add newer datasets to the server.
    page = look(f"/sample{path}")
    expect(page.get_by_role("heading", name=BEGINNINGS[path])).to_be_visible()
    newest = page.get_by_role("list", name="Recently written")
    expect(newest.get_by_role("listitem").filter(has_text="model")).to_be_visible()
    newest.get_by_role("link", name=re.compile("yellow_rides_hourly_forecast")).click()
    expect(newest).to_be_hidden()
    assert "node=dataset" in page.url
    expect(page.locator("[aria-busy=true]")).to_have_count(0)


@pytest.mark.parametrize("path", ["/lineage", "/provenance", "/impact"])
def test_unknown_node_shows_similar_ones(path: str, look: Look) -> None:
    page = look(f"{path}?node=qqqq")
    expect(page.get_by_role("alert")).to_contain_text("'qqqq'")
    page.get_by_role("list", name="Recently written").get_by_role("link").first.click()
    expect(page.get_by_role("alert")).to_be_hidden()


def test_unknown_run_opens_after_its_first_event(look: Look, lineage: Lineage) -> None:
    page = look("/run?job=job:nyc_taxi:just_begun&id=manual__7")
    expect(page.get_by_role("alert")).to_contain_text("just_begun")
    lineage.take(
        {
            "eventType": "START",
            "eventTime": "2026-01-01T00:00:00Z",
            "producer": "https://example.org/test",
            "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
            "run": {
                "runId": "0194b1c4-0000-7000-8000-000000000007",
                "facets": {"airflowDagRun": {"dagRun": {"run_id": "manual__7"}}},
            },
            "job": {"namespace": "nyc_taxi", "name": "just_begun"},
        }
    )
    expect(page.get_by_role("complementary", name="Details")).to_contain_text("manual__7")


@pytest.mark.parametrize("name", VIEWS)
def test_views_have_no_axe_violations(name: str, look: Look) -> None:
    page = look(VIEWS[name])
    expect(page.locator("main li a, [data-node], [data-testid=lost]").first).to_be_visible()
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    assert axe_finds(page) == []
