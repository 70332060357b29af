"""POST /api/v1/lineage: one event or an array of events, as JSON, gzip if so declared."""

from __future__ import annotations

import asyncio
import zlib
from typing import Any

import orjson
from fastapi import APIRouter, Request, Response

from throughline.api.http import answer
from throughline.errors import BodyError, EventError
from throughline.log import Entry, entry_of
from throughline.projection.live import Batch
from throughline.spec import load

router = APIRouter()

_LARGEST = 64 * 1024 * 1024


@router.post("/api/v1/lineage", status_code=201)
async def post_lineage(request: Request) -> Response:
    """Take events; 201 once they are durable. Of an array, what can be placed is taken."""
    raw = await _body(request)
    body = load(raw)
    if not isinstance(body, list):
        await _store(request, [entry_of(raw, body)])
        return Response(status_code=201)
    entries: list[Entry] = []
    errors: list[dict[str, Any]] = []
    for index, item in enumerate(body):
        try:
            entries.append(entry_of(_dump(item), item))
        except EventError as error:
            errors.append({"index": index, **described(error)})
    taken, repeated = await _store(request, entries)
    summary = {"taken": taken, "repeated": repeated, "refused": len(errors), "errors": errors}
    return answer(summary, 422 if errors else 201)


def described(error: EventError) -> dict[str, str]:
    """What was wrong with an event."""
    return {"path": error.path, "received": error.received, "expected": error.expected}


async def _store(request: Request, entries: list[Entry]) -> tuple[int, int]:
    future = request.app.state.live.submit(Batch(entries))
    receipt = await asyncio.wrap_future(future)
    return receipt.taken, receipt.repeated


async def _body(request: Request) -> bytes:
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", ""):
        raise BodyError("Content-Encoding", encoding, "gzip or none")
    # 32 + 15: a gzip or zlib header, whichever is there
    unzip = zlib.decompressobj(47) if encoding == "gzip" else None
    parts: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        part = _unzipped(unzip, chunk, _LARGEST - size + 1) if unzip else chunk
        size += len(part)
        if size > _LARGEST:
            raise BodyError("$", f"more than {_LARGEST} bytes", f"at most {_LARGEST} bytes")
        parts.append(part)
    if unzip is not None and not unzip.eof:
        raise BodyError("$", "a gzip stream that ends too early", "a whole gzip stream")
    return b"".join(parts)


def _unzipped(unzip: Any, chunk: bytes, most: int) -> bytes:
    try:
        part: bytes = unzip.decompress(chunk, most)
        return part
    except zlib.error as error:
        raise BodyError("$", str(error), "a gzip stream") from None


def _dump(item: Any) -> bytes:
    try:
        return orjson.dumps(item)
    except TypeError as error:
        raise EventError("$", str(error), "Unicode JSON nested at most 254 levels deep") from None
