"""The sample: a lineage to try, below /sample, beside the server's own and never mixed with it.

It has the same API and the same page over a store in memory, and can only be read. It is always the
same moment there, so that an address that was shared shows the same for ever, after a restart too,
and nothing becomes late.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cached_property

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Receive, Scope, Send

from throughline.api.http import answer
from throughline.api.sample.rides import rides
from throughline.log import EventLog, entry_of
from throughline.projection.live import Batch, Live

__all__ = ["PREFIX", "PRESENT", "Sample"]

PREFIX = "/sample"
PRESENT = datetime(2026, 11, 20, 3, tzinfo=UTC)
"""When it is looked at, whatever the time is elsewhere."""
_NEWEST_END = timedelta(minutes=7)
_LOST_AFTER = 2 * 3600.0


class Sample:
    """Answers what is asked below /sample; made when it is first asked for."""

    def __init__(self, make: Callable[[Live], ASGIApp]) -> None:
        self._make = make
        self._making = threading.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as a server of the sample would at its own address."""
        if scope["method"] not in ("GET", "HEAD"):
            told = "the sample can only be read; your own lineage is at the address without /sample"
            refusal = answer({"code": 405, "message": told}, 405)
            refusal.headers["Allow"] = "GET, HEAD"
            await refusal(scope, receive, send)
            return
        app = await run_in_threadpool(self._app)
        own = {"path": scope["path"].removeprefix(PREFIX), "root_path": ""}
        if scope.get("raw_path"):
            own["raw_path"] = scope["raw_path"].removeprefix(PREFIX.encode())
        await app({**scope, **own}, receive, send)

    def _app(self) -> ASGIApp:
        with self._making:
            return self._made

    @cached_property
    def _made(self) -> ASGIApp:
        return self._make(_sample())


def _sample() -> Live:
    """Two weeks of a pipeline that ended just before."""
    # In memory for all threads, which `sqlite://` is for one; each has a name of its own.
    place = f"file:/throughline-sample-{uuid.uuid4()}?vfs=memdb&uri=true"
    live = Live(EventLog(f"sqlite:///{place}"), _LOST_AFTER, PRESENT.timestamp)
    events = rides(PRESENT - _NEWEST_END)
    live.ingest(Batch([entry_of(orjson.dumps(body)) for body in events]))
    return live
