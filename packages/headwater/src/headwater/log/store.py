"""Append to the log and read it. Each append is one durable transaction.

`seq` is the number that the log gives an event on arrival; events are applied in its order.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from headwater.events import AliasEvent
from headwater.log import schema
from headwater.log._database import Database, foreign, no_log, opening
from headwater.log._entry import Entry
from headwater.redaction import DEFAULT, Redactor

if TYPE_CHECKING:
    from headwater.settings import Settings  # slow to import

_PAGE = 1_000
_PRUNED, _HORIZON = "pruned_until", "horizon"  # keys of the table `meta`
_LAST_SEQ = sa.select(sa.func.max(schema.events.c.seq))  # built once, as every append uses it


@dataclass(frozen=True, slots=True)
class Offset:
    """The read position of a spool file; `head` is a digest of its first bytes."""

    path: str
    inode: int
    position: int
    head: str


@dataclass(frozen=True, slots=True)
class RejectedLine:
    """A rejected line with the reason."""

    source: str
    reason: str
    line: str
    id: int = field(default=0, compare=False)  # in order of arrival, once it is stored


@dataclass(frozen=True, slots=True)
class Appended:
    """The result of an append: the new hashes, and the last `seq` before and after."""

    new: frozenset[str]
    before: int
    after: int


class EventLog(Database):
    """The event log at a SQLAlchemy URL; created if it is missing, unless `must_exist`.

    `redactor` masks secrets in the texts that are stored in the log or shown. Raises ConfigError or
    LogError, also for the database of another program.
    """

    def __init__(self, url: str, *, must_exist: bool = False, redactor: Redactor = DEFAULT) -> None:
        self.redactor = redactor
        with opening(url):
            super().__init__(url, must_exist=must_exist)
            self._add_event = self._insert_missing(schema.events).returning(
                schema.events.c.hash, schema.events.c.seq
            )
            self._add_rejected_line = self._insert_missing(schema.refused)
            with ExitStack() as undone:
                undone.callback(self.close)
                with self._transaction() as connection:
                    tables = sa.inspect(connection).get_table_names() if must_exist else []
                    if must_exist and schema.events.name not in tables:
                        raise foreign(url) if tables else no_log(url)
                    schema.prepare(connection)
                undone.pop_all()

    @classmethod
    def of(cls, settings: Settings, *, must_exist: bool = False) -> EventLog:
        """Return the log of the settings, with their redactor. Raises ConfigError."""
        redactor = Redactor.of(settings.redact)
        return cls(settings.database, must_exist=must_exist, redactor=redactor)

    def append(
        self,
        entries: Sequence[Entry],
        offsets: Sequence[Offset] = (),
        rejected_lines: Sequence[RejectedLine] = (),
    ) -> Appended:
        """Append offsets, rejected lines, and events with new hashes in one durable transaction."""
        unique = {entry.hash: entry for entry in entries}
        now = time.time_ns() // 1_000
        with self.writing() as connection:
            before = int(connection.execute(_LAST_SEQ).scalar() or 0)
            rows = [_row(entry, now) for entry in unique.values()]
            added = connection.execute(self._add_event, rows) if rows else ()
            new: dict[str, int] = {row.hash: row.seq for row in added}
            self._save_offsets(connection, offsets)
            if lines := [self._rejected_row(line, now) for line in rejected_lines]:
                connection.execute(self._add_rejected_line, lines)
        return Appended(frozenset(new), before, max(new.values(), default=before))

    def read(self, after: int = 0, page_size: int = _PAGE) -> Iterator[tuple[int, str]]:
        """Yield the (seq, body) of every OpenLineage event after a `seq`; see `rows`."""
        rows = self.rows(after, page_size=page_size)
        return ((row.seq, row.body) for row in rows if row.kind == schema.OPENLINEAGE)

    def rows(
        self,
        after: int = 0,
        *,
        as_of: int | None = None,
        known_at: int | None = None,
        page_size: int = _PAGE,
    ) -> Iterator[Any]:
        """Yield every row (seq, kind, received_at, body) after a `seq`, in order of arrival.

        Include only events with an event time up to `as_of`, received up to `known_at`
        (microseconds). Read them page by page.
        """
        table = schema.events
        query = (
            sa.select(table.c.seq, table.c.kind, table.c.received_at, table.c.body)
            .where(table.c.seq > sa.bindparam("after"))
            .order_by(table.c.seq)
            .limit(page_size)
        )
        if as_of is not None:
            query = query.where(table.c.event_time <= as_of)
        if known_at is not None:
            query = query.where(table.c.received_at <= known_at)
        while True:
            page = self.fetch(query, after=after)
            yield from page
            if len(page) < page_size:
                return
            after = page[-1].seq

    def offsets(self) -> dict[str, Offset]:
        """Return the offset of every spool file, by path."""
        rows = self.fetch(sa.select(schema.offsets))
        return {row.path: Offset(row.path, row.inode, row.position, row.head) for row in rows}

    def rejected_lines(self, after: int = 0, limit: int | None = None) -> list[RejectedLine]:
        """Return the rejected lines with an id greater than `after`."""
        table = schema.refused
        query = sa.select(table).where(table.c.id > after).order_by(table.c.id).limit(limit)
        rows = self.fetch(query)
        return [RejectedLine(row.source, row.reason, row.line, row.id) for row in rows]

    def reject(self, rows: Sequence[tuple[int, RejectedLine]]) -> None:
        """Move damaged rows, by `seq`, to the rejected lines in one transaction."""
        now = time.time_ns() // 1_000
        with self.writing() as connection:
            for seq, line in rows:
                connection.execute(self._add_rejected_line, [self._rejected_row(line, now)])
                connection.execute(sa.delete(schema.events).where(schema.events.c.seq == seq))

    def _rejected_row(self, rejected_line: RejectedLine, now: int) -> dict[str, object]:
        """Return the row of a rejected line; equal lines have one hash, so each is stored once."""
        return {
            "hash": hashlib.sha256(rejected_line.line.encode(errors="replace")).hexdigest(),
            "received_at": now,
            "source": rejected_line.source,
            "reason": self.redactor.redact_text(rejected_line.reason),
            "line": rejected_line.line,
        }

    def forget_offset(self, path: str) -> None:
        """Delete the offset of a removed spool file."""
        with self.writing() as connection:
            connection.execute(sa.delete(schema.offsets).where(schema.offsets.c.path == path))

    def horizon(self) -> tuple[int, int] | None:
        """Return the time before which sources were deleted, and when; None if none were."""
        stored = self.value(_meta(_HORIZON))
        return (int(stored.split()[0]), int(stored.split()[1])) if stored else None

    def set_horizon(self, connection: sa.Connection, cutoff: int) -> None:
        """Store, in the caller's transaction, that sources before a time were deleted now."""
        _set_meta(connection, _HORIZON, f"{cutoff} {time.time_ns() // 1_000}")

    def pruned_until(self) -> int:
        """Return the time (microseconds) before which events were deleted; 0 if none were."""
        return int(self.value(_meta(_PRUNED)) or 0)

    def set_pruned_until(self, connection: sa.Connection, time: int) -> None:
        """Store the time before which events are deleted, in the caller's transaction."""
        stored = connection.execute(_meta(_PRUNED)).scalar()
        _set_meta(connection, _PRUNED, str(max(time, int(stored or 0))))

    def _save_offsets(self, connection: sa.Connection, offsets: Sequence[Offset]) -> None:
        """Replace the stored offsets of spool files, in the caller's transaction."""
        table = schema.offsets
        for offset in offsets:
            connection.execute(sa.delete(table).where(table.c.path == offset.path))
            row = {c.name: getattr(offset, c.name) for c in table.columns}
            connection.execute(sa.insert(table).values(row))


def _meta(key: str) -> sa.Select[Any]:
    return sa.select(schema.meta.c.value).where(schema.meta.c.key == key)


def _set_meta(connection: sa.Connection, key: str, value: str) -> None:
    connection.execute(sa.delete(schema.meta).where(schema.meta.c.key == key))
    connection.execute(sa.insert(schema.meta).values(key=key, value=value))


def _row(entry: Entry, now: int) -> dict[str, object]:
    """Return the row of an event; `now` is the time of arrival in microseconds."""
    return {
        "hash": entry.hash,
        "kind": schema.ALIAS if isinstance(entry.event, AliasEvent) else schema.OPENLINEAGE,
        "event_time": entry.event.time,
        "received_at": now,
        "body": entry.body,
    }
