"""POST /api/v2/aliases: join two names of datasets by hand, or take that back."""

from __future__ import annotations

import time

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from throughline.api.admission import Queried
from throughline.api.http import LiveState, answer, answered
from throughline.graph.aliases import alias_entry, aliases
from throughline.graph.pages import paged
from throughline.projection.live import Batch

router = APIRouter(route_class=Queried)


class NewAlias(BaseModel):
    """Two ids or short names of datasets."""

    one: str = Field(examples=["s3://lake/warehouse/orders"])
    other: str = Field(examples=["hive://lake:9083/shop.orders"])
    is_removed: bool = Field(default=False, alias="isRemoved", examples=[False])


_JOINED = paged(
    [
        {
            "one": {"namespace": "hive://lake:9083", "name": "shop.orders"},
            "other": {"namespace": "s3://lake", "name": "warehouse/orders"},
            "since": "2025-11-21T09:00:00Z",
        }
    ],
    None,
)


@router.post(
    "/api/v2/aliases",
    status_code=201,
    responses={201: answered("joined, or not any more", _JOINED), 404: {}},
)
def post_alias(live: LiveState, new: NewAlias) -> Response:
    """Say that two names mean one dataset, or with `isRemoved` no longer; 201 once it is durable.

    The answer is all that is joined by hand, as of `GET /api/v2/aliases`.
    """
    now = time.time_ns() // 1_000
    with live.reading() as state:
        entry = alias_entry(state, new.one, new.other, now, is_removed=new.is_removed)
    live.ingest(Batch([entry]))
    with live.reading() as state:
        return answer(aliases(state), 201)
