"""Models of the answers about the server itself: health, events, rejected lines and keys."""

from __future__ import annotations

from typing import Any, NotRequired

from headwater.query.models import Answer, Json


class SpoolHealth(Answer):
    """State of the spool."""

    lagBytes: int
    """Unread bytes."""
    unendedBytes: int
    """Unread bytes in lines without an end."""
    stuckFiles: int
    """Files that cannot be read."""


class Healthz(Answer):
    """State of the server."""

    status: str
    """`ok` or `degraded`."""
    jobs: int
    runs: int
    datasets: int
    damagedRows: int
    spool: NotRequired[SpoolHealth]


class RejectedLine(Answer):
    """A line of a spool file that was rejected."""

    source: str
    reason: str
    line: str


class StuckFile(Answer):
    """A spool file that cannot be read."""

    file: str
    reason: str


class EventWarning(Answer):
    """Something in an event that OpenLineage specifies otherwise."""

    path: str
    received: str
    expected: str


class EventInfo(Answer):
    """An event with its warnings."""

    hash: str
    eventType: Any
    eventTime: Any
    producer: Any
    run: NotRequired[Json]
    job: NotRequired[Json]
    dataset: NotRequired[Json]
    warnings: list[EventWarning]


class NewKeyInfo(Answer):
    """A new key; its text is not stored and cannot be shown again."""

    name: str
    key: str


class Error(Answer):
    """An error; the optional fields depend on its kind."""

    code: int
    message: str
    nearest: NotRequired[list[str]]
    """Similar names."""
    errors: NotRequired[list[Any]]
    path: NotRequired[str]
    received: NotRequired[str]
    expected: NotRequired[str]
