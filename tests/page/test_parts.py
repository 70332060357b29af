"""Errors of the page if a part of it cannot be loaded."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.looking import Look, looking, open_address

from .conftest import Lineage
from .test_views import ACTUALS, _at, _node

pytestmark = [pytest.mark.browser, pytest.mark.server]

_VIEW = re.compile(r"/assets/LineagePage-.*\.js$")
_WORKER = re.compile(r"/assets/elk-worker.*\.js$")


def _search(page: Page) -> None:
    page.get_by_role("combobox").fill("hourly_act")
    page.get_by_role("option").first.click()


def _gone(route: Route) -> None:
    route.fulfill(status=404, json={"code": 404, "message": "the page has no such part"})


@pytest.mark.parametrize("part", ["js", "css"])
def test_page_with_a_dropped_request_reloads(part: str, look: Look) -> None:
    page = look("/")
    page.route(f"**/assets/index-*.{part}", lambda route: route.abort("failed"), times=2)
    page.reload()
    expect(page.get_by_text("Newest runs")).to_be_visible()
    assert page.evaluate("[...document.styleSheets].some(({ href }) => /index-/.test(href))")


def test_page_without_its_code_shows_a_message(look: Look) -> None:
    page = look("/")
    page.route("**/assets/index-*.js", _gone)
    page.reload()
    expect(
        page.get_by_text("A part of the page could not be loaded. Reload the page.")
    ).to_be_visible()
    page.unroute("**/assets/index-*.js")
    page.reload()
    expect(page.get_by_text("Newest runs")).to_be_visible()


def test_view_opened_during_an_outage_appears_afterwards(look: Look, lineage: Lineage) -> None:
    page = look("/")
    link = page.get_by_role("region", name="Newest runs").get_by_role("link").first
    expect(link).to_be_visible()
    lineage.stop()
    link.click()
    expect(page.get_by_role("alert")).to_contain_text("The server does not respond")
    expect(page.get_by_role("banner")).to_be_visible()
    lineage.start()
    expect(page.get_by_role("complementary", name="Details")).to_be_visible()
    expect(page.locator("[data-node]").first).to_be_visible()


def test_view_of_an_old_build_is_reloaded(look: Look) -> None:
    page = look("/")
    page.route(_VIEW, _gone, times=1)
    _search(page)
    expect(_node(page, "yellow_rides_hourly_actuals")).to_be_visible()
    page.go_back()
    expect(page.get_by_text("Newest runs")).to_be_visible()


def test_view_with_missing_code_shows_an_error(look: Look) -> None:
    page = look("/")
    page.route(_VIEW, _gone)
    _search(page)
    expect(page.get_by_role("alert")).to_contain_text("could not be loaded")
    expect(page.get_by_text(_VIEW)).to_be_visible()
    page.get_by_role("link", name="headwater, start page").click()
    expect(page.get_by_text("Newest runs")).to_be_visible()
    page.go_back()
    page.unroute(_VIEW)
    page.get_by_role("button", name="Reload").click()
    expect(_node(page, "yellow_rides_hourly_actuals")).to_be_visible()


def test_graph_with_missing_layout_code_shows_an_error(look: Look) -> None:
    page = look("/")
    page.route(_WORKER, _gone)
    _search(page)
    expect(page.get_by_role("alert")).to_contain_text("could not be loaded")
    page.unroute(_WORKER)
    page.get_by_role("button", name="Reload").click()
    expect(_node(page, "yellow_rides_hourly_actuals")).to_be_visible()


_REFUSES = """onmessage = ({ data: { id, cmd } }) =>
    postMessage(cmd === "layout" ? { id, error: { message: "no places" } } : { id, data: {} })"""


def test_layout_error_is_shown_and_the_view_can_be_changed(
    look: Look,
) -> None:
    page = look("/")
    page.route(_WORKER, lambda route: route.fulfill(body=_REFUSES, content_type="text/javascript"))
    _search(page)
    expect(page.get_by_role("alert")).to_contain_text("could not be laid out: no places")
    page.get_by_role("button", name="One step fewer upstream").click()
    steps = page.get_by_role("group", name="Steps upstream")
    expect(steps).to_contain_text(re.compile(r"\d"))


def test_view_error_leaves_the_rest_of_the_page(browser: Browser, lineage: Lineage) -> None:
    with looking(browser, lineage.url, expected=("TypeError",)) as look:
        page = look("/")
        messages: list[str] = []
        page.on("console", lambda item: messages.append(item.text))
        page.route("**/api/v2/graph?*", lambda item: item.fulfill(json={"nodes": 1}))
        open_address(page, page.url + _at(ACTUALS)[1:])
        expect(page.get_by_role("alert")).to_contain_text("The page has an error")
        assert [item for item in messages if item.startswith("TypeError")] != []
        page.unroute("**/api/v2/graph?*")
        page.get_by_role("button", name="Reload").click()
        expect(_node(page, "yellow_rides_hourly_actuals")).to_be_visible()
