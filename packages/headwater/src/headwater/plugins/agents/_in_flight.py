"""Limit the open requests of a client over stdio.

The SDK starts a task for each request that it reads. A client that sends requests but reads no
answers would fill the server's memory. Therefore, no request is read while the client has not read
the answers of `MOST_IN_FLIGHT` requests. Further requests stay in the client's pipe.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio

MOST_IN_FLIGHT = 16


class _InFlight:
    """The ids of the requests without an answer.

    Items are what the SDK puts into its streams: a `SessionMessage`, or an error of reading. A
    request has a method and an id, a notification a method only, and an answer an id only.
    """

    def __init__(self, most: int) -> None:
        self._slots = anyio.Semaphore(most)
        self._ids: Counter[object] = Counter()

    async def begin(self, item: object) -> None:
        """Wait for a slot if the item is a request; free one if it cancels a request.

        Each item must pass here before the server gets it.
        """
        message = getattr(item, "message", None)
        method, request_id = getattr(message, "method", None), getattr(message, "id", None)
        if method is not None and request_id is not None:
            await self._slots.acquire()
            self._ids[request_id] += 1
        elif method == "notifications/cancelled":
            params = getattr(message, "params", None) or {}
            self._free(params.get("requestId"))  # it may get no answer

    def end(self, item: object) -> None:
        """Free the slot of an answered request.

        Each item must pass here after it was sent to the client.
        """
        message = getattr(item, "message", None)
        if getattr(message, "method", None) is None:
            self._free(getattr(message, "id", None))

    def _free(self, request_id: object) -> None:
        """Free the slot of a request. An id without an open request is ignored."""
        if self._ids[request_id] > 0:
            self._ids[request_id] -= 1
            self._slots.release()
        if not self._ids[request_id]:
            del self._ids[request_id]


@asynccontextmanager
async def limited(
    reader: Any, writer: Any, most: int = MOST_IN_FLIGHT
) -> AsyncIterator[tuple[Any, Any]]:
    """Yield streams like a reader and a writer of the SDK, with at most `most` open requests.

    Both are closed at the end, as by the SDK, which waits for that.
    """
    # The SDK reads `requests` and writes `answers`; two tasks move items from and to the client.
    in_flight, reading = _InFlight(most), anyio.CancelScope()
    to_server, requests = anyio.create_memory_object_stream[Any](0)
    answers, from_server = anyio.create_memory_object_stream[Any](0)

    async def read() -> None:
        async with reader, to_server:
            with reading:
                async for item in reader:
                    await in_flight.begin(item)
                    await to_server.send(item)

    async def write() -> None:
        async with writer:
            async for item in from_server:
                await writer.send(item)
                in_flight.end(item)

    async with to_server, requests, answers, from_server, anyio.create_task_group() as group:
        group.start_soon(read)
        group.start_soon(write)
        yield requests, answers
        reading.cancel()
        await answers.aclose()  # the last answers are written
