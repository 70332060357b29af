"""GET /api/v2/alerts: the alerts that fired, with the state of their actions."""

from __future__ import annotations

from fastapi import APIRouter, Response

from headwater.http.routes import LiveState, Strict, answer
from headwater.log import EventLog
from headwater.plugins.alerts._store import AlertInfo, Alerts, alert_of
from headwater.query.models import Page
from headwater.query.pages import cursor_of, paged, place_of
from headwater.query.parameters import Cursor, Limit

router = APIRouter(route_class=Strict)

_ABOUT = ("alerts",)


@router.get("/api/v2/alerts", response_model=Page[AlertInfo])
def list_alerts(live: LiveState, limit: Limit = 100, cursor: Cursor = None) -> Response:
    """Return the alerts with the state of their actions, newest first."""
    return answer(alerts_answer(live.log, limit, cursor))


def alerts_answer(log: EventLog, limit: int, cursor: str | None = None) -> Page[AlertInfo]:
    """Return a page of the alerts, newest first."""
    before = None if cursor is None else place_of(_ABOUT, cursor, (int, str, str))
    fired = Alerts(log).newest(limit + 1, before)
    items: list[AlertInfo] = [
        {**alert_of(alert), "isPending": bool(alert.pending), "error": alert.error}
        for alert in fired[:limit]
    ]
    last = fired[limit - 1] if len(fired) > limit else None
    return paged(items, cursor_of(_ABOUT, (last.fired_at, last.rule, last.cause)) if last else None)
