"""Endpoints about trust, in addition to its queries."""

from __future__ import annotations

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from headwater.http.models import Error
from headwater.http.routes import LiveState, Queried, Tagged, answer
from headwater.http.state import Shared
from headwater.plugins.trust._doctor import Spool, doctor_answer
from headwater.plugins.trust._health import findings_of
from headwater.plugins.trust.finding_states import NewFindingState, change_state
from headwater.plugins.trust.models import CheckAnswer, DoctorAnswer, HealthFinding
from headwater.query.registry import ask, find_query

router = APIRouter(route_class=Tagged)
_queried = APIRouter(route_class=Queried)


class CheckRequest(BaseModel):
    """The parameters of `GET /api/v2/check`."""

    contract: str | None = Field(default=None, examples=['{"jobs": {"load": {}}}'])
    as_of: str | None = Field(default=None, alias="asOf", examples=["2025-11-21T08:30:00Z"])
    known_at: str | None = Field(default=None, alias="knownAt", examples=["2025-11-21T08:30:00Z"])


@router.post("/api/v2/check", response_model=CheckAnswer)
def post_check(live: LiveState, given: CheckRequest) -> Response:
    """Compare the captured lineage with a contract, like `GET /api/v2/check`."""
    return answer(ask(live, find_query("check"), given.model_dump()))


@_queried.post(
    "/api/v2/findings",
    status_code=201,
    response_model=HealthFinding,
    responses={404: {"description": "There is no such finding.", "model": Error}},
)
def post_finding_state(live: LiveState, new: NewFindingState) -> Response:
    """Mute, acknowledge or reopen a finding; needs the scope `write`.

    A muted finding stays muted until `until`. An acknowledged one is open again once it changes,
    for example when the next run fails too. Neither makes `GET /api/v2/health` unhealthy.
    """
    with live.reading() as state:
        findings = list(findings_of(state))
    return answer(change_state(live.log, findings, new), 201)


@router.get("/api/v2/doctor", response_model=DoctorAnswer)
def get_doctor(state: Shared) -> Response:
    """Return the producers, and the problems of the received lineage and of its intake."""
    tail = state.tail
    lag, unended = tail.lag() if tail else (0, 0)
    spool = Spool(lag, unended, tail.stuck if tail else ())
    return answer(doctor_answer(state.live, spool))


router.routes += _queried.routes  # newer FastAPI hides included routers from OpenAPI
