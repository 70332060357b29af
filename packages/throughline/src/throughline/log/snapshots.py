"""Snapshots of what the log comes to, kept in its own database; they may be dropped at any time."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, func, insert, select

from throughline.log import schema
from throughline.log.store import EventLog

_PART = 8 * 2**20  # bytes: far below what a database takes as one value
_KEPT = 10


class Snapshots:
    """The snapshots of one log."""

    def __init__(self, log: EventLog) -> None:
        self._log = log

    def newest(self, as_of: int | None = None, known_at: int | None = None) -> tuple[int, str]:
        """The `seq` that the newest one reaches, and its format; (0, "") if there is none.

        Only one that holds nothing later than `as_of` by the events' own times, or than `known_at`
        by their arrival.
        """
        table = schema.snapshots
        query = select(table.c.seq, table.c.format).order_by(table.c.seq.desc()).limit(1)
        if as_of is not None:
            query = query.where(table.c.event_time <= as_of)
        if known_at is not None:
            query = query.where(table.c.received_at <= known_at)
        with self._log.reading() as connection:
            row = connection.execute(query).first()
        return (row.seq, row.format) if row else (0, "")

    def data(self, seq: int) -> bytes:
        """What is held of the one that reaches `seq`."""
        table = schema.snapshots
        query = select(table.c.data).where(table.c.seq == seq).order_by(table.c.part)
        with self._log.reading() as connection:
            return b"".join(connection.execute(query).scalars())

    def add(self, seq: int, format_: str, data: bytes) -> None:
        """Keep what the events up to `seq` come to, all of it or nothing.

        Those of other formats go, and one of this format when there are too many.
        """
        table = schema.snapshots
        event_time, received_at = self._latest_times(seq)
        row = {"seq": seq, "format": format_, "event_time": event_time, "received_at": received_at}
        parts = [data[start : start + _PART] for start in range(0, len(data), _PART)]
        rows = [{**row, "part": part, "data": each} for part, each in enumerate(parts)]
        with self._log.writing() as connection:
            ours = table.c.format == format_
            held = set(connection.execute(select(table.c.seq).where(ours)).scalars())
            gone = {seq, *_superfluous(sorted({*held, seq}, reverse=True))}
            connection.execute(delete(table).where(~ours | table.c.seq.in_(gone)))
            connection.execute(insert(table), rows)

    def clear(self) -> None:
        """Drop them all, those of other formats too."""
        with self._log.writing() as connection:
            connection.execute(delete(schema.snapshots))

    def _latest_times(self, seq: int) -> tuple[int, int]:
        """The greatest event time and arrival up to `seq`, counted on from an earlier snapshot."""
        held, events = schema.snapshots, schema.events
        before = select(held.c.seq, held.c.event_time, held.c.received_at)
        before = before.where(held.c.seq <= seq).order_by(held.c.seq.desc()).limit(1)
        times = select(func.max(events.c.event_time), func.max(events.c.received_at))
        with self._log.reading() as connection:
            since, *greatest = connection.execute(before).one_or_none() or (0, 0, 0)
            after = times.where(events.c.seq > since, events.c.seq <= seq)
            found = connection.execute(after).one()
        event_time, received_at = (max(a, b or 0) for a, b in zip(greatest, found, strict=True))
        return event_time, received_at


def _superfluous(seqs: Sequence[int]) -> list[int]:
    """Which of too many, the newest first, is missed least.

    A start wants the newest, a question about the past one that is little older than its moment:
    little as compared to how far back that is, since most ask for yesterday and few for last year.
    So the one goes whose neighbours are nearest to each other for its distance. What is left lies
    at distances that double, over a log of any length, and the oldest stays.
    """
    if len(seqs) <= _KEPT:
        return []
    middle = range(1, len(seqs) - 1)
    least = min(middle, key=lambda i: (seqs[i - 1] - seqs[i + 1]) / (seqs[0] - seqs[i]))
    return [seqs[least]]
