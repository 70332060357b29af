"""Models of answers about the server itself: intake, events, health, rejected lines and keys."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

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


class Events(Answer):
    """One page of events, as received."""

    totalCount: int
    events: list[Json]


class IntakeError(Answer):
    """A rejected event of an array."""

    index: int
    path: str
    received: str
    expected: str


class IntakeSummary(Answer):
    """Counts of the events of an array."""

    stored: int
    duplicates: int
    rejected: int
    unread: int
    errors: list[IntakeError]


class BatchCounts(Answer):
    """Counts of the events of a batch."""

    received: int
    successful: int
    failed: int
    retriable: int
    non_retriable: int


class FailedEvent(Answer):
    """A rejected event of a batch."""

    index: int
    reason: str
    retriable: bool


class BatchResult(Answer):
    """The result of a batch."""

    status: Literal["success", "partial_success", "failure"]
    summary: BatchCounts
    failed_events: list[FailedEvent]


class Error(Answer):
    """An error; the optional fields depend on its kind."""

    code: int
    message: str
    nearest: NotRequired[list[str]]
    """Similar names."""
    ambiguous: NotRequired[str]
    """The requested name, if several nodes have it; their ids are in `nearest`."""
    errors: NotRequired[list[Any]]
    path: NotRequired[str]
    received: NotRequired[str]
    expected: NotRequired[str]
