"""Look up events of the log: the latest, those with a text, and those with a `seq` or a hash.

`seq` is the number that the log gives an event on arrival. A body is the stored JSON text of an
event; its size is the number of characters. Bodies are read in portions, so that little memory is
used; an event that was deleted meanwhile is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import sqlalchemy as sa

from headwater.log import schema
from headwater.log.store import EventLog

_MOST_CHARACTERS = 1_000_000
SIZE = sa.func.length(schema.events.c.body).label("size")


def latest(log: EventLog, before: int | None, limit: int) -> Iterator[tuple[int, str]]:
    """Yield the latest (seq, body), before a `seq` if given, newest first."""
    table = schema.events
    query = sa.select(table.c.seq, SIZE).where(table.c.kind == schema.OPENLINEAGE)
    if before is not None:
        query = query.where(table.c.seq < before)
    rows = log.fetch(query.order_by(table.c.seq.desc()).limit(limit))
    return bodies(log, ((row.seq, row.size) for row in rows))


def containing(
    log: EventLog, text: str, span: tuple[int, int], after: tuple[int, int], limit: int
) -> Iterator[tuple[int, int, str]]:
    """Yield the (event time, seq, body) of events that contain a text, ignoring case.

    They are ordered by event time and seq. `span` is the first and the last event time
    (microseconds), `after` the event time and seq after which to start.

    At most `limit` events are found. The text is compared with the stored JSON, so callers check
    the event. Bodies are read in portions while the result is iterated.
    """
    table = schema.events
    place = sa.tuple_(table.c.event_time, table.c.seq)
    query = (
        sa.select(table.c.event_time, table.c.seq, SIZE)
        .where(
            table.c.kind == schema.OPENLINEAGE,
            table.c.event_time.between(*span),
            place > sa.tuple_(*after),
            table.c.body.icontains(text, autoescape=True),
        )
        .order_by(table.c.event_time, table.c.seq)
        .limit(limit)
    )
    rows = log.fetch(query)
    times = {row.seq: row.event_time for row in rows}
    found = bodies(log, ((row.seq, row.size) for row in rows))
    return ((times[seq], seq, body) for seq, body in found)


def bodies(log: EventLog, sizes: Iterable[tuple[int, int]]) -> Iterator[tuple[int, str]]:
    """Yield the (seq, body) of events by their `seq` and size, without deleted ones.

    About a million characters are in memory, or one event.
    """
    table = schema.events
    for seqs in _portions(sizes):
        query = sa.select(table.c.seq, table.c.body).where(table.c.seq.in_(seqs))
        body_of = {row.seq: row.body for row in log.fetch(query)}
        yield from ((seq, body_of.pop(seq)) for seq in seqs if seq in body_of)


def behind(log: EventLog, seq: int) -> tuple[int, int]:
    """Return the arrival of the last event up to `seq`, and the number of later events.

    The arrival is in microseconds, 0 if there is no event.
    """
    table = schema.events
    last = sa.select(table.c.received_at).where(table.c.seq <= seq)
    received_at = log.value(last.order_by(table.c.seq.desc()).limit(1)) or 0
    later = sa.select(sa.func.count()).select_from(table).where(table.c.seq > seq)
    return received_at, log.value(later)


def seq_of(log: EventLog, hash_: str) -> int | None:
    """Return the `seq` of an event by its hash; None if it is not in the log."""
    table = schema.events
    seq: int | None = log.value(sa.select(table.c.seq).where(table.c.hash == hash_))
    return seq


def _portions(sizes: Iterable[tuple[int, int]]) -> Iterator[list[int]]:
    """Divide events, given by `seq` and size, into portions of limited size, as lists of `seq`.

    A portion has at most a million characters, or one larger event.
    """
    portion: list[int] = []
    left = _MOST_CHARACTERS
    for seq, size in sizes:
        if portion and size > left:
            yield portion
            portion, left = [], _MOST_CHARACTERS
        portion.append(seq)
        left -= size
    if portion:
        yield portion
