"""The alerts that fired, as JSON-ready values."""

from __future__ import annotations

from typing import Any

from throughline.alerts.watch import shown
from throughline.graph.pages import cursor_of, paged, place_of
from throughline.log import Alerts, EventLog

_ABOUT = ("alerts",)


def alerts_answer(log: EventLog, limit: int, cursor: str | None = None) -> dict[str, Any]:
    """A page of the alerts, the last first; `error` is why an action was given up."""
    before = None if cursor is None else place_of(_ABOUT, cursor, (int, str, str))
    fired = Alerts(log).newest(limit + 1, before)
    told = [
        {**shown(each), "isPending": bool(each.pending), "error": each.error}
        for each in fired[:limit]
    ]
    last = fired[limit - 1] if len(fired) > limit else None
    return paged(told, cursor_of(_ABOUT, (last.fired_at, last.rule, last.cause)) if last else None)
