"""Stream new events as server-sent events (WHATWG HTML, 9.2).

Each client reads the log by `seq` at its own pace: a slow one delays no other and misses nothing.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Annotated

from anyio.to_thread import run_sync
from fastapi import APIRouter, FastAPI, Header, Query, Request
from fastapi.responses import StreamingResponse

from headwater.errors import BusyError, LogError
from headwater.http.routes import LARGEST, LiveState, Strict
from headwater.projection.live import Live
from headwater.server._state import ServerState, server_state

log = logging.getLogger(__name__)
router = APIRouter(route_class=Strict)

_MOST_EVENTS = 100
_PAGE_BYTES = 64 * 1024
"""Approximate memory per client that does not read; a single larger event is still read whole."""

_LINE_END = re.compile(r"\r\n|\n|\r")


class EventStream(StreamingResponse):
    """A response of server-sent events."""

    media_type = "text/event-stream"


@router.get("/api/v2/events/stream", response_class=EventStream)
async def stream_events(
    request: Request,
    live: LiveState,
    after: Annotated[
        int | None, Query(ge=0, le=LARGEST, description="Only events after this `seq`.")
    ] = None,
    last_event_id: Annotated[
        int | None,
        Header(alias="Last-Event-ID", ge=0, le=LARGEST, description="The last received `id`."),
    ] = None,
) -> EventStream:
    """Stream new events, or all after a `seq`, until the client or the server disconnects.

    The `id` of an event is its `seq`, its data the stored JSON. A client that reconnects sends the
    last `id` as Last-Event-ID, as browsers do, which takes precedence over `after`.
    """
    start = after if last_event_id is None else last_event_id
    state = server_state(request)
    if state.streams >= state.options.most_connections // 2:
        raise BusyError(f"{state.streams} clients read the stream, which is the limit: retry later")
    events = _events(live, live.newest if start is None else start, state)
    return EventStream(events, headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"})


def end_streams(app: FastAPI) -> None:
    """End all streams of an application before its server stops."""
    app.state.is_closing = True
    app.state.live.wake()


async def _events(live: Live, after: int, state: ServerState) -> AsyncIterator[str]:
    """Yield the framed events after a `seq`, and a comment while there are none.

    New events wake it up. It ends when the server stops or the log cannot be read; clients then
    connect again with the last id. Damaged rows are left out.
    """
    loop, woken = asyncio.get_running_loop(), asyncio.Event()

    def wake() -> None:
        with suppress(RuntimeError):  # the loop is already closed
            loop.call_soon_threadsafe(woken.set)

    number = 1
    with live.listening(wake), _counted(state):
        yield ": here\n\n"  # Firefox opens a stream only at its first byte
        while not state.is_closing:
            woken.clear()
            page: list[tuple[int, str]] = []
            if live.newest > after:
                try:
                    page = await run_sync(_page, live, after, number, limiter=state.stream_readers)
                except LogError as error:  # the client reconnects and continues
                    log.warning("an event stream ends early: %s", error)
                    return
            number = _next_number(number, page)
            damaged = live.unreadable
            for after, body in page:
                if after not in damaged:
                    yield _framed(after, body)
            if page:
                continue
            try:
                await asyncio.wait_for(woken.wait(), state.options.heartbeat_seconds)
            except TimeoutError:
                yield ": still here\n\n"


@contextmanager
def _counted(state: ServerState) -> Iterator[None]:
    state.streams += 1
    try:
        yield
    finally:
        state.streams -= 1


def _next_number(number: int, page: list[tuple[int, str]]) -> int:
    """Return the number of events to read next, so that they take about `_PAGE_BYTES`.

    `number` is the number of events that were read last, and `page` has these events.
    """
    size = sum(len(body) for _, body in page)
    return max(number // 2, 1) if size > _PAGE_BYTES else min(number * 2, _MOST_EVENTS)


def _page(live: Live, after: int, number: int) -> list[tuple[int, str]]:
    return list(islice(live.log.read(after, number), number))


def _framed(seq: int, body: str) -> str:
    """Return an event as a server-sent event: its `seq` as the id, one `data` line per line."""
    lines = "".join(f"data: {line}\n" for line in _LINE_END.split(body))
    return f"id: {seq}\n{lines}\n"
