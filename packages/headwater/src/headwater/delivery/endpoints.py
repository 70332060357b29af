"""The state of deliveries, and retries of dead letters."""

from __future__ import annotations

from fastapi import APIRouter, Response

from headwater.delivery._store import Deliveries, delivery_statuses
from headwater.delivery.models import BackendInfo, Retried
from headwater.http.routes import LiveState, Strict, answer

router = APIRouter(route_class=Strict)


@router.get("/api/v2/deliver", response_model=list[BackendInfo])
def list_backends(live: LiveState) -> Response:
    """Return the state of each backend: its progress, last error and dead letters."""
    return answer(delivery_statuses(live.log))


@router.post("/api/v2/deliver/{backend:segment}/retry", response_model=Retried)
def retry_letters(live: LiveState, backend: str) -> Response:
    """Send the dead letters of a backend again."""
    return answer(Deliveries(live.log, backend).retry())
