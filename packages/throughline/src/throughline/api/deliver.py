"""What goes out: how the backends stand, and the alerts that fired."""

from __future__ import annotations

from fastapi import APIRouter, Response

from throughline.alerts import alerts_answer
from throughline.api.http import Cursor, LiveState, PageLimit, answer, answered
from throughline.deliver import retry_answer, standings_answer

router = APIRouter()


@router.get("/api/v2/deliver")
def list_backends(live: LiveState) -> Response:
    """How far each backend was told of the log, why it last took nothing, and what it refused."""
    return answer(standings_answer(live.log))


_RETRIED = {"backend": "marquez", "retried": 3}


@router.post(
    "/api/v2/deliver/{backend:segment}/retry", responses={200: answered("put back", _RETRIED)}
)
def retry_letters(live: LiveState, backend: str) -> Response:
    """Have everything that a backend refused sent to it once more."""
    return answer(retry_answer(live.log, backend))


@router.get("/api/v2/alerts")
def list_alerts(live: LiveState, limit: PageLimit = 100, cursor: Cursor = None) -> Response:
    """The alerts that fired last, and whether everybody was told."""
    return answer(alerts_answer(live.log, limit, cursor))
