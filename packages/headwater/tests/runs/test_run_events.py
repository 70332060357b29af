"""The events of a run are returned as stored in the log, page by page."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from fastapi.testclient import TestClient

from headwater.log import entry_of
from headwater.projection.live import Batch, Live
from headwater.server.app import make_app

RUN, OTHER = "0194b1c4-0000-7000-8000-00000000000A", "0194b1c4-0000-7000-8000-00000000000b"


@pytest.fixture
def client(live: Live, build: Any) -> TestClient:
    """Return a client of a server with a run of three events and a child run."""
    sent = [
        build.run("COMPLETE", RUN, "load", "08:10:00", writes=("db|t",)),
        build.run("RUNNING", RUN.lower(), "load", "08:05:00"),
        build.run("START", RUN, "load", "08:00:00"),
        build.run("START", OTHER, "query", "08:01:00", parent=(RUN, "load")),
        build.run("COMPLETE", RUN, "another", "08:02:00"),
    ]
    live.ingest(Batch([entry_of(orjson.dumps(body)) for body in sent]))
    return TestClient(make_app(live))


@pytest.mark.each_database
def test_run_lists_its_events_by_time(client: TestClient) -> None:
    page = client.get("/api/v2/events", params={"run": RUN}).json()
    assert [item["eventType"] for item in page["items"]] == ["START", "RUNNING", "COMPLETE"]
    assert page["items"][2]["outputs"] == [{"namespace": "db", "name": "t", "facets": {}}]
    assert page["next"] is None
    below = client.get("/api/v2/events", params={"run": OTHER}).json()
    assert [item["job"]["name"] for item in below["items"]] == ["query"]


@pytest.mark.each_database
def test_pages_of_events_contain_every_event_once(client: TestClient) -> None:
    results: list[str] = []
    asked = {"run": RUN, "limit": "1"}
    while asked.get("cursor", "first"):
        page = client.get("/api/v2/events", params=asked).json()
        results += [item["eventType"] for item in page["items"]]
        asked["cursor"] = page["next"]
    assert results == ["START", "RUNNING", "COMPLETE"]


def test_invalid_query_is_rejected(client: TestClient) -> None:
    assert client.get("/api/v2/events", params={"run": "none"}).status_code == 404
    other = client.get("/api/v2/events", params={"run": OTHER, "limit": 1, "cursor": "x"})
    assert other.status_code == 400
