"""The state of the backends, as answers."""

from __future__ import annotations

from throughline.graph.models import Answer
from throughline.log import Deliveries, DeliveryStatus, EventLog, delivery_statuses
from throughline.spec import shown_time


class DeadLetterInfo(Answer):
    """An event that a backend rejected."""

    seq: int
    reason: str
    refusedAt: str | None


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


def standings_answer(log: EventLog) -> list[BackendInfo]:
    """Return the state of every backend, by name."""
    return [_standing(each) for each in delivery_statuses(log)]


def retry_answer(log: EventLog, backend: str) -> Retried:
    """Send the dead letters of a backend again; return their number.

    Raises:
        NotFoundError: nothing was delivered to such a backend.
    """
    return {"backend": backend, "retried": Deliveries(log, backend).retry()}


def _standing(standing: DeliveryStatus) -> BackendInfo:
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
