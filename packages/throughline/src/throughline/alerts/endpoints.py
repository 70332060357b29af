"""The endpoint of alerts; the rules are in a file, see `rules`."""

from __future__ import annotations

from fastapi import APIRouter, Response

from throughline.alerts.models import AlertInfo
from throughline.alerts.service import alerts_answer
from throughline.http.routes import Cursor, LiveState, PageLimit, answer
from throughline.query.models import Page

router = APIRouter()


@router.get("/api/v2/alerts", response_model=Page[AlertInfo])
def list_alerts(live: LiveState, limit: PageLimit = 100, cursor: Cursor = None) -> Response:
    """Return the alerts with the state of their actions, newest first."""
    return answer(alerts_answer(live.log, limit, cursor))
