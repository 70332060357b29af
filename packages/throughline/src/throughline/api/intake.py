"""POST /api/v1/lineage and /api/v1/lineage/batch: events as JSON, zipped if so declared."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, Request, Response

from throughline.api.bodies import SMALL, BodyReader
from throughline.api.http import Plain, answer, answered
from throughline.errors import EventError, TooLargeError
from throughline.log import Entry, Items, entry_of, read_items
from throughline.projection.live import Batch, Receipt
from throughline.spec import load, load_plain

router = APIRouter(route_class=Plain)

_MOST_VALUES = 4_000_000
"""Largest number of values in a body; the smallest take 70 bytes for 3 bytes of JSON."""

_EVENT = {
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
_ERROR = {"path": "run.runId", "received": "nothing", "expected": "a non-empty string"}
_SUMMARY = {
    "taken": 1,
    "repeated": 0,
    "refused": 1,
    "unread": 0,
    "errors": [{"index": 1, **_ERROR}],
}
_BATCH = {
    "status": "partial_success",
    "summary": {"received": 2, "successful": 1, "failed": 1, "retriable": 0, "non_retriable": 1},
    "failed_events": [{"index": 1, "reason": "run.runId: received nothing", "retriable": False}],
}


def _documented(schema: dict[str, Any], example: Any) -> dict[str, Any]:
    content = {"application/json": {"schema": schema, "example": example}}
    return {"requestBody": {"required": True, "content": content}}


@router.post(
    "/api/v1/lineage",
    status_code=201,
    responses={
        201: {"description": "taken; an array is answered with counts as JSON"},
        422: answered("not everything could be placed", _SUMMARY),
    },
    openapi_extra=_documented({"anyOf": [{"type": "object"}, _EVENTS]}, _EVENT),
)
async def post_lineage(request: Request) -> Response:
    """Ingest an event or an array; 201 once the events are durable.

    Valid events of an array are ingested even if others are rejected. At most
    THROUGHLINE_MOST_EVENTS are read, and none after 1,000 rejected ones; `unread` counts the rest.
    The first 100 errors are listed.
    """
    items, count = await _read(request, _lineage_items)
    receipt = await _store(request, items.entries)
    if count is None:
        return Response(status_code=201)
    errors = [asdict(item) for item in items.listed]
    counts = {"taken": receipt.stored, "repeated": receipt.duplicates, "refused": items.rejected}
    code = 422 if items.rejected or items.unread else 201
    return answer({**counts, "unread": items.unread, "errors": errors}, code)


@router.post(
    "/api/v1/lineage/batch",
    responses={
        200: answered("all were taken", {**_BATCH, "status": "success", "failed_events": []}),
        207: answered("a part was taken", _BATCH),
        422: answered("none could be placed", {**_BATCH, "status": "failure"}),
    },
    openapi_extra=_documented({"anyOf": [{"type": "object"}, _EVENTS]}, [_EVENT]),
)
async def post_batch(request: Request) -> Response:
    """Ingest an array of events, or an object with one in `events`.

    Returns 200 if all events are ingested, 207 if some are and 422 if none is. The response lists
    the first 100 rejected events with their reasons; do not resend them unchanged. At most
    THROUGHLINE_MOST_EVENTS are read, and none after 1,000 rejected ones. Resend the unread ones.
    """
    items, count = await _read(request, _batch_items)
    receipt = await _store(request, items.entries)
    taken = receipt.stored + receipt.duplicates
    failed = items.rejected + items.unread
    status = "success" if not failed else "partial_success" if taken else "failure"
    summary = {
        "received": count,
        "successful": taken,
        "failed": failed,
        "retriable": items.unread,
        "non_retriable": items.rejected,
    }
    code = {"success": 200, "partial_success": 207, "failure": 422}[status]
    listed = _failed_events(items, count or 0)
    return answer({"status": status, "summary": summary, "failed_events": listed}, code)


def _failed_events(items: Items, count: int) -> list[dict[str, Any]]:
    """List the first rejected items and the first unread one."""
    failed = [
        {"index": item.index, "reason": item.reason, "retriable": False} for item in items.listed
    ]
    if items.unread:
        reason = f"not read, nor are the items after it: send these {items.unread} by themselves"
        failed.append({"index": count - items.unread, "reason": reason, "retriable": True})
    return failed


def _lineage_items(raw: bytes, most: int) -> tuple[Items, int | None]:
    """Read an event or an array; the count of a single event is None."""
    plain, body = load_plain(raw)
    if isinstance(body, list):
        return read_items(body, most), len(body)
    return Items([entry_of(plain, body)]), None


def _batch_items(raw: bytes, most: int) -> tuple[Items, int | None]:
    body = load(raw)
    events = body.get("events") if isinstance(body, dict) else body
    if not isinstance(events, list):
        raise EventError("$", body, "an array of events, or an object with one in `events`")
    return read_items(events, most), len(events)


async def _read(
    request: Request, read: Callable[[bytes, int], tuple[Items, int | None]]
) -> tuple[Items, int | None]:
    """Read the posted events; large bodies one at a time in a thread."""
    reader: BodyReader = request.app.state.bodies
    raw = await request.body()
    if len(raw) <= SMALL:
        return read(raw, reader.limits.most_events)
    values = raw.count(b",") + raw.count(b"[") + raw.count(b"{")
    if values > _MOST_VALUES:
        raise TooLargeError("$", f"about {values} values", f"at most {_MOST_VALUES} values")
    return await run_sync(read, raw, reader.limits.most_events, limiter=reader.parsing)


async def _store(request: Request, entries: list[Entry]) -> Receipt:
    future = request.app.state.live.submit(Batch(entries))
    return await asyncio.wrap_future(future)
