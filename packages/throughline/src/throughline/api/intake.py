"""POST /api/v1/lineage and /api/v1/lineage/batch: events as JSON, zipped if so declared."""

from __future__ import annotations

import asyncio
import zlib
from typing import Any

from fastapi import APIRouter, Request, Response

from throughline.api.http import Plain, answer, answered
from throughline.errors import BodyError, EventError, TooLargeError
from throughline.log import Entry, entry_of
from throughline.projection.live import Batch, Receipt
from throughline.spec import dump, load, load_plain

router = APIRouter(route_class=Plain)

_WINDOW_BITS = {"gzip": 31, "deflate": 15}
"""What zlib is told, by Content-Encoding; RFC 9110 calls a zlib stream deflate."""


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
_ERROR = {"path": "run.runId", "received": "nothing", "expected": "a text that is not empty"}
_SUMMARY = {"taken": 1, "repeated": 0, "refused": 1, "errors": [{"index": 1, **_ERROR}]}
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
        413: {},
    },
    openapi_extra=_documented({"anyOf": [{"type": "object"}, _EVENTS]}, _EVENT),
)
async def post_lineage(request: Request) -> Response:
    """Take events; 201 once they are durable. Of an array, what can be placed is taken."""
    raw, body = load_plain(await _body(request))
    if not isinstance(body, list):
        await _store(request, [entry_of(raw, body)])
        return Response(status_code=201)
    receipt, errors = await _take(request, body)
    refused = [{"index": index, **described(error)} for index, error in errors]
    summary = {"taken": receipt.taken, "repeated": receipt.repeated, "refused": len(refused)}
    return answer({**summary, "errors": refused}, 422 if errors else 201)


@router.post(
    "/api/v1/lineage/batch",
    responses={
        200: answered("all were taken", {**_BATCH, "status": "success", "failed_events": []}),
        207: answered("a part was taken", _BATCH),
        422: answered("none could be placed", {**_BATCH, "status": "failure"}),
        413: {},
    },
    openapi_extra=_documented({"anyOf": [{"type": "object"}, _EVENTS]}, [_EVENT]),
)
async def post_batch(request: Request) -> Response:
    """Take an array of events, or an object with one in `events`; what can be placed is taken.

    200 if that is all of them, 207 if it is a part, 422 if it is none; the answer says which ones
    failed and why. None is worth sending again as it is.
    """
    body = load(await _body(request))
    events = body.get("events") if isinstance(body, dict) else body
    if not isinstance(events, list):
        raise EventError("$", body, "an array of events, or an object with one in `events`")
    receipt, errors = await _take(request, events)
    taken = receipt.taken + receipt.repeated
    status = "success" if not errors else "partial_success" if taken else "failure"
    counts = {"received": len(events), "successful": taken, "failed": len(errors)}
    failed = [{"index": index, "reason": str(error), "retriable": False} for index, error in errors]
    summary = {**counts, "retriable": 0, "non_retriable": len(errors)}
    code = {"success": 200, "partial_success": 207, "failure": 422}[status]
    return answer({"status": status, "summary": summary, "failed_events": failed}, code)


def described(error: EventError) -> dict[str, str]:
    """What was wrong with an event."""
    return {"path": error.path, "received": error.received, "expected": error.expected}


async def _take(request: Request, items: list[Any]) -> tuple[Receipt, list[tuple[int, EventError]]]:
    """Store the events that can be placed; those that cannot by their place in the array."""
    entries: list[Entry] = []
    errors: list[tuple[int, EventError]] = []
    for index, item in enumerate(items):
        try:
            entries.append(entry_of(dump(item), item))
        except EventError as error:
            errors.append((index, error))
    return await _store(request, entries), errors


async def _store(request: Request, entries: list[Entry]) -> Receipt:
    future = request.app.state.live.submit(Batch(entries))
    return await asyncio.wrap_future(future)


async def _body(request: Request) -> bytes:
    most: int = request.app.state.largest_body
    encoding = request.headers.get("content-encoding", "").strip().lower() or "identity"
    if encoding != "identity" and encoding not in _WINDOW_BITS:
        raise BodyError("Content-Encoding", encoding, "gzip, deflate or none")
    unzip = zlib.decompressobj(_WINDOW_BITS[encoding]) if encoding in _WINDOW_BITS else None
    parts: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        part = _unzipped(unzip, chunk, most - size + 1, encoding) if unzip else chunk
        size += len(part)
        if size > most:
            raise TooLargeError("$", f"more than {most} bytes", f"at most {most} bytes, unzipped")
        parts.append(part)
    if unzip is not None and not unzip.eof:
        raise BodyError("$", f"a {encoding} stream that ends too early", "a whole one")
    return b"".join(parts)


def _unzipped(unzip: Any, chunk: bytes, most: int, encoding: str) -> bytes:
    try:
        part: bytes = unzip.decompress(chunk, most)
        return part
    except zlib.error as error:
        raise BodyError("$", str(error), f"a {encoding} stream") from None
