"""POST /api/v2/aliases: join two names of a dataset, or separate them."""

from __future__ import annotations

import time

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from headwater.http.models import Error
from headwater.http.routes import LiveState, Queried, answer
from headwater.plugins.aliases._service import stated_entry
from headwater.plugins.aliases.models import AliasPair
from headwater.plugins.aliases.queries import aliases_answer
from headwater.projection.live import Batch
from headwater.query.models import Page

router = APIRouter(route_class=Queried)


class NewAlias(BaseModel):
    """Two ids or short names of datasets, or the patterns of a rule."""

    one: str = Field(examples=["s3://lake/warehouse/orders"])
    other: str = Field(examples=["hive://lake:9083/shop.orders"])
    is_removed: bool = Field(default=False, alias="isRemoved", examples=[False])
    is_separate: bool = Field(default=False, alias="isSeparate", examples=[False])
    is_rule: bool = Field(default=False, alias="isRule", examples=[False])


@router.post(
    "/api/v2/aliases",
    status_code=201,
    response_model=Page[AliasPair],
    responses={404: {"description": "Nothing has that name.", "model": Error}},
)
def post_alias(live: LiveState, new: NewAlias) -> Response:
    """Join two names of one dataset, or separate them; 201 once it is durable.

    `isSeparate` states that the names are two datasets. `isRule` joins all pairs of names that
    match two patterns, which are ids with one `%s` in the name. `isRemoved` removes a statement or
    a rule. Returns all statements, like `GET /api/v2/aliases`.
    """
    now = time.time_ns() // 1_000
    with live.reading() as state:
        entry = stated_entry(
            state,
            new.one,
            new.other,
            now,
            is_removed=new.is_removed,
            is_separate=new.is_separate,
            is_rule=new.is_rule,
        )
    live.ingest(Batch([entry]))
    with live.reading() as state:
        return answer(aliases_answer(state), 201)
