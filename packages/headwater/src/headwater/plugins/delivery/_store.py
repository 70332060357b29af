"""The delivery cursor and dead letters of each backend, stored in the log's database.

- `seq`: the number that the log gives an event on arrival
- cursor: the `seq` of the last event that the backend accepted or rejected; it is at most one batch
  behind the delivery
- dead letter: an event that the backend rejected; a retried one is sent again, then removed or, if
  it is rejected again, replaced
"""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy import Row, case, delete, func, insert, select, update

from headwater.errors import NotFoundError
from headwater.events import shown_time
from headwater.log import schema
from headwater.log.store import EventLog
from headwater.plugins.delivery import tables
from headwater.plugins.delivery.models import BackendInfo, Retried

_NEWEST = 10


class Deliveries:
    """The cursor and the dead letters of one backend.

    `backend` is the name in the deliver file. Two processes may deliver to one backend.
    """

    def __init__(self, log: EventLog, backend: str) -> None:
        self._log = log
        self._backend = backend
        self._own_row = tables.deliveries.c.backend == backend
        self._own_letters = tables.dead_letters.c.backend == backend

    def cursor(self) -> int:
        """Return the `seq` of the last accepted or rejected event; 0 for a new backend."""
        with self._log.writing() as connection:
            seq = connection.execute(select(tables.deliveries.c.seq).where(self._own_row)).scalar()
            if seq is None:
                connection.execute(insert(tables.deliveries).values(backend=self._backend, seq=0))
        return seq or 0

    def advance(self, seq: int, rejection: str | None = None) -> None:
        """Move the cursor to `seq`, which the backend accepted, or rejected for a reason."""
        table, letters = tables.deliveries, tables.dead_letters
        with self._log.writing() as connection:
            # Retried letters and the slower of two processes are behind the cursor: never go back.
            farthest = case((table.c.seq < seq, seq), else_=table.c.seq)
            connection.execute(
                update(table).where(self._own_row).values(seq=farthest, moved_at=_now())
            )
            connection.execute(delete(letters).where(self._own_letters, letters.c.seq == seq))
            if rejection is not None:
                row = {
                    "backend": self._backend,
                    "seq": seq,
                    "reason": self._log.redactor.redact_text(rejection),
                }
                connection.execute(
                    insert(letters).values(**row, refused_at=_now(), is_retried=False)
                )

    def fail(self, error: str) -> None:
        """Record a delivery error and the time since when the backend is failing.

        The backend is failing until an event is accepted or rejected.
        """
        c = tables.deliveries.c
        is_failing = c.error_at > func.coalesce(c.moved_at, 0)
        since = case((is_failing, c.error_at), else_=_now())  # the first error since it moved
        with self._log.writing() as connection:
            values = {"error": self._log.redactor.redact_text(error), "error_at": since}
            connection.execute(update(tables.deliveries).where(self._own_row).values(**values))

    def retry(self) -> Retried:
        """Schedule every dead letter for another attempt; return their number.

        Raises:
            NotFoundError: there is no delivery to a backend of this name.
        """
        table, letters = tables.deliveries, tables.dead_letters
        with self._log.writing() as connection:
            names = connection.execute(select(table.c.backend).order_by(table.c.backend)).scalars()
            backends = list(names)
            if self._backend not in backends:
                raise NotFoundError(
                    f"there is no backend {self._backend!r} in this log; known are:"
                    f" {', '.join(backends) or 'none'}"
                )
            retry = update(letters).where(self._own_letters, ~letters.c.is_retried)
            number = connection.execute(retry.values(is_retried=True)).rowcount
        return {"backend": self._backend, "retried": number}

    def retried(self) -> list[tuple[int, str]]:
        """Return the (seq, body) of dead letters to retry, in order of arrival."""
        letters, events = tables.dead_letters, schema.events
        query = (
            select(events.c.seq, events.c.body)
            .join(letters, letters.c.seq == events.c.seq)
            .where(self._own_letters, letters.c.is_retried)
            .order_by(events.c.seq)
        )
        return [(row.seq, row.body) for row in self._log.fetch(query)]


def undelivered(log: EventLog) -> tuple[int | None, set[int]]:
    """Return the last `seq` that every backend has passed, and the `seq` of each dead letter.

    Retention keeps these events. The first value is None if there is no backend.
    """
    passed = log.value(select(func.min(tables.deliveries.c.seq)))
    return passed, {row.seq for row in log.fetch(select(tables.dead_letters.c.seq))}


def delivery_statuses(log: EventLog) -> list[BackendInfo]:
    """Return the state of every backend, by name."""
    return [_status(log, row) for row in log.fetch(select(tables.deliveries).order_by("backend"))]


def _status(log: EventLog, row: Row[Any]) -> BackendInfo:
    """Return the state of a delivery, from its row and its dead letters.

    The lag counts the events after the cursor and the dead letters to send again. Only the other
    dead letters are listed, the ten newest.
    """
    letters, events = tables.dead_letters, schema.events
    own = letters.c.backend == row.backend
    counts = select(letters.c.is_retried, func.count()).where(own).group_by("is_retried")
    number = {bool(is_retried): count for is_retried, count in log.fetch(counts)}
    waiting = select(func.count()).where(
        events.c.seq > row.seq, events.c.kind == schema.OPENLINEAGE
    )
    newest = select(letters).where(own, ~letters.c.is_retried).order_by(letters.c.seq.desc())
    return {
        "backend": row.backend,
        "seq": row.seq,
        "lag": log.value(waiting) + number.get(True, 0),
        "deliveredAt": shown_time(row.moved_at),
        "isFailing": (row.error_at or 0) > (row.moved_at or 0),
        "error": row.error,
        "errorAt": shown_time(row.error_at),
        "deadLetters": number.get(False, 0),
        "newestDeadLetters": [
            {
                "seq": letter.seq,
                "reason": letter.reason,
                "rejectedAt": shown_time(letter.refused_at),
            }
            for letter in log.fetch(newest.limit(_NEWEST))
        ],
    }


def _now() -> int:
    return time.time_ns() // 1_000
