"""Read the body of each request before the application does, within limits.

Three limits apply to every endpoint: the size of a body, the time until it has arrived, and the
total memory of all bodies. The first 64 KiB of a body do not count as memory, so that ordinary
events are accepted even if large bodies use all of it. Only the number of connections limits these.

uvicorn passes on a body in chunks. `Bodies` collects them before the application sees the request,
so that a slow client occupies neither a query slot nor a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO

from anyio import CapacityLimiter
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headwater.errors import BusyError, HeadwaterError, SlowBodyError, TooLargeError
from headwater.http.routes import failure
from headwater.memory import trim
from headwater.server._options import ServerOptions
from headwater.unzip import PORTION, Unzip

SMALL = 64 * 1024
"""Largest size in bytes of a body without events."""

_EVENT_PATHS = ("/api/v1/lineage", "/api/v1/lineage/batch")
_LARGEST = {"/api/v2/check": 1024 * 1024}
"""Largest sizes in bytes of other bodies, by path."""

_LAST_SECONDS = 1.0
"""Seconds left for open bodies when the server stops, and for clients to read a rejection."""


class BodyReader:
    """A reader of bodies that enforces limits and tracks the memory of open bodies.

    One object serves all requests of a server. `parsing` lets one large body be decoded at a time.
    """

    def __init__(self, options: ServerOptions) -> None:
        self.options = options
        self._free = max(options.body_memory, options.largest_body)
        self._clocks: set[asyncio.Timeout] = set()
        self._is_closing = False
        self.parsing = CapacityLimiter(1)

    def largest_of(self, path: str) -> int:
        """Return the largest size of a decompressed body sent to a path."""
        is_events = path.rstrip("/") in _EVENT_PATHS
        largest = self.options.largest_body
        return largest if is_events else min(_LARGEST.get(path.rstrip("/"), SMALL), largest)

    async def read(self, receive: Receive, body: Body) -> None:
        """Read a whole body.

        Raises:
            BodyError: the body does not match its Content-Encoding.
            TooLargeError: the body is larger than allowed.
            BusyError: the bodies of all requests need too much memory.
            SlowBodyError: the body did not arrive in time.
            ConnectionError: the client disconnected.
        """
        seconds = _LAST_SECONDS if self._is_closing else self.options.body_seconds
        clock = asyncio.timeout(seconds)
        self._clocks.add(clock)
        try:
            async with clock:
                while body.is_open:
                    message = await receive()
                    body.is_open = _is_open(message)
                    for part in body.parts_of(message.get("body", b"")):
                        self._reserve(body, part)
                body.unzip.check_end()
        except TimeoutError:
            if self._is_closing:
                raise BusyError("the server is stopping: resend the request") from None
            raise SlowBodyError(
                f"the body did not arrive in full within {seconds:g} s:"
                " send less at once, or raise HEADWATER_BODY_SECONDS"
            ) from None
        finally:
            self._clocks.discard(clock)

    def release(self, body: Body) -> None:
        """Drop a body and free its memory, if possible to the operating system.

        It may be called twice for one body: after an error, and when the request ends.
        """
        body.clear()
        self._free += body.reserved
        if body.reserved > PORTION:
            trim()
        body.reserved = 0

    def close(self) -> None:
        """Shorten the time limit of open bodies, because the server stops."""
        self._is_closing = True
        end = asyncio.get_running_loop().time() + _LAST_SECONDS
        for clock in self._clocks:
            clock.reschedule(end)

    def _reserve(self, body: Body, size: int) -> None:
        """Count the memory of a body that has grown to `size` bytes.

        Raises:
            BusyError: the bodies of all requests need too much memory.
        """
        more = max(size - SMALL, 0) - body.reserved
        if more > self._free:
            raise BusyError("other requests use all the memory for bodies: retry later")
        self._free -= more
        body.reserved += more


class Body:
    """The part of a body received so far; its size is limited, also decompressed.

    `largest` is the limit in bytes of the compressed and of the decompressed body.
    """

    def __init__(self, headers: Headers, largest: int) -> None:
        """Start to read a body. Raises TooLargeError if it is announced as larger than allowed."""
        self.reserved = 0
        self.is_open = True  # more parts are expected
        self._largest = largest
        self._buffer = BytesIO()  # needs no second copy, unlike joining a list of parts
        self._size = 0
        self._received = 0
        self.unzip = Unzip(headers.get("content-encoding", ""))
        announced = headers.get("content-length", "")
        if announced.isdecimal() and int(announced) > largest:
            raise self._too_large(announced)

    def parts_of(self, chunk: bytes) -> Iterator[int]:
        """Add the contents of a chunk, and yield the total size after each part.

        A small chunk may decompress to a large one, so the caller reserves memory before each part
        is added.
        """
        self._received += len(chunk)
        if self._received > self._largest:
            raise self._too_large(f"more than {self._largest}")
        for part in self.unzip.feed(chunk):
            self._size += len(part)
            if self._size > self._largest:
                raise self._too_large(f"more than {self._largest}")
            self._buffer.write(part)
            yield self._size

    def take(self) -> bytes:
        """Return the bytes and drop them."""
        whole = self._buffer.getvalue()
        self.clear()
        return whole

    def clear(self) -> None:
        """Drop the bytes."""
        self._buffer = BytesIO()

    def _too_large(self, received: str) -> TooLargeError:
        return TooLargeError("$", f"{received} bytes", f"at most {self._largest} bytes, unzipped")


class Bodies:
    """Middleware that passes only complete bodies to the application.

    See `_reject` for what a client receives whose body is rejected.
    """

    def __init__(self, app: ASGIApp, reader: BodyReader) -> None:
        self._app = app
        self._reader = reader

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond with 400, 408, 413 or 503 if a body exceeds a limit."""
        if scope["type"] != "http" or not _has_body(headers := Headers(scope=scope)):
            await self._app(scope, receive, send)
            return
        body = None
        try:
            body = Body(headers, self._reader.largest_of(scope["path"]))
            await self._reader.read(receive, body)
            await self._app(scope, _replay(body.take(), receive), send)
        except ConnectionError:
            return  # the client has disconnected
        except HeadwaterError as error:
            if body is not None:
                self._reader.release(body)
            await _reject(error, scope, receive, send, is_open=body is None or body.is_open)
        finally:
            if body is not None:
                self._reader.release(body)


def _has_body(headers: Headers) -> bool:
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers


def _is_open(message: Message) -> bool:
    """Return True if more of the body follows. Raise ConnectionError if the client left."""
    if message["type"] == "http.disconnect":
        raise ConnectionError
    return bool(message.get("more_body", False))


def _replay(whole: bytes, receive: Receive) -> Receive:
    """Return a function that passes a complete body to the application as one message.

    Later calls wait for the client, which the application uses to notice that it disconnected.
    """
    parts = [whole]

    async def replayed() -> Message:
        if parts:
            return {"type": "http.request", "body": parts.pop(), "more_body": False}
        return await receive()

    return replayed


async def _reject(
    error: HeadwaterError, scope: Scope, receive: Receive, send: Send, *, is_open: bool
) -> None:
    """Send an error response, discard the rest of an open body, then close the connection.

    The body is read for up to a second, because closing a connection with unread data resets it,
    and the client may lose the response. The response stays open meanwhile, because uvicorn passes
    on no more of a body once the response is complete.

    `is_open` is True if the client may still send. The last, empty part then completes the
    response.
    """
    response = failure(error)
    response.headers["Connection"] = "close"

    async def send_open(message: Message) -> None:
        await send({**message, "more_body": True} if "body" in message else message)

    await response(scope, receive, send_open)
    with suppress(TimeoutError, ConnectionError):
        async with asyncio.timeout(_LAST_SECONDS):
            while is_open:
                is_open = _is_open(await receive())
    await send({"type": "http.response.body", "body": b""})
