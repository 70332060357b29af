"""Snapshots of the projection in the log's database; they may be deleted at any time.

`seq` is the number of the last event in a snapshot. The format is a digest of the code that wrote
it: only the same code can read it. Large data is stored in several rows (`part`).
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, func, insert, select

from headwater.log import schema
from headwater.log.store import EventLog

_PART = 8 * 2**20  # bytes: far below what a database takes as one value
_MOST_SNAPSHOTS = 10


class Snapshots:
    """The snapshots of one log."""

    def __init__(self, log: EventLog) -> None:
        self._log = log

    def newest(self, as_of: int | None = None, known_at: int | None = None) -> tuple[int, str]:
        """Return the last `seq` of the newest snapshot and its format; (0, "") if there is none.

        It contains no event after `as_of` by event time or after `known_at` by arrival.
        """
        table = schema.snapshots
        query = select(table.c.seq, table.c.format).order_by(table.c.seq.desc()).limit(1)
        if as_of is not None:
            query = query.where(table.c.event_time <= as_of)
        if known_at is not None:
            query = query.where(table.c.received_at <= known_at)
        rows = self._log.fetch(query)
        return (rows[0].seq, rows[0].format) if rows else (0, "")

    def data(self, seq: int) -> bytes:
        """Return the data of the snapshot up to `seq`."""
        table = schema.snapshots
        query = select(table.c.data).where(table.c.seq == seq).order_by(table.c.part)
        return b"".join(row.data for row in self._log.fetch(query))

    def add(self, seq: int, format_: str, data: bytes) -> None:
        """Store the snapshot up to `seq` in one transaction.

        Delete those of other formats, and one of this format if there are too many.
        """
        table = schema.snapshots
        event_time, received_at = self._latest_times(seq)
        row = {"seq": seq, "format": format_, "event_time": event_time, "received_at": received_at}
        parts = [data[start : start + _PART] for start in range(0, len(data), _PART)]
        rows = [{**row, "part": part, "data": content} for part, content in enumerate(parts)]
        with self._log.writing() as connection:
            is_same_format = table.c.format == format_
            existing = set(connection.execute(select(table.c.seq).where(is_same_format)).scalars())
            deleted = {seq, *_superfluous(sorted({*existing, seq}, reverse=True))}
            connection.execute(delete(table).where(~is_same_format | table.c.seq.in_(deleted)))
            connection.execute(insert(table), rows)

    def clear(self) -> None:
        """Delete all snapshots, including those of other formats."""
        with self._log.writing() as connection:
            connection.execute(delete(schema.snapshots))

    def _latest_times(self, seq: int) -> tuple[int, int]:
        """Return the greatest event time and arrival up to `seq`, starting at a snapshot.

        Only events after the newest snapshot up to `seq` are read; (0, 0) without events.
        """
        snapshots, events = schema.snapshots, schema.events
        before = select(snapshots.c.seq, snapshots.c.event_time, snapshots.c.received_at)
        before = before.where(snapshots.c.seq <= seq).order_by(snapshots.c.seq.desc()).limit(1)
        times = select(func.max(events.c.event_time), func.max(events.c.received_at))
        last_seq, *greatest = next(iter(self._log.fetch(before)), (0, 0, 0))
        (found,) = self._log.fetch(times.where(events.c.seq > last_seq, events.c.seq <= seq))
        event_time, received_at = (max(a, b or 0) for a, b in zip(greatest, found, strict=True))
        return event_time, received_at


def _superfluous(seqs: Sequence[int]) -> list[int]:
    """Return the least useful snapshot if there are too many; `seqs` is newest first.

    A start needs the newest snapshot. A query about the past needs one shortly before its time;
    because most queries are about recent times, "shortly" is relative to the age. Therefore, the
    snapshot is deleted whose neighbors are closest relative to its distance from the newest. The
    distances between the remaining ones double, for a log of any length, and the oldest one stays.
    """
    if len(seqs) <= _MOST_SNAPSHOTS:
        return []
    middle = range(1, len(seqs) - 1)
    least = min(middle, key=lambda i: (seqs[i - 1] - seqs[i + 1]) / (seqs[0] - seqs[i]))
    return [seqs[least]]
