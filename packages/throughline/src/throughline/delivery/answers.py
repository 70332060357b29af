"""The state of the backends, as answers."""

from __future__ import annotations

from throughline.delivery.store import Deliveries, DeliveryStatus, delivery_statuses
from throughline.events import shown_time
from throughline.log import EventLog
from throughline.query.models import Answer


class DeadLetterInfo(Answer):
    """An event that a backend rejected."""

    seq: int
    reason: str
    rejectedAt: str | None


class BackendInfo(Answer):
    """The state of a backend."""

    backend: str
    seq: int
    """The last event that was delivered or rejected."""
    lag: int
    """Number of events not yet delivered."""
    deliveredAt: str | None
    isFailing: bool
    error: str | None
    errorAt: str | None
    deadLetters: int
    newestDeadLetters: list[DeadLetterInfo]


class Retried(Answer):
    """Number of dead letters that will be sent again."""

    backend: str
    retried: int


def delivery_status_answer(log: EventLog) -> list[BackendInfo]:
    """Return the state of every backend, by name."""
    return [_status(status) for status in delivery_statuses(log)]


def retry_answer(log: EventLog, backend: str) -> Retried:
    """Send the dead letters of a backend again; return their number.

    Raises:
        NotFoundError: nothing was delivered to such a backend.
    """
    return {"backend": backend, "retried": Deliveries(log, backend).retry()}


def _status(status: DeliveryStatus) -> BackendInfo:
    return {
        "backend": status.backend,
        "seq": status.seq,
        "lag": status.lag,
        "deliveredAt": shown_time(status.moved_at),
        "isFailing": (status.error_at or 0) > (status.moved_at or 0),
        "error": status.error,
        "errorAt": shown_time(status.error_at),
        "deadLetters": status.dead_letters,
        "newestDeadLetters": [
            {
                "seq": letter.seq,
                "reason": letter.reason,
                "rejectedAt": shown_time(letter.refused_at),
            }
            for letter in status.newest_letters
        ],
    }
