"""The sample: example lineage below /sample, separate from the server's own.

It has the same API and page, read-only, with an in-memory store. Its clock is fixed, so that shared
links always show the same state and no job becomes late.
"""

from __future__ import annotations

import gzip
import threading
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cached_property
from importlib import resources

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Receive, Scope, Send

from headwater.events import parse_time, shown_time, to_micros
from headwater.http.routes import answer
from headwater.log import EventLog, entry_of
from headwater.projection.live import Batch, Live
from headwater.query.models import Json

PREFIX = "/sample"
PRESENT = datetime(2026, 11, 20, 3, tzinfo=UTC)
"""The current time of the sample."""
NEWEST_END = PRESENT - timedelta(minutes=7)
"""The end of the last night of its events."""
_LOST_AFTER = 2 * 3600.0


class Sample:
    """The application below /sample, created at the first request.

    `make` returns the application over a log. The sample is created late, since most servers never
    need it; a lock prevents that two requests create it.
    """

    def __init__(self, make: Callable[[Live], ASGIApp]) -> None:
        self._make = make
        self._lock = threading.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request without the prefix; reject all requests except reads."""
        if scope["method"] not in ("GET", "HEAD"):
            message = "the sample is read-only; your own lineage is at the address without /sample"
            response = answer({"code": 405, "message": message}, 405)
            response.headers["Allow"] = "GET, HEAD"
            await response(scope, receive, send)
            return
        app = await run_in_threadpool(self._app)
        own = {"path": scope["path"].removeprefix(PREFIX), "root_path": ""}
        if scope.get("raw_path"):
            own["raw_path"] = scope["raw_path"].removeprefix(PREFIX.encode())
        await app({**scope, **own}, receive, send)

    def _app(self) -> ASGIApp:
        with self._lock:
            return self._created

    @cached_property
    def _created(self) -> ASGIApp:
        return self._make(_sample())


def sample_events(newest_end: datetime = NEWEST_END) -> Iterator[Json]:
    """Yield the events of two weeks, shifted in time so that the last night ends at `newest_end`.

    The events are those of `tests/support/rides.py`; `tests/server/test_sample.py` writes the file
    if WRITE_DOCS is set. Tests and pictures of the page pass a recent `newest_end`. Only the times
    of the events are shifted, because they contain no others.
    """
    shift = newest_end - NEWEST_END
    packed = resources.files(__package__).joinpath("sample.jsonl.gz").read_bytes()
    for line in gzip.decompress(packed).splitlines():
        event = orjson.loads(line)
        event["eventTime"] = shown_time(to_micros(parse_time(event["eventTime"]) + shift))
        yield event


def _sample() -> Live:
    """Return a live log of the events."""
    # A named memory database is shared by all threads, unlike `sqlite://`.
    place = f"file:/headwater-sample-{uuid.uuid4()}?vfs=memdb&uri=true"
    live = Live(EventLog(f"sqlite:///{place}"), _LOST_AFTER, PRESENT.timestamp)
    live.ingest(Batch([entry_of(orjson.dumps(event)) for event in sample_events()]))
    return live
