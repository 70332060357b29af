"""The sample: a lineage to try, below /sample, beside the server's own and never mixed with it.

It has the same API and the same page over a store in memory, and can only be read.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Receive, Scope, Send

from throughline.api.http import answer
from throughline.api.sample.rides import rides
from throughline.log import EventLog, entry_of
from throughline.projection.live import Batch, Live

__all__ = ["PREFIX", "Sample"]

PREFIX = "/sample"
_FRESH_SECONDS = 6 * 3600.0
"""After this it is made anew: in a lineage of yesterday every job would be late."""
_NEWEST_END = timedelta(minutes=7)
_LOST_AFTER = 2 * 3600.0


class Sample:
    """Answers what is asked below /sample; made when it is first asked for."""

    def __init__(self, make: Callable[[Live], ASGIApp]) -> None:
        self._make = make
        self._made: tuple[float, ASGIApp] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as a server of the sample would at its own address."""
        if scope["method"] not in ("GET", "HEAD"):
            told = "the sample can only be read; your own lineage is at the address without /sample"
            refusal = answer({"code": 405, "message": told}, 405)
            refusal.headers["Allow"] = "GET, HEAD"
            await refusal(scope, receive, send)
            return
        app = await run_in_threadpool(self._fresh)
        own = {"path": scope["path"].removeprefix(PREFIX), "root_path": ""}
        if scope.get("raw_path"):
            own["raw_path"] = scope["raw_path"].removeprefix(PREFIX.encode())
        await app({**scope, **own}, receive, send)

    def _fresh(self) -> ASGIApp:
        now = time.monotonic()
        if self._made is None or now - self._made[0] > _FRESH_SECONDS:
            self._made = now, self._make(_sample())
        return self._made[1]


def _sample() -> Live:
    """Two weeks of a pipeline that ended just now."""
    # In memory for all threads, which `sqlite://` is for one; each has a name of its own.
    place = f"file:/throughline-sample-{uuid.uuid4()}?vfs=memdb&uri=true"
    live = Live(EventLog(f"sqlite:///{place}"), _LOST_AFTER)
    events = rides(datetime.now(UTC) - _NEWEST_END)
    live.take(Batch([entry_of(orjson.dumps(body)) for body in events]))
    return live
