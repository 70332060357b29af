"""The page while it waits, and while the server is unavailable."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.looking import Look, axe_finds, details, find, looking, open_address

from .conftest import Lineage
from .test_views import ACTUALS, _at

pytestmark = [pytest.mark.browser, pytest.mark.server]

_AWAY = "The server does not respond. Shown is the last graph received"


@contextmanager
def _held(page: Page, pattern: str) -> Iterator[None]:
    """Hold all requests of a pattern until the end of the context."""
    held: list[Route] = []
    page.route(pattern, lambda route: held.append(route))
    try:
        yield
    finally:  # a page that is closed during a request reports errors
        for route in held:
            route.continue_()
        page.unroute(pattern)


@pytest.fixture
def look_alone(browser: Browser, lineage: Lineage) -> Iterator[Look]:
    """Return a function that opens pages in their own context, whose clock a test may set."""
    with looking(browser, lineage.url, is_shared=False) as open_:
        yield open_


def test_skeleton_shows_after_300_ms_of_waiting(look_alone: Look) -> None:
    page = look_alone("/search?text=none")
    begin = datetime.now(UTC)
    page.clock.install(time=begin)
    page.clock.pause_at(begin + timedelta(seconds=60))
    skeleton = page.get_by_role("main").get_by_text("Loading …")
    waiting = page.get_by_role("main").locator("[aria-busy=true]")
    with _held(page, "**/api/v2/health?*"):
        open_address(page, page.url.partition("/search")[0])
        expect(waiting).to_be_attached()
        page.clock.run_for(200)
        expect(skeleton).to_have_count(0)
        page.clock.run_for(200)
        expect(skeleton).to_have_count(1)
        page.clock.resume()
        assert axe_finds(page) == []
    expect(page.locator("main li a").first).to_be_visible()
    expect(waiting).to_have_count(0)


def test_graph_shows_a_skeleton(look: Look) -> None:
    page = look("/")
    skeleton = page.get_by_role("main").get_by_text("Loading …")
    with _held(page, "**/api/v2/graph?*"):
        open_address(page, page.url.rstrip("/") + _at(ACTUALS))
        expect(skeleton).to_be_attached()
        assert axe_finds(page) == []
    expect(page.locator("[data-node]")).to_have_count(3)
    expect(skeleton).to_have_count(0)


def test_details_show_a_skeleton(look: Look) -> None:
    page = look(_at(ACTUALS))
    node = page.locator(f'[data-node="{ACTUALS}"]')
    with _held(page, "**/api/v2/node?*"):
        node.click()
        node.click()
        expect(details(page).get_by_text("Loading …")).to_be_attached()
    expect(details(page).get_by_role("tab", name="About")).to_be_visible()
    expect(details(page).get_by_text("Loading …")).to_have_count(0)


def test_layout_shows_its_progress(look: Look) -> None:
    page = look("/")
    with _held(page, "**/*elk-worker*"):
        open_address(page, page.url.rstrip("/") + _at(ACTUALS))
        progress = page.get_by_role("progressbar", name="Arranging 3 nodes …")
        expect(progress).to_be_visible()
        assert axe_finds(page) == []
    expect(page.locator("[data-node]")).to_have_count(3)
    expect(progress).to_have_count(0)


def test_graph_stays_until_the_next_response(look: Look) -> None:
    page = look(_at(ACTUALS))
    nodes = page.locator("[data-node]")
    expect(nodes).to_have_count(3)
    more = page.get_by_role("button", name=re.compile("Show 1 more node upstream of .*compute"))
    share = page.get_by_role("button", name="Share")
    with _held(page, "**/api/v2/graph?*"):
        with page.expect_request("**/api/v2/graph?*grown=*"):
            more.click()
        expect(nodes).to_have_count(3)
        expect(page.get_by_role("toolbar")).to_have_attribute("aria-busy", "true")
        expect(share).to_be_disabled()
    expect(nodes).to_have_count(4)
    expect(share).to_be_enabled()


def test_rejected_request_leaves_no_graph_to_share(look: Look) -> None:
    page = look(_at(ACTUALS))
    expect(page.locator("[data-node]")).to_have_count(3)
    page.route(
        "**/api/v2/graph?*", lambda route: route.fulfill(status=400, json={"message": "Too large"})
    )
    page.get_by_role("button", name=re.compile("Show 1 more node upstream of .*compute")).click()
    expect(page.get_by_role("alert").get_by_text("Too large")).to_be_visible()
    expect(page.get_by_role("button", name="Share")).to_be_disabled()


_HOLD_LAYOUTS = """() => {
    const [send, held] = [Worker.prototype.postMessage, []];
    Worker.prototype.postMessage = function (...message) {
        held.push(() => send.apply(this, message));
    };
    window.release = () => {
        Worker.prototype.postMessage = send;
        for (const start of held) start();
    };
}"""


def test_graph_disappears_when_another_node_is_chosen(look: Look) -> None:
    page = look(_at(ACTUALS))
    nodes = page.locator("[data-node]")
    expect(nodes).to_have_count(3)
    page.evaluate(_HOLD_LAYOUTS)
    find(page, "prepare_training_data", "prepare_training_data")
    expect(page.get_by_role("progressbar", name="Arranging")).to_be_visible()
    expect(nodes).to_have_count(0)
    page.evaluate("window.release()")
    expect(page.locator("[data-node][aria-current]")).to_contain_text("prepare_training_data")


def test_last_graph_stays_while_the_server_is_away(look: Look, lineage: Lineage) -> None:
    page = look(_at(ACTUALS))
    nodes = page.locator("[data-node]")
    expect(nodes).to_have_count(3)
    lineage.stop()
    banner = page.get_by_role("alert").filter(has_text=_AWAY)
    expect(banner).to_be_visible()
    expect(banner).to_contain_text("This page retries automatically.")
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        expect(banner).to_be_visible()
        expect(nodes).to_have_count(3)
        assert axe_finds(page) == []
    lineage.start()
    expect(banner).to_have_count(0)
    expect(nodes).to_have_count(3)


def _described(node: str) -> dict[str, Any]:
    """Return an event about a dataset, which makes the page request its graph."""
    namespace, _, name = node.removeprefix("dataset:").rpartition(":")
    return {
        "eventTime": "2026-01-01T00:00:00Z",
        "producer": "https://example.org/test",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/DatasetEvent",
        "dataset": {"namespace": namespace, "name": name, "facets": {"nonce": {"id": uuid4().hex}}},
    }


def test_last_graph_stays_when_a_proxy_fails(look: Look, lineage: Lineage) -> None:
    page = look(_at(ACTUALS))
    nodes = page.locator("[data-node]")
    expect(nodes).to_have_count(3)
    page.route("**/api/v2/graph?*", lambda route: route.fulfill(status=502))
    lineage.take(_described(ACTUALS))
    banner = page.get_by_role("alert").filter(has_text=_AWAY)
    expect(banner).to_be_visible()
    expect(nodes).to_have_count(3)
    page.unroute("**/api/v2/graph?*")
    lineage.take(_described(ACTUALS))
    expect(banner).to_have_count(0)
