"""Admission of queries: a few run at once, some wait, and other requests are not delayed."""

from __future__ import annotations

import asyncio
import http.client
import re
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AsyncExitStack, contextmanager
from contextvars import copy_context
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest
from fastapi import FastAPI

from headwater import deadline
from headwater.errors import BusyError, ConfigError, DeadlineError
from headwater.http.admission import Admission
from headwater.projection import State
from headwater.projection.live import Batch, Live
from headwater.projection.past import Moment
from headwater.server._options import ServerOptions
from headwater.server._serve import Server
from headwater.server._stream import end_streams
from headwater.server.app import make_app
from headwater.settings import resolve
from packages.headwater.tests.support.servers import until

_QUERY = "/api/v2/nodes"
Serving = Callable[[FastAPI], str]


class CountedLive(Live):
    """A live log that counts its readers."""

    readers = 0

    @contextmanager
    def reading(self, moment: Moment | None = None) -> Iterator[State]:
        self.readers += 1
        with super().reading(moment) as state:
            yield state


class Client:
    """A client that can send several requests at once."""

    def __init__(self, app: FastAPI, url: str) -> None:
        self.app, self.address = app, urlsplit(url)
        self._pool = ThreadPoolExecutor(32)

    def send(self, method: str, path: str, body: bytes | None = None) -> tuple[int, Any, Any]:
        """Return status, headers and decoded response."""
        host = self.address.hostname or ""
        connection = http.client.HTTPConnection(host, self.address.port, timeout=20)
        connection.request(method, path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        raw = response.read()
        connection.close()
        return response.status, response.headers, orjson.loads(raw) if raw else None

    def get_later(self, path: str = _QUERY) -> Future[tuple[int, Any, Any]]:
        """Send a GET in a separate thread."""
        return self._pool.submit(self.send, "GET", path)

    def until_waiting(self, count: int) -> None:
        """Wait until a number of queries wait for a slot."""
        until(lambda: bool(self.app.state.admission.waiting == count))


@pytest.fixture
def live(log: Any, build: Any) -> Iterator[CountedLive]:
    live = CountedLive(log)
    live.start()
    live.ingest(Batch([build.entry(build.run("START", "a", "j", "08:00:00", reads=("db|d",)))]))
    yield live
    live.stop()


@pytest.fixture
def client(live: CountedLive, serving: Serving) -> Client:
    """Return a client of a server on which one query may run and one may wait."""
    app = make_app(live, ServerOptions(running_queries=1, waiting_queries=1))
    return Client(app, serving(app))


def _taken(client: Client) -> list[Future[tuple[int, Any, Any]]]:
    """Occupy the slot and the queue; the caller holds the projection."""
    running = client.get_later()
    until(lambda: client.app.state.admission.is_full)
    waiting = client.get_later()
    client.until_waiting(1)
    return [running, waiting]


def test_query_above_the_limit_gets_a_503_naming_it(client: Client, live: CountedLive) -> None:
    with live.reading():
        taken = _taken(client)
        status, headers, answer = client.send("GET", _QUERY)
    assert (status, headers["Retry-After"], answer["code"]) == (503, "5", 503)
    assert "1 queries run and 1 wait, which is the limit" in answer["message"]
    assert "HEADWATER_WAITING_QUERIES" in answer["message"]
    assert [item.result()[0] for item in taken] == [200, 200]
    assert client.send("GET", _QUERY)[0] == 200


@pytest.mark.parametrize(
    "path",
    ["/api/v1/jobs", "/api/v1/lineage?nodeId=dataset:db:d", "/api/v2/runs/a",
     "/api/v2/events?run=a", "/api/v1/search?q=d", "/api/v1/stats/jobs?period=DAY",
     "/sample/api/v2/nodes"],
)  # fmt: skip
def test_every_query_is_admitted(path: str, client: Client, live: CountedLive) -> None:
    assert client.send("GET", path)[0] == 200
    with live.reading():
        taken = _taken(client)
        assert client.send("GET", path)[0] == 503
    assert [item.result()[0] for item in taken] == [200, 200]


def test_other_requests_respond_while_every_slot_is_taken(
    client: Client, live: CountedLive, build: Any
) -> None:
    event = orjson.dumps(build.run("COMPLETE", "b", "j", "09:00:00"))
    with live.reading():
        taken = _taken(client)
        assert client.send("GET", "/healthz")[2]["runs"] == 1
        assert client.send("POST", "/api/v1/lineage", event)[0] == 201
        assert client.send("GET", "/api/v2/keys")[0] == 200
        assert client.send("GET", "/api/v2/deliver")[0] == 200
        assert client.send("GET", "/api/v2/alerts")[0] == 200
        assert client.send("GET", "/api/v2/rejected")[0] == 200
        assert client.send("GET", "/api/v2/stuck")[0] == 200
        stream = http.client.HTTPConnection("127.0.0.1", client.address.port or 0, timeout=20)
        stream.request("GET", "/api/v2/events/stream?after=1")
        lines = stream.getresponse()
        assert [lines.readline() for _ in range(3)][2] == b"id: 2\n"
        assert not any(item.done() for item in taken)
    stream.close()
    end_streams(client.app)
    assert [item.result()[0] for item in taken] == [200, 200]
    assert client.send("GET", "/healthz")[2]["runs"] == 2


def test_waiting_counts_against_the_time_of_a_query(live: CountedLive, serving: Serving) -> None:
    app = make_app(live, ServerOptions(running_queries=1, waiting_queries=5, longest_query=0.2))
    client = Client(app, serving(app))
    with live.reading():
        answers = [item.result() for item in [client.get_later() for _ in range(3)]]
    assert {status for status, _, _ in answers} == {503}
    assert all("HEADWATER_LONGEST_QUERY" in answer["message"] for _, _, answer in answers)
    assert app.state.admission.waiting == 0
    assert client.send("GET", _QUERY)[0] == 200


def test_query_waiting_too_long_for_a_slot_gets_a_503() -> None:
    admission = Admission(1, 5)

    async def wait() -> None:
        async with admission.slot():
            deadline.start(0.01)
            with pytest.raises(
                BusyError, match="1 queries run, which is the limit, and none ended"
            ):
                await asyncio.wait_for(admission.slot().__aenter__(), 10)

    asyncio.run(wait())
    assert (admission.waiting, admission.is_full) == (0, False)


def test_waiting_query_is_rejected_when_many_wait() -> None:
    admission = Admission(1, 5, crowd=1, patience=0.0)

    async def query() -> None:
        async with admission.slot():
            pass

    async def wait() -> None:
        async with admission.slot():
            queries = {asyncio.ensure_future(query()) for _ in range(2)}
            done, waiting = await asyncio.wait(queries, return_when=asyncio.FIRST_COMPLETED)
        with pytest.raises(BusyError, match="1 queries run, which is the limit, and 2 wait"):
            await done.pop()
        await waiting.pop()

    asyncio.run(wait())
    assert (admission.waiting, admission.is_full) == (0, False)


def test_running_query_stops_waiting_for_a_lock_when_many_wait() -> None:
    lock, is_held, may_end = threading.RLock(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            is_held.set()
            may_end.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    is_held.wait()

    def query() -> None:
        deadline.start(600)
        deadline.give_up_if(lambda: True)
        with pytest.raises(BusyError, match="many queries wait"), deadline.acquired(lock):
            pass

    copy_context().run(query)
    may_end.set()
    holder.join()


def test_query_of_disconnected_client_is_not_run(client: Client, live: CountedLive) -> None:
    with live.reading():
        running = client.get_later()
        until(lambda: client.app.state.admission.is_full)
        with socket.create_connection(("127.0.0.1", client.address.port or 0)) as gone:
            gone.sendall(f"GET {_QUERY} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            client.until_waiting(1)
            gone.shutdown(socket.SHUT_WR)
            assert gone.recv(1) == b""  # the server closed it, too
        before = live.readers
    assert running.result()[0] == 200
    until(lambda: not client.app.state.admission.is_full)
    assert live.readers == before + 1  # the second read of the running query


def test_all_queries_of_a_page_get_a_response(live: CountedLive, serving: Serving) -> None:
    app = make_app(live)
    client = Client(app, serving(app))
    with live.reading():
        asked = [client.get_later() for _ in range(30)]
        client.until_waiting(26)
    assert {item.result()[0] for item in asked} == {200}


def test_admission_serves_many_client_threads(live: CountedLive, serving: Serving) -> None:
    app = make_app(live, ServerOptions(running_queries=2, waiting_queries=3))
    client = Client(app, serving(app))
    answers = [item.result()[0] for item in [client.get_later() for _ in range(60)]]
    assert set(answers) <= {200, 503}
    assert 200 in answers
    assert (app.state.admission.waiting, app.state.admission.is_full) == (0, False)


@pytest.mark.parametrize(
    ("setting", "text", "expected"),
    [("running_queries", "0", "greater than or equal to 1"),
     ("running_queries", "many", "a valid integer"),
     ("waiting_queries", "-1", "greater than or equal to 0"),
     ("waiting_queries", "1.5", "a valid integer"),
     ("running_queries", "100000", "less than or equal to 10000")],
)  # fmt: skip
def test_invalid_limit_is_rejected(
    setting: str, text: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable = f"HEADWATER_{setting.upper()}"
    monkeypatch.setenv(variable, text)
    message = f"{setting} (environment variable {variable}): received '{text}', expected {expected}"
    with pytest.raises(ConfigError, match=re.escape(message)):
        resolve()


def test_server_applies_limits_from_settings(
    serve: Callable[..., Any], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWATER_RUNNING_QUERIES", "1")
    monkeypatch.setenv("HEADWATER_WAITING_QUERIES", "0")
    server = serve(tmp_path / "log.db")
    port = urlsplit(server.url).port
    statuses: list[int] = []

    def ask() -> None:
        for _ in range(40):
            connection = http.client.HTTPConnection("127.0.0.1", port or 0, timeout=20)
            connection.request("GET", _QUERY)
            statuses.append(connection.getresponse().status)
            connection.close()

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(statuses) == {200, 503}


@pytest.mark.parametrize(
    ("running", "error"), [(1, DeadlineError), (2, BusyError)], ids=["alone", "with others"]
)
def test_slow_query_may_be_retried_only_if_others_ran(running: int, error: type[Exception]) -> None:
    async def ask() -> None:
        admission = Admission(2, 1)
        async with AsyncExitStack() as others:
            for _ in range(running - 1):
                await others.enter_async_context(admission.slot())
            async with admission.slot():
                raise DeadlineError("slow")

    with pytest.raises(error, match="slow"):
        asyncio.run(ask())


def test_connections_are_not_checked_right_after_a_stall(
    live: CountedLive, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks: list[float] = []
    now = [100.0]
    monkeypatch.setattr("headwater.server._serve.time.monotonic", lambda: now[0])
    server = Server(make_app(live))
    connection = SimpleNamespace(check=lambda: checks.append(now[0]))
    monkeypatch.setattr(server, "_connections", lambda: [connection])
    for now[0] in (100.0, 101.0, 130.0, 131.0):
        asyncio.run(server.on_tick(10))
    assert checks == [100.0, 101.0, 131.0]
