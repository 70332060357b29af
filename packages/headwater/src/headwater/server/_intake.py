"""POST /api/v1/lineage and /api/v1/lineage/batch: events as JSON, optionally compressed.

An item is one event of an array. `Items` collects the valid ones and the reasons of rejections.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Literal

from anyio.to_thread import run_sync
from fastapi import APIRouter, Request, Response

from headwater.errors import EventError
from headwater.events import load, load_plain
from headwater.http.models import (
    BatchCounts,
    BatchResult,
    Error,
    FailedEvent,
    IntakeError,
    IntakeSummary,
)
from headwater.http.routes import Plain, answer
from headwater.log import MOST_REJECTED, Entry, Items, Rejected, entry_of, read_items
from headwater.projection.live import Batch, Receipt
from headwater.query.models import Json
from headwater.redaction import Redactor
from headwater.server._arrays import (
    ARRAY,
    ARRAY_OR_BATCH,
    check_size,
    check_values,
    split_array,
)
from headwater.server._bodies import SMALL, BodyReader
from headwater.server._state import server_state

router = APIRouter(route_class=Plain)

_MOST_VALUES = 4_000_000
"""Largest number of values in an array of events."""

_EVENT: Json = {
    "eventType": "COMPLETE",
    "eventTime": "2025-11-21T08:30:00Z",
    "producer": "https://example.org/shop/1.0",
    "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
    "run": {"runId": "00000000-0000-4000-8000-000000000001"},
    "job": {"namespace": "shop", "name": "load"},
    "inputs": [{"namespace": "s3://landing", "name": "orders.csv"}],
    "outputs": [{"namespace": "hive://lake:9083", "name": "shop.orders"}],
}
_EVENTS = {"type": "array", "items": {"type": "object"}}


def _documented(schema: Json, example: Json | list[Json]) -> Json:
    content = {"application/json": {"schema": schema, "example": example}}
    return {"requestBody": {"required": True, "content": content}}


@router.post(
    "/api/v1/lineage",
    status_code=201,
    responses={
        201: {"description": "Ingested. The response to an array has counts."},
        422: {"description": "At least one event was rejected.", "model": IntakeSummary | Error},
    },
    openapi_extra=_documented({"anyOf": [{"type": "object"}, _EVENTS]}, _EVENT),
)
async def post_lineage(request: Request) -> Response:
    """Ingest an event or an array; 201 once the events are durable.

    Valid events of an array are ingested even if others are rejected. At most
    HEADWATER_MOST_EVENTS are read, and none after 1,000 rejections; `unread` counts the rest. The
    first 100 errors are listed.
    """
    items, count, receipt = await _ingest(request, _lineage_items, ARRAY)
    if count is None:
        return Response(status_code=201)
    summary: IntakeSummary = {
        "stored": receipt.stored,
        "duplicates": receipt.duplicates,
        "rejected": items.rejected,
        "unread": items.unread,
        "errors": [_error(item) for item in items.listed],
    }
    return answer(summary, 422 if items.rejected or items.unread else 201)


@router.post(
    "/api/v1/lineage/batch",
    responses={
        200: {"description": "All events were ingested.", "model": BatchResult},
        207: {"description": "Some events were rejected.", "model": BatchResult},
        422: {"description": "All events were rejected.", "model": BatchResult | Error},
    },
    openapi_extra=_documented({"anyOf": [{"type": "object"}, _EVENTS]}, [_EVENT]),
)
async def post_batch(request: Request) -> Response:
    """Ingest an array of events, or an object with one in `events`.

    Returns 200 if all events are ingested, 207 if some are and 422 if none is. The response lists
    the first 100 rejected events with their reasons; do not resend them unchanged. At most
    HEADWATER_MOST_EVENTS are read, and none after 1,000 rejections. Resend the unread ones.
    """
    items, count, receipt = await _ingest(request, _batch_items, ARRAY_OR_BATCH)
    taken = receipt.stored + receipt.duplicates
    failed = items.rejected + items.unread
    status: Literal["success", "partial_success", "failure"]
    if not failed:
        status, code = "success", 200
    elif taken:
        status, code = "partial_success", 207
    else:
        status, code = "failure", 422
    summary: BatchCounts = {
        "received": count or 0,
        "successful": taken,
        "failed": failed,
        "retriable": items.unread,
        "non_retriable": items.rejected,
    }
    failed_events = _failed_events(items, count or 0)
    result: BatchResult = {"status": status, "summary": summary, "failed_events": failed_events}
    return answer(result, code)


def _error(item: Rejected) -> IntakeError:
    return {
        "index": item.index,
        "path": item.path,
        "received": item.received,
        "expected": item.expected,
    }


def _failed_events(items: Items, count: int) -> list[FailedEvent]:
    """List the first rejected items and the first unread one.

    `count` is the number of items that the client sent. A retriable item was not read.
    """
    failed: list[FailedEvent] = [
        {"index": item.index, "reason": item.reason, "retriable": False} for item in items.listed
    ]
    if items.unread:
        reason = f"not read, nor are the items after it: send these {items.unread} by themselves"
        failed.append({"index": count - items.unread, "reason": reason, "retriable": True})
    return failed


def _lineage_items(raw: bytes, redactor: Redactor, most: int) -> tuple[Items, int | None]:
    """Read an event or an array; the count of a single event is None.

    `most` is the number of events after which the rest of an array stays unread.
    """
    plain, body = load_plain(raw)
    if isinstance(body, list):
        return read_items(body, redactor, most), len(body)
    return Items(redactor, [entry_of(plain, body, redactor)]), None


def _batch_items(raw: bytes, redactor: Redactor, most: int) -> tuple[Items, int | None]:
    """Read an array, or the array in `events` of an object. Raises EventError for anything else."""
    body = load(raw)
    events = body.get("events") if isinstance(body, dict) else body
    if not isinstance(events, list):
        raise EventError("$", body, "an array of events, or an object with one in `events`")
    return read_items(events, redactor, most), len(events)


async def _ingest(
    request: Request,
    read: Callable[[bytes, Redactor, int], tuple[Items, int | None]],
    array: re.Pattern[bytes],
) -> tuple[Items, int | None, Receipt]:
    """Read and store the posted events; count rejected ones for `/metrics`.

    Large bodies are read one at a time in a thread.

    `read` decodes a body at once; `array` matches the start of a body that may be decoded in
    portions. Return the items, the number of items that the client sent (None for one event), and
    the counts of stored and duplicate events. Raises EventError if the body as a whole is rejected.
    """
    state = server_state(request)
    reader, redactor = state.bodies, state.live.log.redactor
    raw = b"".join([part async for part in request.stream() if part])  # copies no single part
    try:
        if len(raw) <= SMALL:
            items, count = read(raw, redactor, reader.options.most_events)
        elif start := array.match(raw):
            check_values(raw, _MOST_VALUES)
            return await _ingest_portions(request, _Portions(raw, start[0], reader, redactor))
        else:
            check_values(raw)
            check_size(raw, reader.options.largest_event)
            most = reader.options.most_events
            items, count = await run_sync(read, raw, redactor, most, limiter=reader.parsing)
    except EventError:
        state.request_counts.rejected_events += 1
        raise
    del raw
    state.request_counts.rejected_events += items.rejected
    return items, count, await asyncio.wrap_future(state.live.submit(Batch(items.entries)))


class _Portions:
    """A large array of events that is decoded in portions, to limit memory.

    `find` must be called first, then `read` until it returns no entry. Both run in a thread.
    """

    _SIZE = 1_048_576

    def __init__(self, raw: bytes, start: bytes, reader: BodyReader, redactor: Redactor) -> None:
        """Take the whole body `raw`; `start` is the JSON before its first event."""
        self._raw, self._start = raw, start
        self._most = reader.options.most_events
        self._largest = reader.options.largest_event
        self._events: list[tuple[int, int]] = []  # the begin and end of each in `raw`
        self._next = 0  # the index of the next event to read
        self.limiter = reader.parsing
        self.items = Items(redactor)
        self.count = 0

    def find(self) -> None:
        """Find all events, so that invalid JSON is rejected before any event is stored."""
        for span in split_array(self._raw, self._start, self._largest):
            if self.count < self._most:
                self._events.append(span)
            self.count += 1

    def read(self) -> list[Entry]:
        """Return the entries of the next portion; none at the end.

        A portion takes about 1 MiB of JSON, and at least one event. `items` counts what was
        rejected so far, and `unread` what follows.
        """
        size = 0
        while self._next < len(self._events) and self.items.rejected < MOST_REJECTED:
            begin, end = self._events[self._next]
            self.items.add(self._next, load(self._raw[begin:end]))
            self._next += 1
            size += end - begin
            if size > self._SIZE and self.items.entries:
                break
        self.items.unread = self.count - self._next
        entries, self.items.entries = self.items.entries, []
        return entries


async def _ingest_portions(
    request: Request, portions: _Portions
) -> tuple[Items, int | None, Receipt]:
    """Store a large array portion by portion, and return the same as `_ingest`.

    An event is stored before later ones are read; sending the array again is safe, because stored
    events count as duplicates.
    """
    state = server_state(request)
    stored = duplicates = 0
    await run_sync(portions.find, limiter=portions.limiter)
    while entries := await run_sync(portions.read, limiter=portions.limiter):
        receipt = await asyncio.wrap_future(state.live.submit(Batch(entries)))
        stored, duplicates = stored + receipt.stored, duplicates + receipt.duplicates
        del entries  # before the next portion is decoded
    state.request_counts.rejected_events += portions.items.rejected
    return portions.items, portions.count, Receipt(stored, duplicates)
