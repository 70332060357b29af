"""The event stream over real sockets: order, missed events, slow clients."""

from __future__ import annotations

import http.client
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest

from headwater.log import entry_of
from headwater.projection.live import Batch, Live
from headwater.server._options import ServerOptions
from headwater.server._serve import Server
from headwater.server.app import make_app

pytestmark = pytest.mark.server

_MAIN = [sys.executable, "-c", "from headwater.cli import main; main()"]


@pytest.fixture
def port(live: Live) -> Iterator[int]:
    """Yield the port of a server in this process."""
    with _serving(live, ServerOptions(api_key="k3y")) as port:
        yield port


@contextmanager
def _serving(live: Live, options: ServerOptions) -> Iterator[int]:
    live.start()
    listener = socket.create_server(("127.0.0.1", 0))
    server = Server(make_app(live, options))
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    yield listener.getsockname()[1]
    server.should_exit = True
    thread.join()
    live.stop()


class Client:
    """Reads a stream."""

    def __init__(self, port: int, query: str = "", **headers: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        shown = {"Authorization": "Bearer k3y", **headers}
        self.connection.request("GET", f"/api/v2/events/stream{query}", headers=shown)
        self.answer = self.connection.getresponse()

    def lines(self) -> list[str]:
        """Return the lines up to the next empty one; no lines after the end of the stream."""
        results: list[str] = []
        while line := self.answer.readline().decode():
            if line == "\n":
                return results
            results.append(line.rstrip("\n"))
        return results

    def event(self) -> tuple[int, Any]:
        """Return the id and the data of the next event."""
        lines = self.lines()
        while lines[0].startswith(":"):
            lines = self.lines()
        data = [line.removeprefix("data: ") for line in lines[1:]]
        return int(lines[0].removeprefix("id: ")), orjson.loads("\n".join(data))


def _take(live: Live, build: Any, *runs: str) -> None:
    live.ingest(Batch([build.entry(build.run("START", run, "j", "08:00:00")) for run in runs]))


def _runs(client: Client, number: int) -> list[tuple[int, str]]:
    return [(seq, body["run"]["runId"]) for seq, body in (client.event() for _ in range(number))]


def test_client_receives_every_new_event(live: Live, port: int, build: Any) -> None:
    _take(live, build, "before")
    client = Client(port)
    assert client.answer.headers["Content-Type"].startswith("text/event-stream")
    assert client.answer.headers["Cache-Control"] == "no-cache"
    _take(live, build, "a", "b")
    _take(live, build, "c")
    assert _runs(client, 3) == [(2, "a"), (3, "b"), (4, "c")]


def test_stream_is_not_compressed(live: Live, port: int, build: Any) -> None:
    client = Client(port, **{"Accept-Encoding": "gzip, br"})
    assert client.answer.headers["Content-Encoding"] is None
    _take(live, build, "a")
    assert _runs(client, 1) == [(1, "a")]


@pytest.mark.each_database
def test_reconnected_client_misses_no_event(live: Live, port: int, build: Any) -> None:
    _take(live, build, *map(str, range(250)))
    assert _runs(Client(port, "?after=0"), 250) == [(n + 1, str(n)) for n in range(250)]
    again = Client(port, "?after=0", **{"Last-Event-ID": "248"})
    _take(live, build, "new")
    assert _runs(again, 3) == [(249, "248"), (250, "249"), (251, "new")]


def test_multiline_event_is_one_event(live: Live, port: int, build: Any) -> None:
    body = build.run("START", "r", "j", "08:00:00", facets={"x": {"text": "a\u2028b\x0bc"}})
    raw = orjson.dumps(body, option=orjson.OPT_INDENT_2).replace(b"\n", b"\r\n", 1)
    client = Client(port)
    live.ingest(Batch([entry_of(raw)]))
    assert client.event() == (1, body)


@pytest.mark.parametrize(
    ("query", "headers"), [("?after=-1", {}), ("?after=x", {}), ("", {"Last-Event-ID": "x"})]
)
def test_invalid_position_is_rejected_by_name(
    query: str, headers: dict[str, str], port: int
) -> None:
    answer = Client(port, query, **headers).answer
    message = orjson.loads(answer.read())["message"]
    assert answer.status == 400
    assert ("after" if query else "Last-Event-ID") in message


def test_stream_needs_the_key(port: int) -> None:
    assert Client(port, Authorization="Bearer wrong").answer.status == 401


def test_stream_sends_comments_at_once_and_when_idle(live: Live) -> None:
    with _serving(live, ServerOptions(api_key="k3y", heartbeat_seconds=0.01)) as port:
        client = Client(port)
        assert client.lines() == [": here"]
        assert client.lines() == client.lines() == [": still here"]


def test_slow_client_does_not_block_others(live: Live, port: int, build: Any) -> None:
    slow, quick = Client(port), Client(port)
    text = {"x": {"text": "x" * 50_000}}
    for number in range(400):  # 20 MB: more than the buffers between server and client hold
        body = build.run("START", str(number), "j", "08:00:00", facets=text)
        live.ingest(Batch([build.entry(body)]))
    expected = [(number + 1, str(number)) for number in range(400)]
    assert _runs(quick, 400) == expected
    assert _runs(slow, 400) == expected


def test_disconnected_client_is_removed(live: Live, port: int, build: Any) -> None:
    client = Client(port)
    _take(live, build, "a")
    client.event()
    assert len(live._listeners) == 1
    client.answer.close()
    client.connection.close()
    waited = threading.Event()
    for _ in range(500):
        if not live._listeners:
            break
        waited.wait(0.02)
    assert not live._listeners


@pytest.mark.server
def test_stream_ends_with_its_server(tmp_path: Any) -> None:
    options = ["--port", "0", "--database", str(tmp_path / "log.db")]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([*_MAIN, "serve", *options], **pipes)
    assert process.stdout is not None
    port = urlsplit(process.stdout.readline().split()[3].rstrip(",")).port
    assert port is not None
    client = Client(port)
    assert client.lines() == [": here"]
    process.send_signal(signal.SIGTERM)
    assert client.lines() == []  # the end, and no reset
    _, said = process.communicate(timeout=20)
    # Only start and stop; otherwise also "Cancel 1 running task(s)", after a wait.
    assert (process.returncode, said.count("\n")) == (0, 2), said
