"""Bodies and connections that exceed a limit, with a server in this process."""

from __future__ import annotations

import asyncio
import gzip
import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from typing import Any
from urllib.request import urlopen

import orjson
import pytest
from fastapi import FastAPI

from headwater.projection.live import Live
from headwater.server._bodies import SMALL, Bodies, BodyReader
from headwater.server._options import ServerOptions
from headwater.server._serve import Server
from headwater.server.app import make_app
from packages.headwater.tests.support.raw_http import head, open_socket, posted, read_answer
from packages.headwater.tests.support.servers import until

pytestmark = pytest.mark.server

_LINEAGE = "/api/v1/lineage"
_SMALL_PATHS = ("/api/v2/keys", "/api/v2/aliases", "/api/v2/nothing", "/healthz")

Start = Callable[..., int]


@pytest.fixture
def start(live: Live) -> Iterator[Start]:
    """Return a function that starts a server with limits and returns its port."""
    started: list[tuple[Server, threading.Thread]] = []
    live.start()

    def run(app: FastAPI | None = None, **options: Any) -> int:
        listener = socket.create_server(("127.0.0.1", 0))
        server = Server(app or make_app(live, ServerOptions(**options)))
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        started.append((server, thread))
        return int(listener.getsockname()[1])

    yield run
    for server, thread in started:
        server.should_exit = True
        thread.join()
    live.stop()


def _event(build: Any, size: int = 0) -> bytes:
    facets = {"x": {"text": "x" * size}}
    return orjson.dumps(build.run("START", "r", "j", "08:00:00", facets=facets))


def _healthy(port: int) -> bool:
    with urlopen(f"http://127.0.0.1:{port}/healthz", timeout=30) as answer:
        return bool(answer.status == 200)


def _endless(count: int) -> Iterator[bytes]:
    return (b" " * 65_536 for _ in range(count))


@pytest.mark.parametrize("path", _SMALL_PATHS)
def test_too_large_body_of_small_endpoint_is_rejected(path: str, start: Start) -> None:
    port = start()
    answer = posted(port, path, _endless(100))
    assert (answer.status, "at most 65536 bytes" in answer.text) == (413, True)
    with open_socket(port, head(path, "Content-Length: 65537")) as connection:
        assert read_answer(connection).status == 413  # before any byte of the body


def test_too_large_content_length_is_rejected_before_the_body(start: Start) -> None:
    port = start()
    request = head(_LINEAGE, "Content-Length: 67108865", "Expect: 100-continue")
    with open_socket(port, request) as connection:
        answer = read_answer(connection)
    assert (answer.status, "at most 67108864 bytes" in answer.text) == (413, True)


@pytest.mark.parametrize(("encoding", "bits"), [("gzip", 31), ("deflate", 15)])
def test_zip_bomb_is_rejected(encoding: str, bits: int, start: Start) -> None:
    zip_ = zlib.compressobj(9, wbits=bits)
    bomb = [zip_.compress(bytes(2**20)) for _ in range(100)] + [zip_.flush()]
    answer = posted(start(), _LINEAGE, filter(None, bomb), f"Content-Encoding: {encoding}")
    assert (answer.status, "unzipped" in answer.text) == (413, True)


def test_compressed_stream_without_content_is_limited(start: Start) -> None:
    port = start(largest_body=1_000_000)
    zip_ = zlib.compressobj(wbits=31)
    begin = zip_.flush(zlib.Z_FULL_FLUSH)
    empty = b"\x00\x00\x00\xff\xff" * 10_000  # stored blocks (RFC 1951, 3.2.4)
    empty_blocks = [begin, *[empty] * 100]
    answer = posted(port, _LINEAGE, filter(None, empty_blocks), "Content-Encoding: gzip")
    assert answer.status == 413


@pytest.mark.parametrize(
    ("encoding", "compress", "reason"),
    [
        ("gzip", gzip.compress, "incorrect header check"),
        ("deflate", zlib.compress, "bytes after its end"),
    ],
)
def test_bytes_after_compressed_body_are_rejected(
    encoding: str, compress: Callable[[bytes], bytes], reason: str, start: Start, build: Any
) -> None:
    body = compress(_event(build)) + b"more"
    answer = posted(start(), _LINEAGE, [body], f"Content-Encoding: {encoding}")
    assert (answer.status, reason in answer.text) == (400, True)


@pytest.mark.parametrize("chunk_size", [1, 10, 10_000])
def test_gzip_body_of_several_members_is_one_body(
    chunk_size: int, start: Start, build: Any
) -> None:
    raw = _event(build)
    body = gzip.compress(raw[:40]) + gzip.compress(b"") + gzip.compress(raw[40:])
    chunks = [body[at : at + chunk_size] for at in range(0, len(body), chunk_size)]
    port = start()
    assert posted(port, _LINEAGE, chunks, "Content-Encoding: gzip").status == 201
    answer = posted(port, _LINEAGE, [body[:-1]], "Content-Encoding: gzip")
    assert (answer.status, "ends too early" in answer.text) == (400, True)


def test_number_of_gzip_members_is_limited(start: Start, build: Any) -> None:
    port = start()
    for empty, status in ((999, 201), (1_000, 400)):
        body = gzip.compress(b"") * empty + gzip.compress(_event(build))
        answer = posted(port, _LINEAGE, [body], "Content-Encoding: gzip")
        assert (answer.status, "more than 1000 gzip streams" in answer.text) == (
            status,
            status == 400,
        )


def test_rejected_complete_body_is_answered_at_once(live: Live) -> None:
    messages: list[Any] = []
    parts = [{"type": "http.request", "body": b"no gzip", "more_body": False}]
    headers = [(b"content-length", b"7"), (b"content-encoding", b"gzip")]
    scope = {"type": "http", "method": "POST", "path": _LINEAGE, "headers": headers}

    async def receive() -> Any:
        return parts.pop()  # an error if the server asks for more

    async def send(message: Any) -> None:
        messages.append(message)

    bodies = Bodies(make_app(live), BodyReader(ServerOptions()))
    asyncio.run(bodies(scope, receive, send))
    assert messages[0]["status"] == 400
    assert messages[-1] == {"type": "http.response.body", "body": b""}


def test_slow_body_gets_a_408(start: Start) -> None:
    port = start(body_seconds=0.2)
    with open_socket(port, head(_LINEAGE, "Content-Length: 100") + b"[") as connection:
        answer = read_answer(connection)
    assert (answer.status, "HEADWATER_BODY_SECONDS" in answer.text) == (408, True)


def test_large_bodies_share_memory_but_small_ones_do_not(
    start: Start, build: Any, live: Live
) -> None:
    app = make_app(live, ServerOptions(largest_body=300_000, body_memory=300_000))
    port = start(app=app)
    reader = app.state.bodies
    large = _event(build, 200_000)
    request = head(_LINEAGE, "Content-Length: 300000") + b" " * 250_000
    with open_socket(port, request):
        until(lambda: reader._free == 300_000 - (250_000 - SMALL))
        answer = posted(port, _LINEAGE, [large])
        assert (answer.status, "memory for bodies" in answer.text) == (503, True)
        assert posted(port, _LINEAGE, [_event(build)]).status == 201
    until(lambda: bool(reader._free == 300_000))
    assert posted(port, _LINEAGE, [large]).status == 201


def test_silent_connections_are_closed(start: Start) -> None:
    port = start(body_seconds=0.2)
    sent = (b"", b"\r\n", b"GET /healthz HTTP/1.1\r\nHost: ", head("/healthz", method="GET") + b"G")
    connections = [open_socket(port, item) for item in sent * 75]
    statuses = [read_answer(connection).status for connection in connections]
    for connection in connections:
        connection.close()
    assert set(statuses) <= {0, 200, 408}
    assert statuses.count(408) >= 225
    assert _healthy(port)


def test_endless_head_is_rejected(start: Start) -> None:
    port = start()
    with open_socket(port, b"GET / HTTP/1.1\r\n") as connection, pytest.raises(ConnectionError):
        connection.sendall((b"X: " + b"x" * 10_000 + b"\r\n") * 1_000)
    with open_socket(port, b"GET / HTTP/1.1\r\nX: " + b"x" * 65_536) as connection:
        assert read_answer(connection).status == 431


def test_endless_trailer_closes_connection(start: Start) -> None:
    request = head(_LINEAGE, "Transfer-Encoding: chunked") + b"1\r\n[\r\n0\r\n"
    with open_socket(start(), request) as connection, pytest.raises(ConnectionError):
        connection.sendall((b"X: " + b"x" * 10_000 + b"\r\n") * 10_000)


def test_body_in_chunks_of_one_byte_is_accepted(start: Start, build: Any) -> None:
    body = _event(build, 20_000)
    assert posted(start(), _LINEAGE, (bytes([item]) for item in body)).status == 201


def test_connections_above_the_limit_are_rejected(start: Start) -> None:
    port = start(most_connections=2)
    held = [open_socket(port, head("/healthz", method="GET")) for _ in range(2)]
    assert [read_answer(connection).status for connection in held] == [200, 200]
    with open_socket(port) as third:
        answer = read_answer(third)
    assert (answer.status, "too many connections" in answer.text) == (503, True)
    for connection in held:
        connection.close()
    until(lambda: _answered(port) == 200)


def _answered(port: int) -> int:
    with open_socket(port, head("/healthz", method="GET")) as connection:
        return read_answer(connection).status


def test_unread_response_closes_connection(start: Start, build: Any, live: Live) -> None:
    port = start(body_seconds=0.2)
    for number in range(20):
        event = build.run("START", f"r{number}", "j", "08:00:00", facets={"x": {"t": "x" * 10**6}})
        assert posted(port, _LINEAGE, [orjson.dumps(event)]).status == 201
    stream = head("/api/v2/events/stream?after=0", method="GET")
    with open_socket(port, stream):
        until(lambda: bool(live._listeners))
        until(lambda: not live._listeners)
    assert _healthy(port)
