"""The memory of answers is limited: of those being computed, and of responses not yet read."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from typing import Any

import pytest
from fastapi.testclient import TestClient

from headwater import memory
from headwater.keys.store import add_key
from headwater.log import EventLog
from headwater.projection.live import Batch, Live
from headwater.server._options import ServerOptions
from headwater.server.app import make_app
from packages.headwater.tests.conftest import Build

pytestmark = pytest.mark.replay

_TABLES, _FIELDS = 16, 24
_LARGE = "/api/v2/columns?node=dataset:db:t0&depth=100"
_EXPENSIVE = [
    _LARGE,
    "/api/v2/tree?node=dataset:db:t0&direction=both&depth=100",
    "/api/v2/graph?node=dataset:db:t0&up=100&down=100&columns=true",
    "/api/v2/impact?node=dataset:db:t0&field=c1&depth=100",
    "/api/v2/provenance?node=dataset:db:t0&level=query",
    "/api/v1/lineage?nodeId=dataset:db:t0&depth=100",
    "/api/v1/column-lineage?nodeId=dataset:db:t0&depth=100&withDownstream=true",
    "/api/v1/events/lineage?limit=1000",
    "/api/v1/jobs?limit=1000",
    "/api/v1/namespaces/demo/jobs/job0/runs?limit=1000",
    "/api/v2/events?run=run0&limit=1000",
    "/api/v2/events/warnings?limit=1000",
    "/api/v2/incident?subject=run3",
    "/api/v2/export",
]


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Live:
    """Return a log in which every column depends on many others."""
    live = Live(EventLog(str(tmp_path_factory.mktemp("wide") / "log.db")))
    bodies = []
    for number in range(4 * _TABLES):
        reads = [f"db|t{(number * 7 + place * 5) % _TABLES}" for place in range(5)]
        body = Build.run(
            "COMPLETE", f"run{number}", f"job{number}", f"08:{number % 60:02}:00",
            reads=tuple(reads), writes=(f"db|t{number * 13 % _TABLES}",),
        )  # fmt: skip
        body["job"]["facets"]["documentation"] = {"description": "x" * 20_000}
        for output in body["outputs"]:
            sources = [
                {"namespace": "db", "name": name.split("|")[1], "field": f"c{field}"}
                for name in reads
                for field in range(4)
            ]
            lineage = {f"c{field}": {"inputFields": sources} for field in range(_FIELDS)}
            output["facets"]["columnLineage"] = {"fields": lineage}
        bodies.append(Build.entry(body))
    live.ingest(Batch(bodies))
    return live


@pytest.mark.parametrize("path", _EXPENSIVE)
def test_expensive_answers_are_charged_at_least_what_they_need(
    path: str, wide: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = make_app(wide, ServerOptions())
    client = TestClient(app)
    assert client.get(path).status_code == 200  # fills caches
    most, charged = 0, memory.Account.charge

    def charge(account: memory.Account, size: int) -> None:
        nonlocal most
        charged(account, size)
        most = max(most, account._charged)

    monkeypatch.setattr(memory.Account, "charge", charge)
    tracemalloc.start()
    assert client.get(path).status_code == 200
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    received = len(client.get(path).content)  # the test's client holds the response as well
    assert peak - 3 * received < 1.2 * most + 4 * 2**20
    assert app.state.admission.budget.used == 0


@pytest.mark.parametrize("path", _EXPENSIVE[:9])
def test_answer_above_the_limit_is_rejected_or_sent_in_portions(path: str, wide: Live) -> None:
    app = make_app(wide, ServerOptions(answer_memory=100_000))
    response = TestClient(app).get(path)
    if "events/lineage" in path:
        assert len(response.json()["events"]) == 4 * _TABLES
    else:
        assert response.status_code == 400
        assert "HEADWATER_ANSWER_MEMORY" in response.json()["message"]
    assert app.state.admission.budget.used == 0


def test_unread_responses_use_the_memory_for_answers(wide: Live) -> None:
    app = make_app(wide, ServerOptions())
    size = len(TestClient(app).get(_LARGE).content)

    async def status_of(path: str, reading: asyncio.Event) -> int:
        """Request a path as a client that reads the response from some time on."""
        query = path.partition("?")
        scope = {"type": "http", "method": "GET", "path": query[0], "headers": [],
                 "raw_path": query[0].encode(), "query_string": query[2].encode()}  # fmt: skip
        messages = []

        async def receive() -> dict[str, Any]:
            await asyncio.Event().wait()
            return {}

        async def send(message: Any) -> None:
            messages.append(message)
            await reading.wait()

        await app(scope, receive, send)
        return int(messages[0]["status"])

    async def request() -> None:
        budget, reading, now = app.state.admission.budget, asyncio.Event(), asyncio.Event()
        now.set()
        unread = [asyncio.create_task(status_of(_LARGE, reading)) for _ in range(2)]
        while app.state.admission.budget.used != 2 * (size - memory.SMALL):
            await asyncio.sleep(0.01)
        budget.most = budget.used + 2**20
        assert await status_of(_LARGE, now) == 503
        assert await status_of("/api/v2/search?text=t1", now) == 200  # small
        reading.set()
        assert await asyncio.gather(*unread) == [200, 200]
        unread.clear()
        gc.collect()
        assert budget.used == 0

    asyncio.run(request())


def test_key_without_sql_gets_no_answer_that_needs_too_much_to_filter(wide: Live) -> None:
    app = make_app(wide, ServerOptions(keys_seconds=0, answer_memory=2**21))
    headers = {"Authorization": f"Bearer {add_key(wide.log, 'reader', ('read',))}"}
    client = TestClient(app, "http://localhost:9002", headers=headers)
    response: Any = client.get("/api/v1/events/lineage?limit=1000")
    assert response.status_code == 400
    assert "HEADWATER_ANSWER_MEMORY" in response.json()["message"]
    assert client.get("/api/v1/events/lineage?limit=1").status_code == 200
    assert app.state.admission.budget.used == 0
