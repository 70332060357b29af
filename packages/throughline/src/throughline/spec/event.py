"""OpenLineage events as frozen values; facets stay the dicts that they were."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

Facets = dict[str, dict[str, Any]]


class EventType(StrEnum):
    """What an event says about its run."""

    START = "START"
    RUNNING = "RUNNING"
    COMPLETE = "COMPLETE"
    FAIL = "FAIL"
    ABORT = "ABORT"
    OTHER = "OTHER"

    @property
    def is_end(self) -> bool:
        """Whether a run is over after this event."""
        return self in (EventType.COMPLETE, EventType.FAIL, EventType.ABORT)


class JobRef(NamedTuple):
    """The identity of a job."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset as one event names it."""

    namespace: str
    name: str
    facets: Facets = field(default_factory=dict)
    io_facets: Facets = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunEvent:
    """Something happened to a run."""

    time: int
    hash: str
    type: EventType
    run_id: str
    run_facets: Facets
    job: JobRef
    job_facets: Facets
    inputs: tuple[Dataset, ...]
    outputs: tuple[Dataset, ...]


@dataclass(frozen=True, slots=True)
class JobEvent:
    """A job is declared apart from any run."""

    time: int
    hash: str
    job: JobRef
    job_facets: Facets
    inputs: tuple[Dataset, ...]
    outputs: tuple[Dataset, ...]


@dataclass(frozen=True, slots=True)
class DatasetEvent:
    """A dataset is described apart from any job."""

    time: int
    hash: str
    dataset: Dataset


@dataclass(frozen=True, slots=True)
class AliasEvent:
    """Somebody says that two names mean one dataset, or no longer says so."""

    time: int
    hash: str
    names: tuple[tuple[str, str], tuple[str, str]]  # (namespace, name) of each
    is_removed: bool


Event = RunEvent | JobEvent | DatasetEvent
"""What OpenLineage knows."""

Logged = Event | AliasEvent
"""What the log knows."""
