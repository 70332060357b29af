"""Limits of queries: size and time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from headwater import deadline
from headwater.errors import BusyError
from headwater.projection.live import Batch, Live
from headwater.server import _intake
from headwater.server._options import ServerOptions
from headwater.server.app import make_app

_NODE = "node=dataset:db:d0"
_QUESTIONS = (
    f"/api/v2/tree?direction=down&{_NODE}",
    f"/api/v2/impact?{_NODE}",
    f"/api/v2/columns?direction=down&{_NODE}",
    "/api/v2/path?from=d0&to=d9",
    "/api/v2/search?text=nothing",
    "/api/v1/lineage?nodeId=dataset:db:d0",
)
_PAST_QUERY = "/api/v2/edges?asOf=2025-11-21T10:00:00Z"


@pytest.fixture
def chain(live: Live, build: Any) -> Live:
    """Return a chain of 130 datasets, each written from the previous one."""
    events = []
    for number in range(130):
        event = build.run(
            "COMPLETE", f"r{number}", f"j{number}", f"08:{number // 60:02}:{number % 60:02}",
            reads=(f"db|d{number}",),
        )  # fmt: skip
        made_of = [{"namespace": "db", "name": f"d{number}", "field": "x"}]
        columns = {"fields": {"x": {"inputFields": made_of}}}
        event["outputs"] = [build.dataset(f"db|d{number + 1}", columnLineage=columns)]
        events.append(build.entry(event))
    live.ingest(Batch(events))
    return live


@pytest.fixture
def client(chain: Live) -> Iterator[TestClient]:
    with TestClient(make_app(chain), raise_server_exceptions=False) as client:
        yield client


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/api/v1/jobs?limit=1001", "limit: received '1001', expected less than or equal to 1000"),
        ("/api/v2/runs?limit=5000", "limit: received '5000'"),
        ("/api/v1/events/lineage?limit=1001", "limit: received '1001'"),
        (f"/api/v2/tree?depth=101&{_NODE}", "depth: received '101'"),
        ("/api/v1/lineage?depth=101&nodeId=dataset:db:d0", "depth: received '101'"),
    ],
)
def test_limit_above_the_maximum_is_a_400(path: str, message: str, client: TestClient) -> None:
    answer = client.get(path)
    assert (answer.status_code, message in answer.json()["message"]) == (400, True)


@pytest.mark.parametrize("path", ["tree", "columns", "impact"])
def test_maximum_depth_is_accepted(path: str, client: TestClient) -> None:
    way = "" if path == "impact" else "&direction=down"
    assert client.get(f"/api/v2/{path}?depth=100&{_NODE}{way}").status_code == 200


@pytest.mark.parametrize(
    ("path", "status", "advice"),
    [
        *((path, 400, "HEADWATER_LONGEST_QUERY") for path in _QUESTIONS),
        (_PAST_QUERY, 503, "repeat the query, which continues"),
    ],
)
def test_slow_query_is_rejected_with_advice_and_releases_its_lock(
    path: str, status: int, advice: str, client: TestClient, chain: Live
) -> None:
    assert client.get(path).status_code in (200, 404)
    with TestClient(
        make_app(chain, ServerOptions(longest_query=0)), raise_server_exceptions=False
    ) as hasty:
        answer = hasty.get(path.replace("10:00", "09:59"))
    assert answer.status_code == status
    assert advice in answer.text
    assert ("Retry-After" in answer.headers) is (status == 503)
    assert client.get(path).status_code in (200, 404)


def test_waiting_for_another_query_is_limited(
    chain: Live,
) -> None:
    results: list[BusyError] = []

    def ask() -> None:
        deadline.start(0.01)
        try:
            with chain.reading():
                pass
        except BusyError as error:
            results.append(error)

    with chain.reading():
        waiting = threading.Thread(target=ask)
        waiting.start()
        waiting.join()
    assert len(results) == 1


def test_values_of_a_body_are_limited_as_documented(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Path(__file__).resolve().parents[4] / "docs/reference/server.md"
    assert f"| {_intake._MOST_VALUES:,} | 413 |" in page.read_text()
    monkeypatch.setattr(_intake, "_MOST_VALUES", 100_000)
    answer = client.post("/api/v1/lineage", content=b"[" + b"1," * 100_000 + b"1]")
    assert (answer.status_code, "at most 100000 values" in answer.text) == (413, True)
