"""Size of transfers, and the queries that the page repeats after an event."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, expect

from tests.looking import TRANSFERRED, Look, looking

from .conftest import Lineage

pytestmark = [pytest.mark.browser, pytest.mark.server]

_GRAPH = "/lineage?node=yellow_taxi_raw"


@pytest.fixture
def look(browser: Browser, demo: Lineage) -> Iterator[Look]:
    """Return a function that opens a path in a browser without cached files.

    The server has the events of the demo: those of other tests would add to the responses.
    """
    with looking(browser, demo.url, is_shared=False) as open_:
        yield open_


def test_start_page_transfers_at_most_150_kilobytes(look: Look) -> None:
    page = look("/")
    expect(page.get_by_role("region", name="Newest runs").get_by_role("link").first).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert 50 < page.evaluate(TRANSFERRED) <= 150


def test_first_graph_transfers_at_most_650_kilobytes(look: Look) -> None:
    page = look(_GRAPH)  # without a cache, so it also loads the code of the start page
    expect(page.locator("[role=region][aria-busy=false] .react-flow__edge").first).to_be_attached()
    page.wait_for_load_state("networkidle")
    assert 400 < page.evaluate(TRANSFERRED) <= 650


def _event(job: str, **change: Any) -> dict[str, Any]:
    return {
        "eventType": "START",
        "eventTime": "2026-01-01T00:00:00Z",
        "producer": "https://example.org/test",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": str(uuid4())},
        "job": {"namespace": "nyc_taxi", "name": job},
        **change,
    }


def test_event_refetches_only_the_queries_it_can_change(look_at_demo: Look, demo: Lineage) -> None:
    page = look_at_demo("/lineage?node=yellow_taxi_raw")
    expect(page.locator("[role=region][aria-busy=false] .react-flow__edge").first).to_be_attached()
    page.wait_for_load_state("networkidle")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.partition("/api/v2/")[2]))
    with page.expect_response("**/api/v2/health**"):
        demo.take(_event("unrelated"))
    assert [path.partition("?")[0] for path in asked if "findings" not in path] == ["health"]
    with page.expect_response("**/api/v2/graph**"):
        demo.take(
            _event("unrelated", inputs=[{"namespace": "s3://lake", "name": "yellow_taxi_raw"}])
        )
