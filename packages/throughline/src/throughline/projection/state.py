"""What is known, in values that only grow: sets, minima, maxima, and registers.

A register holds a value with the stamp (event time, event hash) of the event that said it, and the
greatest stamp wins. Sets, minima, maxima and registers can be filled in any order, with any event
repeated, and come out equal: rule 2 holds by construction. Nothing here is joined by dataset
identity; records are kept under each name and joined when they are read, so that a symlink that
comes late changes no record. There is no empty set of what most jobs and datasets have none of: it
would take a tenth of the memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from throughline.identity import DatasetName, Identity
from throughline.projection.facets import FacetBook, Stamp
from throughline.spec import EventType, Facets, JobRef


class RunKey(NamedTuple):
    """The identity of a run; some producers use one run id for several jobs, hence the job."""

    run_id: str
    job: JobRef


class Dependency(NamedTuple):
    """One end of a control edge, as the jobDependencies facet names it."""

    job: JobRef
    run_id: str | None


Pair = tuple[DatasetName, DatasetName]
"""Two names joined by hand, the lesser first."""


@dataclass(slots=True)
class Use:
    """A dataset as an input or output of one run."""

    facets: FacetBook = field(default_factory=FacetBook)
    version: tuple[Stamp, str] | None = None
    about: FacetBook = field(default_factory=FacetBook)  # what this run said of the dataset itself


@dataclass(slots=True)
class Run:
    """A run; one without `first` is known only because another run names it."""

    key: RunKey
    first: int | None = None
    last: int | None = None
    started: int | None = None
    is_running: bool = False
    end: tuple[Stamp, EventType] | None = None
    parent: tuple[Stamp, RunKey] | None = None
    hint: tuple[Stamp, RunKey] | None = None  # the root that a child names: perhaps the parent
    children: set[RunKey] | None = None  # whoever named it; the reader filters
    upstream: set[Dependency] | None = None
    downstream: set[Dependency] | None = None
    facets: FacetBook = field(default_factory=FacetBook)
    code: FacetBook = field(default_factory=FacetBook)  # the job's code as this run was of it
    inputs: dict[DatasetName, Use] = field(default_factory=dict)
    outputs: dict[DatasetName, Use] = field(default_factory=dict)
    lineage: set[bytes] | None = None  # explicit lineage facets, packed; their entries are united
    in_columns: set[DatasetName] | None = field(default=None, compare=False)
    """Datasets that perhaps only the column lineage of its outputs names: where to look for them,
    and no more, as the order of events decides."""

    @property
    def is_known(self) -> bool:
        """Whether the run has sent an event of its own."""
        return self.first is not None

    @property
    def has_data(self) -> bool:
        """True if the run read or wrote something, or states lineage."""
        return bool(self.inputs or self.outputs or self.lineage)


@dataclass(slots=True)
class Declared:
    """The inputs and outputs of the newest JobEvent."""

    stamp: Stamp
    inputs: frozenset[DatasetName]
    outputs: frozenset[DatasetName]
    lineage: bytes | None = None  # its explicit lineage facet, packed


@dataclass(slots=True)
class Job:
    """A job; one without `first` is known only as the parent of another."""

    ref: JobRef
    first: int | None = None
    last: int | None = None
    facets: FacetBook = field(default_factory=FacetBook)
    runs: set[RunKey] = field(default_factory=set)
    declared: Declared | None = None
    parents: set[JobRef] = field(default_factory=set)
    hints: set[JobRef] | None = None
    children: set[JobRef] | None = None
    stated_by: set[JobRef] | None = None  # jobs whose explicit lineage has an entry for this one


@dataclass(slots=True)
class DatasetRecord:
    """What was said about a dataset under one of its names."""

    name: DatasetName
    first: int
    last: int
    facets: FacetBook = field(default_factory=FacetBook)
    readers: set[RunKey] = field(default_factory=set)
    writers: set[RunKey] = field(default_factory=set)
    declaring: set[JobRef] | None = None
    told: dict[Stamp, Facets] | None = None  # without a run: schema, dataQuality
    derivation: tuple[Stamp, bytes] | None = None  # the lineage facet of a DatasetEvent, packed


@dataclass(slots=True)
class State:
    """Everything that the events say."""

    jobs: dict[JobRef, Job] = field(default_factory=dict)
    runs: dict[RunKey, Run] = field(default_factory=dict)
    runs_by_id: dict[str, tuple[RunKey, ...]] = field(default_factory=dict)
    datasets: dict[DatasetName, DatasetRecord] = field(default_factory=dict)
    in_columns: dict[DatasetName, set[RunKey]] = field(default_factory=dict, compare=False)
    handoffs: dict[JobRef, set[JobRef]] = field(default_factory=dict)
    """Jobs that pass data on without a dataset, with those whose facets say so; only candidates."""
    derived_from: dict[DatasetName, set[DatasetName]] = field(default_factory=dict)
    """Datasets from which others are derived without a job; only candidates."""
    namespaces: dict[str, tuple[int, int]] = field(default_factory=dict)
    identity: Identity = field(default_factory=Identity)
    now: int = 0  # when it is looked at, in microseconds
    aliases: dict[Pair, tuple[Stamp, bool]] = field(default_factory=dict)  # whether still joined
    is_past: bool = False  # it is as of a moment: what it lacks may be there now
    silent_before: int = 0  # an open run of which nothing was heard since (microseconds) is lost
    revision: int = 0  # grows with every event applied; caches key on it
    derived: dict[Any, Any] = field(default_factory=dict, compare=False)  # until the next event
    generations: Any = field(default=None, compare=False)  # what throughline.graph makes of it
    touched: set[RunKey] = field(
        default_factory=set, compare=False
    )  # by events since somebody emptied it
    unreadable: dict[int, str] = field(default_factory=dict, compare=False)
    """Damaged rows of the log by `seq`, with the reasons; they are not part of the state."""
    moves: int = field(
        default=0, compare=False
    )  # how often an event changed the place of what was known before

    @property
    def shape(self) -> tuple[int, int]:
        """Equal as long as no event moved a known run, changed a job's level or joined names."""
        return self.moves, self.identity.changes
