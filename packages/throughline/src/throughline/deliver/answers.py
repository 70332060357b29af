"""How the backends stand, as JSON-ready values for the command line and for /api/v2."""

from __future__ import annotations

from typing import Any

from throughline.log import Deliveries, DeliveryStatus, EventLog, delivery_statuses
from throughline.spec import shown_time


def standings_answer(log: EventLog) -> list[dict[str, Any]]:
    """How every backend stands, by name."""
    return [_standing(each) for each in delivery_statuses(log)]


def retry_answer(log: EventLog, backend: str) -> dict[str, Any]:
    """How many dead letters of a backend were put back. Raises NotFoundError."""
    return {"backend": backend, "retried": Deliveries(log, backend).retry()}


def _standing(standing: DeliveryStatus) -> dict[str, Any]:
    return {
        "backend": standing.backend,
        "seq": standing.seq,
        "lag": standing.lag,
        "deliveredAt": shown_time(standing.moved_at),
        "isFailing": (standing.error_at or 0) > (standing.moved_at or 0),
        "error": standing.error,
        "errorAt": shown_time(standing.error_at),
        "deadLetters": standing.dead_letters,
        "newestDeadLetters": [
            {
                "seq": letter.seq,
                "reason": letter.reason,
                "refusedAt": shown_time(letter.refused_at),
            }
            for letter in standing.newest_letters
        ],
    }
