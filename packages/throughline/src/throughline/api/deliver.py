"""Deliveries to backends, and alerts."""

from __future__ import annotations

from fastapi import APIRouter, Response

from throughline.alerts import alerts_answer
from throughline.alerts.models import AlertInfo
from throughline.api.http import Cursor, LiveState, PageLimit, answer
from throughline.deliver import delivery_status_answer, retry_answer
from throughline.deliver.answers import BackendInfo, Retried
from throughline.graph.models import Page

router = APIRouter()


@router.get("/api/v2/deliver", response_model=list[BackendInfo])
def list_backends(live: LiveState) -> Response:
    """Return the state of each backend: its progress, last error and dead letters."""
    return answer(delivery_status_answer(live.log))


@router.post("/api/v2/deliver/{backend:segment}/retry", response_model=Retried)
def retry_letters(live: LiveState, backend: str) -> Response:
    """Send the dead letters of a backend again."""
    return answer(retry_answer(live.log, backend))


@router.get("/api/v2/alerts", response_model=Page[AlertInfo])
def list_alerts(live: LiveState, limit: PageLimit = 100, cursor: Cursor = None) -> Response:
    """Return the alerts with the state of their actions, newest first."""
    return answer(alerts_answer(live.log, limit, cursor))
