"""The endpoints of trust beside its queries."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from throughline.http.routes import LiveState, Tagged, answer
from throughline.query.registry import ask, load_queries
from throughline.trust._doctor import Spool, doctor_answer
from throughline.trust.models import CheckAnswer, DoctorAnswer

router = APIRouter(route_class=Tagged)


class CheckRequest(BaseModel):
    """The parameters of `GET /api/v2/check`."""

    contract: str | None = Field(default=None, examples=['{"jobs": {"load": {}}}'])
    as_of: str | None = Field(default=None, alias="asOf", examples=["2025-11-21T08:30:00Z"])
    known_at: str | None = Field(default=None, alias="knownAt", examples=["2025-11-21T08:30:00Z"])


@router.post("/api/v2/check", response_model=CheckAnswer)
def post_check(live: LiveState, given: CheckRequest) -> Response:
    """Compare the captured lineage with a contract, like `GET /api/v2/check`."""
    return answer(ask(live, load_queries()["check"], given.model_dump()))


@router.get("/api/v2/doctor", response_model=DoctorAnswer)
def get_doctor(request: Request, live: LiveState) -> Response:
    """Return the producers, and the problems of the received lineage and of its intake."""
    tail = request.app.state.tail
    lag, unended = tail.lag() if tail else (0, 0)
    spool = Spool(lag, unended, tail.stuck if tail else ())
    return answer(doctor_answer(live, spool))
