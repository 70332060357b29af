"""The alerts that fired, as an answer."""

from __future__ import annotations

from throughline.alerts.models import AlertInfo
from throughline.alerts.store import Alerts
from throughline.alerts.watch import alert_of
from throughline.log import EventLog
from throughline.query.models import Page
from throughline.query.pages import cursor_of, paged, place_of

_ABOUT = ("alerts",)


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
