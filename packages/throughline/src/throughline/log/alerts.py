"""Which alerts fired, and what of each is still to be done: kept in the log's own database."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import delete, insert, select, tuple_, update

from throughline.log import schema
from throughline.log.store import EventLog
from throughline.redaction import redact, redact_text


@dataclass(frozen=True, slots=True)
class Fired:
    """An alert: its body, the places of the actions still to do, and why one was given up."""

    rule: str
    cause: str
    body: dict[str, Any]
    fired_at: int
    pending: tuple[int, ...]
    error: str | None


class Alerts:
    """The alerts of one log. A rule fires once for a cause, which stays on record."""

    def __init__(self, log: EventLog) -> None:
        self._log = log

    def causes(self, rule: str) -> set[str] | None:
        """The causes for which a rule fired; None if it was never looked at."""
        table = schema.alerts
        with self._log.reading() as connection:
            query = select(table.c.cause).where(table.c.rule == rule)
            found = set(connection.execute(query).scalars())
        return found - {""} if found else None

    def fire(
        self, rule: str, bodies: Iterable[tuple[str, dict[str, Any]]], actions: Sequence[int]
    ) -> None:
        """Put causes with their bodies on record, and the actions that they call for."""
        rows = [
            {
                "rule": rule,
                "cause": cause,
                "body": orjson.dumps(redact(body)).decode(),
                "fired_at": time.time_ns() // 1_000,
                "pending": ",".join(map(str, actions)),
            }
            for cause, body in bodies
        ]
        if rows:
            with self._log.writing() as connection:
                connection.execute(insert(schema.alerts), rows)

    def begin(self, rule: str, bodies: Iterable[tuple[str, dict[str, Any]]]) -> None:
        """Look at a rule from now on: what broke it already calls for nothing."""
        self.fire(rule, (("", {}), *bodies), ())

    def done(self, fired: Fired, action: int, error: str | None = None) -> None:
        """Note that an action is done, or why it was given up."""
        table = schema.alerts
        with self._log.writing() as connection:
            pending = connection.execute(select(table.c.pending).where(*_mine(fired))).scalar()
            left = [each for each in (pending or "").split(",") if each != str(action)]
            values = {"pending": ",".join(left), **({"error": redact_text(error)} if error else {})}
            connection.execute(update(table).where(*_mine(fired)).values(**values))

    def forget(self, rule: str, causes: Iterable[str]) -> None:
        """Have a rule fire again for causes that are over."""
        table = schema.alerts
        if over := list(causes):
            with self._log.writing() as connection:
                mine = (table.c.rule == rule, table.c.cause.in_(over))
                connection.execute(delete(table).where(*mine))

    def pending(self) -> list[Fired]:
        """The alerts of which something is still to be done, the oldest first."""
        table = schema.alerts
        query = select(table).where(table.c.pending != "").order_by(table.c.fired_at)
        with self._log.reading() as connection:
            return [_fired(row) for row in connection.execute(query)]

    def newest(self, limit: int, before: tuple[Any, ...] | None = None) -> list[Fired]:
        """The alerts that fired last, the last one first; `before` a time, a rule and a cause."""
        table = schema.alerts
        order = (table.c.fired_at, table.c.rule, table.c.cause)
        query = select(table).where(table.c.cause != "").order_by(*(c.desc() for c in order))
        if before is not None:
            query = query.where(tuple_(*order) < tuple_(*before))
        with self._log.reading() as connection:
            return [_fired(row) for row in connection.execute(query.limit(limit))]


def _mine(fired: Fired) -> tuple[Any, Any]:
    return schema.alerts.c.rule == fired.rule, schema.alerts.c.cause == fired.cause


def _fired(row: Any) -> Fired:
    pending = tuple(int(each) for each in row.pending.split(",") if each)
    body = orjson.loads(row.body)
    return Fired(row.rule, row.cause, body, row.fired_at, pending, row.error)
