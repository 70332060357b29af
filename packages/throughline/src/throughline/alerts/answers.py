"""The alerts that fired, as JSON-ready values."""

from __future__ import annotations

from typing import Any

from throughline.alerts.watch import shown
from throughline.log import Alerts, EventLog


def alerts_answer(log: EventLog, limit: int) -> list[dict[str, Any]]:
    """The alerts that fired last; `error` is why an action was given up."""
    return [
        {**shown(fired), "isPending": bool(fired.pending), "error": fired.error}
        for fired in Alerts(log).newest(limit)
    ]
