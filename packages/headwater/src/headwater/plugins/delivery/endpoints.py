"""The state of deliveries, and retries of dead letters."""

from __future__ import annotations

from fastapi import APIRouter, Response

from headwater.http.routes import LiveState, Strict, answer
from headwater.plugins.delivery._store import Deliveries, delivery_statuses
from headwater.plugins.delivery.models import BackendInfo, Retried

router = APIRouter(route_class=Strict)


@router.get("/api/v2/deliver", response_model=list[BackendInfo])
def list_backends(live: LiveState) -> Response:
    """Return the state of each backend: its progress, last error and dead letters."""
    return answer(delivery_statuses(live.log))


@router.post("/api/v2/deliver/{backend:segment}/retry", response_model=Retried)
def retry_letters(live: LiveState, backend: str) -> Response:
    """Send the dead letters of a backend again."""
    return answer(Deliveries(live.log, backend).retry())
