"""How far each backend was told of the log, and what it refused: kept in the log's own database."""

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
    """An event that a backend refused: its `seq`, why and when (microseconds)."""

    seq: int
    reason: str
    refused_at: int


@dataclass(frozen=True, slots=True)
class Standing:
    """How a backend stands.

    `seq` is the last event that it was told or that it refused, `lag` the number of events behind
    that, retried letters included; `error` is why it last took nothing. Times are microseconds.
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
        self._mine = schema.deliveries.c.backend == backend
        self._letters = schema.dead_letters.c.backend == backend

    def cursor(self) -> int:
        """The `seq` of the last event that is dealt with; 0 for a backend that is new."""
        with self._log.writing() as connection:
            found = connection.execute(select(schema.deliveries.c.seq).where(self._mine)).scalar()
            if found is None:
                connection.execute(insert(schema.deliveries).values(backend=self._backend, seq=0))
        return found or 0

    def advance(self, seq: int, refusal: str | None = None) -> None:
        """Go on to `seq`, which the backend took, or refused for a reason."""
        table, letters = schema.deliveries, schema.dead_letters
        with self._log.writing() as connection:
            # A letter lies behind the cursor, and so may the slower of two processes: never back.
            farthest = case((table.c.seq < seq, seq), else_=table.c.seq)
            connection.execute(
                update(table).where(self._mine).values(seq=farthest, moved_at=_now())
            )
            connection.execute(delete(letters).where(self._letters, letters.c.seq == seq))
            if refusal is not None:
                row = {"backend": self._backend, "seq": seq, "reason": redact_text(refusal)}
                connection.execute(
                    insert(letters).values(**row, refused_at=_now(), is_retried=False)
                )

    def fail(self, error: str) -> None:
        """Note why the backend takes nothing at present, and since when it does not."""
        c = schema.deliveries.c
        is_failing = c.error_at > func.coalesce(c.moved_at, 0)
        since = case((is_failing, c.error_at), else_=_now())
        with self._log.writing() as connection:
            values = {"error": redact_text(error), "error_at": since}
            connection.execute(update(schema.deliveries).where(self._mine).values(**values))

    def retry(self) -> int:
        """Have every dead letter sent once more; answers how many. Raises NotFoundError."""
        table, letters = schema.deliveries, schema.dead_letters
        with self._log.writing() as connection:
            names = connection.execute(select(table.c.backend).order_by(table.c.backend)).scalars()
            known = list(names)
            if self._backend not in known:
                raise NotFoundError(
                    f"nothing was ever delivered to a backend {self._backend!r}; known are:"
                    f" {', '.join(known) or 'none'}"
                )
            put_back = update(letters).where(self._letters, ~letters.c.is_retried)
            return connection.execute(put_back.values(is_retried=True)).rowcount

    def retried(self) -> list[tuple[int, str]]:
        """The (seq, body) of letters that were put back, in order of arrival."""
        letters, events = schema.dead_letters, schema.events
        query = (
            select(events.c.seq, events.c.body)
            .join(letters, letters.c.seq == events.c.seq)
            .where(self._letters, letters.c.is_retried)
            .order_by(events.c.seq)
        )
        with self._log.reading() as connection:
            return [(row.seq, row.body) for row in connection.execute(query)]


def standings(log: EventLog) -> list[Standing]:
    """How every backend stands that was ever delivered to, by name."""
    table, letters, events = schema.deliveries, schema.dead_letters, schema.events
    found: list[Standing] = []
    with log.reading() as connection:
        for row in connection.execute(select(table).order_by(table.c.backend)).all():
            beyond = select(func.count()).where(
                events.c.seq > row.seq, events.c.kind == schema.OPENLINEAGE
            )
            mine = letters.c.backend == row.backend
            counts = select(letters.c.is_retried, func.count()).where(mine).group_by("is_retried")
            number = {bool(retried): count for retried, count in connection.execute(counts)}
            newest = (
                select(letters.c.seq, letters.c.reason, letters.c.refused_at)
                .where(mine, ~letters.c.is_retried)
                .order_by(letters.c.seq.desc())
                .limit(_NEWEST)
            )
            found.append(
                Standing(
                    **row._mapping,
                    lag=connection.execute(beyond).scalar_one() + number.get(True, 0),
                    dead_letters=number.get(False, 0),
                    newest_letters=tuple(DeadLetter(*each) for each in connection.execute(newest)),
                )
            )
    return found


def _now() -> int:
    return time.time_ns() // 1_000
