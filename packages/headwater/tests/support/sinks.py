"""A real HTTP server for deliveries with configurable responses."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson


@dataclass(frozen=True)
class Said:
    """A status with a body: bytes are sent unchanged, anything else as JSON."""

    status: int
    body: Any


Answer = int | tuple[int, dict[str, str]] | Said | str
"""A status, a status with headers or a body, or a kind of failure.

"cut": the connection breaks in the middle of the response. "closed": it is closed cleanly before a
response. "slow": no response arrives. "drip": the head arrives byte by byte without an end.
"endless": a 201 whose body has no end."""


class Sink:
    """A server for events; `answer` determines the response by body and position."""

    def __init__(self, answer: Callable[[Any, int], Answer] = lambda _body, _nth: 201) -> None:
        self.answer = answer
        self.url = ""
        self.requests: list[dict[str, Any]] = []
        self.taken: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.connections: set[Any] = set()
        self.hangs_up = False
        """Whether it closes each connection after the answer, without saying so before."""
        self.written = 0
        """Bytes sent of the last endless response."""
        self.changed = threading.Condition()

    def wait(self, condition: Callable[[], bool]) -> None:
        """Wait until the received requests fulfill a condition."""
        with self.changed:
            assert self.changed.wait_for(condition, 20), (len(self.requests), len(self.taken))

    def runs(self) -> list[str]:
        """Return the run ids of the accepted events, in order."""
        return [body["run"]["runId"] for body in self.taken]

    def meet(self, handler: BaseHTTPRequestHandler) -> None:
        """Respond to one request."""
        body = orjson.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        with self.changed:
            answer = self.answer(body, len(self.requests))
            self.requests.append(body)
            self.headers.append({**handler.headers, "path": handler.path})
            self.connections.add(handler.client_address)
            if answer in (201, "endless"):
                self.taken.append(body)
            self.changed.notify_all()
        if isinstance(answer, str):
            if answer == "slow":
                handler.connection.recv(1)  # until the client gives up
            if answer in ("drip", "endless"):
                self.written = _write_until_closed(handler, is_dripping=answer == "drip")
            if answer == "cut":
                handler.wfile.write(b"HTTP/1.1 201 Crea")
                at_once = struct.pack("ii", 1, 0)
                handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
            handler.close_connection = True
            return
        said = b'{"message": "because, password=hunter2"}'
        headers: dict[str, str] = {}
        if isinstance(answer, Said):
            status, said = answer.status, answer.body
            said = said if isinstance(said, bytes) else orjson.dumps(said)
        else:
            status, headers = (answer, headers) if isinstance(answer, int) else answer
            said = b"" if status == 201 else said
        handler.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(said))}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(said)
        handler.close_connection = handler.close_connection or self.hangs_up


def _write_until_closed(handler: BaseHTTPRequestHandler, *, is_dripping: bool) -> int:
    pause = threading.Event()
    written = 0
    with suppress(OSError):
        handler.wfile.write(b"HTTP/1.1 201 Created\r\n" + (b"X: " if is_dripping else b"\r\n"))
        while True:
            written += handler.wfile.write(b"x" if is_dripping else b"x" * 65_536)
            pause.wait(0.01 if is_dripping else 0)
    return written


@contextmanager
def serving(sink: Sink, port: int = 0, host: str = "127.0.0.1") -> Iterator[Sink]:
    """Run a sink at its `url`."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            sink.meet(self)

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: Any) -> None:
            """Ignore killed clients."""

    server = Server((host, port), Handler)
    server.daemon_threads = True
    sink.url = f"http://{host}:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield sink
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
