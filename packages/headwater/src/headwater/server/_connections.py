"""Limit the number of connections, and how long each may let the server wait.

uvicorn limits only the time between two requests. This module also limits the time for a request to
arrive and for a response to be read.

uvicorn and its parser call the methods named `on_...` and those of asyncio's protocols. `check`
must be called about every second.

The *head* of a request is its first line and headers. The *framing* is the bytes around the chunks
of a body. A connection is *idle* if no request is being answered.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from headwater.server._options import ServerOptions

_HEAD_SECONDS = 10.0
_MOST_OVERHEAD = 64 * 1024
"""Bytes of a request besides its body: the head and the framing of 1,024 short chunks."""

_CHUNK_OVERHEAD = 8  # bytes of framing for each byte of a body in chunks of one byte
_LEAST_READ = 64 * 1024  # bytes of a response that a client must read within the time limit
_ANSWER = (
    b"HTTP/1.1 %s\r\nconnection: close\r\nretry-after: 5\r\ncontent-length: %d\r\n"
    b"content-type: text/plain; charset=utf-8\r\n\r\n%s"
)


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's protocol; `check`, called about every second, ends stalled connections.

    `cycle` is uvicorn's current request of the connection; None before the first one.
    """

    def __init__(self, options: ServerOptions, **given: Any) -> None:
        super().__init__(**given)
        self._most_connections, self._body_seconds = options.most_connections, options.body_seconds
        self._arrival_ends: float | None = None  # None: no request is arriving
        self._overhead = 0  # bytes of the request's head and of the framing of its body
        self._read_at = 0.0  # when the client last read enough
        self._unread = 0  # bytes of responses that it had not read at that time

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Reject a connection above the limit.

        A rejected one is not in uvicorn's `connections`: it neither counts nor is checked, because
        its transport is closed here.
        """
        if len(self.connections) < self._most_connections:
            super().connection_made(cast(asyncio.Transport, transport))
            self._expect(self._head_seconds)
            return
        self.transport = cast(asyncio.Transport, transport)
        self._end(b"503 Service Unavailable", b"too many connections are open: try again later")

    def data_received(self, data: bytes) -> None:
        """Parse received data, unless the head and the framing exceed their limit.

        asyncio calls it with the next bytes from the client.
        """
        if self._arrival_ends is None and self._is_idle:
            self._expect(self._head_seconds)
        self._overhead += len(data)
        super().data_received(data)
        if self._arrival_ends is not None and self._overhead > _MOST_OVERHEAD:
            self._end(b"431 Request Header Fields Too Large", b"the head of a request is too large")

    def on_message_begin(self) -> None:
        """Start the time limit of the head, unless an earlier request is still being answered."""
        super().on_message_begin()
        self._expect(self._head_seconds if self._is_idle else self._whole_seconds)

    def on_headers_complete(self) -> None:
        """Start the time limit of the body; its reader responds with 408 before it expires."""
        super().on_headers_complete()
        self._expect(self._whole_seconds)

    def on_body(self, body: bytes) -> None:
        """Count the bytes that do not belong to the body."""
        super().on_body(body)
        self._overhead = max(self._overhead - (1 + _CHUNK_OVERHEAD) * len(body), 0)

    def on_message_complete(self) -> None:
        """Stop the time limit, because the request is complete."""
        super().on_message_complete()
        self._arrival_ends = None
        self._overhead = 0

    def on_response_complete(self) -> None:
        """Shorten the time limit of a client that still sends a rejected body."""
        super().on_response_complete()
        if self._arrival_ends is not None:
            self._expect(self._head_seconds)

    def check(self) -> None:
        """End the connection if a request does not arrive or a response is not read in time.

        A client reads too slowly if it has read less than 64 KiB of a waiting response within the
        time limit of a body.
        """
        now = time.monotonic()
        if self._arrival_ends is not None and now > self._arrival_ends:
            self._end(b"408 Request Timeout", b"the request did not arrive in time")
        unread = self.transport.get_write_buffer_size()
        if not unread or unread > self._unread or unread <= self._unread - _LEAST_READ:
            self._unread, self._read_at = unread, now
        elif now - self._read_at > self._body_seconds:
            self.transport.abort()

    @property
    def _head_seconds(self) -> float:
        return min(_HEAD_SECONDS, self._body_seconds)

    @property
    def _whole_seconds(self) -> float:
        return self._body_seconds + _HEAD_SECONDS

    @property
    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _expect(self, seconds: float) -> None:
        """Start a time limit for what must arrive next; `check` enforces it."""
        self._arrival_ends = time.monotonic() + seconds

    def _end(self, status: bytes, reason: bytes) -> None:
        """Close the connection, with a response unless one is being sent.

        `status` and `reason` are the status line's end and the body, in plain text.
        """
        self._arrival_ends = None
        if self._is_idle and not self.transport.is_closing():
            self.transport.write(_ANSWER % (status, len(reason), reason))
        self.transport.close()
