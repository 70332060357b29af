"""OpenLineage events as immutable values; facets stay plain dicts."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, NamedTuple

Json = dict[str, Any]
"""JSON of a producer, as received."""

Facets = dict[str, Json]

Relation = Literal["same", "different", "rule", "reported"]
"""What holds for two names: a user's statement, or else what producers reported."""


class EventType(StrEnum):
    """The type of a run event."""

    START = "START"
    RUNNING = "RUNNING"
    COMPLETE = "COMPLETE"
    FAIL = "FAIL"
    ABORT = "ABORT"
    OTHER = "OTHER"

    @property
    def is_end(self) -> bool:
        """True for the types that end a run."""
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
    """A state change of a run, with its job, inputs and outputs."""

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
    """A job reported without a run."""

    time: int
    hash: str
    job: JobRef
    job_facets: Facets
    inputs: tuple[Dataset, ...]
    outputs: tuple[Dataset, ...]


@dataclass(frozen=True, slots=True)
class DatasetEvent:
    """A dataset reported without a job."""

    time: int
    hash: str
    dataset: Dataset


@dataclass(frozen=True, slots=True)
class AliasEvent:
    """A user's statement about two names: one dataset, two datasets, or no statement any more."""

    time: int
    hash: str
    names: tuple[tuple[str, str], tuple[str, str]]  # two (namespace, name)
    relation: Relation


Event = RunEvent | JobEvent | DatasetEvent
"""An event of the OpenLineage specification."""

Logged = Event | AliasEvent
"""An event that the log stores."""
