"""The delivery cursor and dead letters of each backend, stored in the log's database."""

from __future__ import annotations

import time
from dataclasses import dataclass

from sqlalchemy import case, delete, func, insert, select, update

from throughline.errors import NotFoundError
from throughline.log import schema
from throughline.log.store import EventLog
from throughline.redaction import redact_text

_NEWEST = 10


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An event that a backend rejected: its `seq`, the reason and the time (microseconds)."""

    seq: int
    reason: str
    refused_at: int


@dataclass(frozen=True, slots=True)
class DeliveryStatus:
    """The delivery status of a backend.

    `seq` is the last event that it accepted or rejected, `lag` the number of waiting events,
    including retried dead letters, and `error` the last delivery error. Times are microseconds.
    """

    backend: str
    seq: int
    lag: int
    moved_at: int | None
    error: str | None
    error_at: int | None
    dead_letters: int
    newest_letters: tuple[DeadLetter, ...]


class Deliveries:
    """The cursor and the dead letters of one backend."""

    def __init__(self, log: EventLog, backend: str) -> None:
        self._log = log
        self._backend = backend
        self._own_row = schema.deliveries.c.backend == backend
        self._own_letters = schema.dead_letters.c.backend == backend

    def cursor(self) -> int:
        """Return the `seq` of the last accepted or rejected event; 0 for a new backend."""
        with self._log.writing() as connection:
            seq = connection.execute(select(schema.deliveries.c.seq).where(self._own_row)).scalar()
            if seq is None:
                connection.execute(insert(schema.deliveries).values(backend=self._backend, seq=0))
        return seq or 0

    def advance(self, seq: int, rejection: str | None = None) -> None:
        """Move the cursor to `seq`, which the backend accepted, or rejected for a reason."""
        table, letters = schema.deliveries, schema.dead_letters
        with self._log.writing() as connection:
            # Retried letters and the slower of two processes are behind the cursor: never go back.
            farthest = case((table.c.seq < seq, seq), else_=table.c.seq)
            connection.execute(
                update(table).where(self._own_row).values(seq=farthest, moved_at=_now())
            )
            connection.execute(delete(letters).where(self._own_letters, letters.c.seq == seq))
            if rejection is not None:
                row = {"backend": self._backend, "seq": seq, "reason": redact_text(rejection)}
                connection.execute(
                    insert(letters).values(**row, refused_at=_now(), is_retried=False)
                )

    def fail(self, error: str) -> None:
        """Record a delivery error and the time since when the backend is failing."""
        c = schema.deliveries.c
        is_failing = c.error_at > func.coalesce(c.moved_at, 0)
        since = case((is_failing, c.error_at), else_=_now())
        with self._log.writing() as connection:
            values = {"error": redact_text(error), "error_at": since}
            connection.execute(update(schema.deliveries).where(self._own_row).values(**values))

    def retry(self) -> int:
        """Schedule every dead letter for another attempt; return their number.

        Raises:
            NotFoundError: there is no delivery to a backend of this name.
        """
        table, letters = schema.deliveries, schema.dead_letters
        with self._log.writing() as connection:
            names = connection.execute(select(table.c.backend).order_by(table.c.backend)).scalars()
            backends = list(names)
            if self._backend not in backends:
                raise NotFoundError(
                    f"there is no backend {self._backend!r} in this log; known are:"
                    f" {', '.join(backends) or 'none'}"
                )
            retry = update(letters).where(self._own_letters, ~letters.c.is_retried)
            return connection.execute(retry.values(is_retried=True)).rowcount

    def retried(self) -> list[tuple[int, str]]:
        """Return the (seq, body) of dead letters to retry, in order of arrival."""
        letters, events = schema.dead_letters, schema.events
        query = (
            select(events.c.seq, events.c.body)
            .join(letters, letters.c.seq == events.c.seq)
            .where(self._own_letters, letters.c.is_retried)
            .order_by(events.c.seq)
        )
        with self._log.reading() as connection:
            return [(row.seq, row.body) for row in connection.execute(query)]


def delivery_statuses(log: EventLog) -> list[DeliveryStatus]:
    """Return the delivery status of every backend, by name."""
    table, letters, events = schema.deliveries, schema.dead_letters, schema.events
    statuses: list[DeliveryStatus] = []
    with log.reading() as connection:
        for row in connection.execute(select(table).order_by(table.c.backend)).all():
            waiting = select(func.count()).where(
                events.c.seq > row.seq, events.c.kind == schema.OPENLINEAGE
            )
            own_letters = letters.c.backend == row.backend
            counts = (
                select(letters.c.is_retried, func.count()).where(own_letters).group_by("is_retried")
            )
            number = {bool(retried): count for retried, count in connection.execute(counts)}
            newest = (
                select(letters.c.seq, letters.c.reason, letters.c.refused_at)
                .where(own_letters, ~letters.c.is_retried)
                .order_by(letters.c.seq.desc())
                .limit(_NEWEST)
            )
            statuses.append(
                DeliveryStatus(
                    **row._mapping,
                    lag=connection.execute(waiting).scalar_one() + number.get(True, 0),
                    dead_letters=number.get(False, 0),
                    newest_letters=tuple(DeadLetter(*row) for row in connection.execute(newest)),
                )
            )
    return statuses


def _now() -> int:
    return time.time_ns() // 1_000
