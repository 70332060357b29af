"""Commands retry when a busy server sends Retry-After."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

_BUSY = b'{"code": 503, "message": "4 queries run and 100 wait"}'


class BusyServer(ThreadingHTTPServer):
    """A server that responds with a number of 503s and headers, and then with an empty page."""

    def __init__(self, times: int, headers: dict[str, str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.times, self.headers = times, headers
        self.requests: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: BusyServer

    def do_GET(self) -> None:
        self.server.requests.append(self.path)
        is_busy = len(self.server.requests) <= self.server.times
        self.send_response(503 if is_busy else 200)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(_BUSY if is_busy else b'{"items": [], "next": null}')

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


@pytest.fixture
def busy(request: pytest.FixtureRequest) -> Iterator[BusyServer]:
    server = BusyServer(*request.param)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("busy", [(3, {"Retry-After": "0"})], indirect=True)
def test_command_retries_a_busy_server(busy: BusyServer, call: Any) -> None:
    answer = call("runs", "--url", busy.url)
    assert (answer.returncode, len(busy.requests)) == (0, 4)


@pytest.mark.parametrize(
    ("busy", "count"),
    [((9, {"Retry-After": "0"}), 4), ((9, {}), 1), ((9, {"Retry-After": "soon"}), 1)],
    indirect=["busy"],
)
def test_command_gives_up_with_the_reason(busy: BusyServer, count: int, call: Any) -> None:
    answer = call("runs", "--url", busy.url)
    assert (answer.returncode, len(busy.requests)) == (3, count)
    assert "responded 503: 4 queries run and 100 wait" in answer.stderr


@pytest.mark.parametrize("busy", [(9, {"Retry-After": "0"})], indirect=True)
def test_command_sends_a_change_only_once(busy: BusyServer, call: Any) -> None:
    assert call("alias", "db|a", "db|b", "--url", busy.url).returncode == 3
    assert len(busy.requests) == 1


@pytest.mark.parametrize("busy", [(0, {})], indirect=True)
def test_command_stops_reading_a_response_that_is_too_large(
    busy: BusyServer, call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.console.source._RESPONSE_BYTES", 10)
    answer = call("runs", "--url", busy.url)
    assert answer.returncode == 3
    assert "(the response is larger than 10 bytes)" in answer.stderr
