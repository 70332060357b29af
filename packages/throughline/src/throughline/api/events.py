"""The events themselves, as the log keeps them."""

from __future__ import annotations

from typing import Annotated, Literal

import orjson
from fastapi import APIRouter, Query, Response

from throughline.api.http import Limit, LiveState, Offset, answer

router = APIRouter()


@router.get("/api/v1/events/lineage")
def list_events(
    live: LiveState,
    limit: Limit = 100,
    offset: Offset = 0,
    direction: Annotated[Literal["asc", "desc"], Query(alias="sortDirection")] = "desc",
) -> Response:
    """Events by event time, the newest first."""
    total, bodies = live.log.newest(limit, offset, ascending=direction == "asc")
    return answer({"totalCount": total, "events": [orjson.Fragment(body) for body in bodies]})
