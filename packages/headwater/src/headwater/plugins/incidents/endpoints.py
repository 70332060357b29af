"""POST /api/v2/taints: recall a version of a dataset, or clear it."""

from __future__ import annotations

import time

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from headwater.http.models import Error
from headwater.http.routes import LiveState, Queried, answer
from headwater.plugins.incidents._taints import taint_entry, taints_answer
from headwater.plugins.incidents.models import RecalledVersions
from headwater.projection.live import Batch

router = APIRouter(route_class=Queried)


class NewTaint(BaseModel):
    """A version to recall or to clear."""

    version: str = Field(examples=["orders@1"], description="DATASET@VERSION, or a version alone.")
    reason: str = Field(max_length=1_000, examples=["Prices of a test system"])
    is_cleared: bool = Field(default=False, alias="isCleared", examples=[False])


@router.post(
    "/api/v2/taints",
    status_code=201,
    response_model=RecalledVersions,
    responses={404: {"description": "There is no such version.", "model": Error}},
)
def post_taint(live: LiveState, new: NewTaint) -> Response:
    """Recall a version, so that gates refuse its data, or clear it; 201 after it is stored.

    Returns all recalled versions, like `GET /api/v2/taints`.
    """
    now = time.time_ns() // 1_000
    with live.reading() as state:
        entry = taint_entry(
            state, new.version, new.reason, now, live.log.redactor, is_cleared=new.is_cleared
        )
    live.ingest(Batch([entry]))
    with live.reading() as state:
        return answer(taints_answer(state), 201)
