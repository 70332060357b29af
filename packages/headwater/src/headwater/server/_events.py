"""Send stored events in portions, so that a response of any size needs little memory.

`seq` is the number that the log gives an event on arrival.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import sqlalchemy as sa

from headwater.errors import EventError
from headwater.events import load
from headwater.log import EventLog, schema
from headwater.log.reading import SIZE, bodies
from headwater.query.models import Json

Span = tuple[int | None, int | None]
"""The first event time and the one before which events end, in microseconds."""


def events_json(
    log: EventLog, limit: int, offset: int, span: Span, *, ascending: bool
) -> Iterator[bytes]:
    """Return the JSON of a page of events by event time, in portions, with their total number.

    The number and the order of the events are read first. Raises LogError.

    `span` limits the event times, None for no limit on that side. `ascending` is False for the
    newest first. The endpoint streams the portions, so an error after the first one cuts the
    response off.
    """
    table = schema.events
    order = (table.c.event_time, table.c.seq)
    since, until = span
    bounds = [table.c.kind == schema.OPENLINEAGE]
    bounds += [table.c.event_time >= since] if since is not None else []
    bounds += [table.c.event_time < until] if until is not None else []
    total = log.value(sa.select(sa.func.count()).select_from(table).where(*bounds))
    query = sa.select(table.c.seq, SIZE).where(*bounds)
    query = query.order_by(*(c if ascending else c.desc() for c in order))
    rows = log.fetch(query.limit(limit).offset(offset))
    return _portions(log, total, [(row.seq, row.size) for row in rows])


def loaded(text: str) -> Json | None:
    """Return the body of an event; None for a damaged row, which `doctor` reports."""
    with suppress(EventError):
        body = load(text)
        return body if isinstance(body, dict) else None
    return None


def _portions(log: EventLog, total: int, sizes: list[tuple[int, int]]) -> Iterator[bytes]:
    """Yield the JSON of the page in portions. `sizes` are the `seq` and the size of each event."""
    yield b'{"totalCount":%d,"events":[' % total
    comma = b""
    for _, text in bodies(log, sizes):
        if loaded(text) is not None:
            yield comma + text.encode()
            comma = b","
    yield b"]}"
