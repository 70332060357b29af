"""Attacks on a real server with limited memory: it stays up, responds, and frees memory."""

from __future__ import annotations

import gzip
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest

from packages.headwater.tests.support.raw_http import head, open_socket, posted, read_answer
from packages.headwater.tests.support.servers import Server, until

pytestmark = pytest.mark.server

_MAIN = [sys.executable, "-c", "from headwater.cli import main; main()"]
_MB = 2**20
_HEADROOM = 768 * _MB
"""Memory that a server may use above its start size; the settings allow about 600 MB."""

_LEFT = 64 * _MB
"""Resident memory that may remain after an attack, above the size before it."""

_LINEAGE = "/api/v1/lineage"


@pytest.fixture
def server(serve: Callable[..., Server], tmp_path: Path) -> Server:
    server = serve(tmp_path / "log.db")
    server.get("/healthz")
    limit = _status(server, "VmData") + _HEADROOM
    resource.prlimit(server.pid, resource.RLIMIT_DATA, (limit, limit))
    return server


@pytest.fixture
def port(server: Server) -> int:
    return urlsplit(server.url).port or 0


def _status(server: Server, name: str) -> int:
    for line in Path(f"/proc/{server.pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(name)


def _chunks(piece: bytes, size: int, start: bytes = b"[") -> Iterator[bytes]:
    yield start
    yield from [piece * (_MB // len(piece))] * (size // _MB)


_ATTACKS: dict[str, tuple[str, Callable[[], Iterator[bytes]], tuple[str, ...], int]] = {
    "zeros": (_LINEAGE, lambda: iter([b"[" + b"0," * 3_500_000 + b"0]"]), (), 422),
    "zeros in a batch": (
        f"{_LINEAGE}/batch",
        lambda: iter([b"[" + b"0," * 3_500_000 + b"0]"]),
        (),
        422,
    ),
    "more zeros": (_LINEAGE, lambda: _chunks(b"0,", 60 * _MB), (), 413),
    "arrays": (_LINEAGE, lambda: iter([b"[" + b"[]," * 1_900_000 + b"0]"]), (), 422),
    "keys": ("/api/v2/keys", lambda: _chunks(b"0,", 400 * _MB), (), 413),
    "aliases": ("/api/v2/aliases", lambda: _chunks(b"0,", 400 * _MB), (), 413),
    "gzip bomb": (
        _LINEAGE,
        lambda: iter([gzip.compress(b"[" + b"0," * 100 * _MB)]),
        ("Content-Encoding: gzip",),
        413,
    ),
    "deep JSON": (_LINEAGE, lambda: _chunks(b"[", 60 * _MB), (), 413),
    "less deep JSON": (_LINEAGE, lambda: iter([b"[" * 1_000 + b"]" * 1_000]), (), 422),
    "long string": (_LINEAGE, lambda: iter([_event_of(17 * _MB)]), (), 413),
}


def _event_of(size: int) -> bytes:
    event = {
        "eventTime": "2025-11-21T08:00:00Z",
        "eventType": "START",
        "run": {"runId": "r", "facets": {"x": {"text": "x" * size}}},
        "job": {"namespace": "n", "name": "j"},
    }
    return orjson.dumps(event)


def test_server_survives_large_bodies_and_returns_their_memory(
    server: Server, port: int, build: Any
) -> None:
    before = _status(server, "VmRSS")
    for name, (path, chunks, headers, status) in _ATTACKS.items():
        answer = posted(port, path, chunks(), *headers)
        assert answer.status == status, (name, answer)
        assert len(answer.text) < 65_536
        assert server.get("/healthz")["status"] == "ok"
        until(lambda: _status(server, "VmRSS") < before + _LEFT)
    assert server.post(build.run("START", "r", "j", "08:00:00")) == 201


def test_server_survives_endless_bodies(server: Server, port: int, build: Any) -> None:
    before = _status(server, "VmRSS")
    with ExitStack() as stack:
        for _ in range(12):
            connection = stack.enter_context(open_socket(port))
            connection.settimeout(2)
            _send_unread(connection, head(_LINEAGE, f"Content-Length: {60 * _MB}"))
            _send_unread(connection, b" " * 59 * _MB)
        for number in range(300):  # and slow bodies at the same time
            stack.enter_context(open_socket(port, head(_LINEAGE)[: 10 + number % 10]))
        assert server.get("/healthz")["status"] == "ok"
        assert server.post(build.run("START", "r", "j", "08:00:00")) == 201
    until(lambda: _status(server, "VmRSS") < before + _LEFT)


def _send_unread(connection: socket.socket, data: bytes) -> None:
    with suppress(OSError):  # rejected or no longer read
        connection.sendall(data)


def test_silent_stream_clients_do_not_delay_others(server: Server, port: int, build: Any) -> None:
    text = {"x": {"text": "x" * 50_000}}
    events = [build.run("START", str(n), "j", "08:00:00", facets=text) for n in range(200)]
    for number in range(0, 200, 50):
        server.post(events[number : number + 50])
    before = _status(server, "VmRSS")
    with ExitStack() as stack:
        request = head("/api/v2/events/stream?after=0", method="GET")
        streams = [stack.enter_context(open_socket(port, request)) for _ in range(200)]
        for stream in streams:
            assert stream.recv(1)  # it was accepted
        assert server.get("/healthz")["status"] == "ok"
        server.post(build.run("START", "new", "j", "08:00:00"))
        assert _status(server, "VmRSS") < before + _LEFT
        for _ in range(50):
            assert stack.enter_context(open_socket(port, request)).recv(1)
        one_more = stack.enter_context(open_socket(port, request))
        assert read_answer(one_more).status == 503
        assert server.stop() == 0


def test_sigterm_ends_server_with_idle_clients(tmp_path: Path) -> None:
    options = ["--port", "0", "--database", str(tmp_path / "log.db")]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*_MAIN, "serve", *options], **pipes) as process, ExitStack() as stack:
        stack.callback(process.kill)  # if an assertion fails
        assert process.stdout is not None
        port = urlsplit(process.stdout.readline().split()[3].rstrip(",")).port or 0
        large = _event_of(9 * _MB)
        request = head(_LINEAGE, f"Content-Length: {len(large)}")
        with open_socket(port, request + large) as connection:
            assert read_answer(connection).status == 201
        stream = head("/api/v2/events/stream?after=0", method="GET")
        idle = [b"", b"GET / HT", request, request + b"[" * _MB, stream, stream]
        for sent in idle:
            stack.enter_context(open_socket(port, sent))
        with open_socket(port, head("/healthz", method="GET")) as connection:
            assert read_answer(connection).status == 200
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=30)
    # Start and stop only; no "Cancel 3 running task(s)" and no tracebacks.
    assert (process.returncode, said.count("\n")) == (0, 2), said
