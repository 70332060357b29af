"""Store events in a log or on a server."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import AnyStr

import orjson

from headwater.collect.event_warnings import EventWarning, event_warnings
from headwater.collect.lines import Lines
from headwater.console.source import request
from headwater.log import Entry, EventLog
from headwater.projection.live import Batch, Live
from headwater.settings import Settings

Store = Callable[[Lines], tuple[int, int]]
"""Stores the events of lines; returns the numbers of stored events and of duplicates."""

_LARGEST_ARRAY = 8 * 1024 * 1024  # characters
_MAX_EVENTS = 1_000  # of an array


@contextmanager
def opened_store(settings: Settings, *, is_local: bool) -> Iterator[Store]:
    """Open the log of the settings, or their server, for storing events.

    Raises ConfigError or LogError if the log cannot be opened; the server is contacted with the
    first events.
    """
    if not is_local:
        yield partial(_send, settings)
        return
    with closing(EventLog.of(settings)) as log:
        yield partial(_append, Live(log))


def _append(live: Live, lines: Lines) -> tuple[int, int]:
    receipt = live.ingest(Batch(lines.entries, lines.rejected_lines))
    return receipt.stored, receipt.duplicates


def _send(settings: Settings, lines: Lines) -> tuple[int, int]:
    """Post the events of lines to a server in arrays of limited size. Rejected lines stay here."""
    stored = duplicates = 0
    bodies_read = (entry.body for entry in lines.entries)
    for bodies in portions(bodies_read, _MAX_EVENTS, _LARGEST_ARRAY):
        answer = request(settings, "/api/v1/lineage", f"[{','.join(bodies)}]".encode())
        stored += answer["stored"]
        duplicates += answer["duplicates"]
    return stored, duplicates


def first_warnings(entries: Iterable[Entry]) -> list[EventWarning]:
    """Return the first warning of each event that has one."""
    warnings = (next(event_warnings(orjson.loads(entry.body)), None) for entry in entries)
    return [warning for warning in warnings if warning is not None]


def portions(bodies: Iterable[AnyStr], most: int, largest: int) -> Iterator[list[AnyStr]]:
    """Yield lists of at most `most` bodies and the length `largest`, or of one longer body.

    `most` is the number of bodies, and `largest` the sum of their lengths.
    """
    portion: list[AnyStr] = []
    size = 0
    for body in bodies:
        if portion and (size + len(body) > largest or len(portion) == most):
            yield portion
            portion, size = [], 0
        portion.append(body)
        size += len(body)
    if portion:
        yield portion
