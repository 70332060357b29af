"""The state, built of values that only grow: sets, minima, maxima, and registers.

A register is a value with the stamp (event time, event hash) of the event that reported it, and the
greatest stamp wins. Sets, minima, maxima and registers are independent of the order and repetition
of events, and so is the whole state. Records are not merged by dataset identity: each name has its
own record, and records are joined when they are read, so a late symlink changes no record. Sets
that are usually empty are None instead, which saves a tenth of the memory.

Times are microseconds: `first` and `last` are those of the first and the last event about
something. A *packed* facet is its JSON in bytes, maybe compressed (facet_books.py). *Candidates*
are found by a key that may be outdated, so that their readers check them again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from headwater.events import EventType, Facets, JobRef, Relation
from headwater.events.facets import Reference
from headwater.identity import DatasetName, Identity
from headwater.projection.facet_books import NO_FACETS, FacetBook, Stamp
from headwater.recent import Changes


class RunKey(NamedTuple):
    """The identity of a run; it includes the job, because some producers share a run id."""

    run_id: str
    job: JobRef


Pair = tuple[DatasetName, DatasetName]
"""Two names joined by an alias, in sorted order."""


class Version(NamedTuple):
    """A version of a dataset that a run reported."""

    stamp: Stamp
    name: str
    io_facets: bytes
    """The packed input or output facets of the newest event that named it."""


class StatedChange(NamedTuple):
    """A change of tables that the SQL text of a completed run states; see `TableChange`."""

    stamp: Stamp
    kind: str
    tables: tuple[tuple[str, ...], ...]


class LifecycleChange(NamedTuple):
    """A change of a dataset as a whole: DROP, TRUNCATE, RENAME, MOVE, CREATE or OVERWRITE.

    RENAME gives another dataset this name, and MOVE gives this dataset another name. A CREATE is
    only recorded if no run reported it, and the OVERWRITE of a run only if it replaced all rows.
    """

    stamp: Stamp
    kind: str
    run: RunKey | None
    other: DatasetName | None  # the former name of a RENAME, or the new name of a MOVE
    is_from_sql: bool = False

    @property
    def removes_rows(self) -> bool:
        """True if earlier rows do not survive."""
        is_replaced = self.kind == "OVERWRITE" and self.run is not None
        return is_replaced or self.kind in ("DROP", "TRUNCATE", "RENAME", "MOVE")


@dataclass(slots=True)
class Use:
    """A dataset as an input or output of one run, under one of its names.

    `io_facets` are about this input or output, such as outputStatistics; `dataset_facets` about the
    dataset itself, such as its schema, as this run reported them.
    """

    io_facets: FacetBook = NO_FACETS
    versions: tuple[Version, ...] = ()
    """The newest reported versions, oldest first: a task may commit to a table repeatedly."""
    dataset_facets: FacetBook = NO_FACETS

    @property
    def version(self) -> str | None:
        """The newest reported version."""
        return self.versions[-1].name if self.versions else None

    @property
    def version_names(self) -> set[str]:
        """The names of the reported versions."""
        return {version.name for version in self.versions}


@dataclass(slots=True)
class Run:
    """A run; one without `first` is only referenced by other runs."""

    key: RunKey
    first: int | None = None
    last: int | None = None
    started: int | None = None
    is_running: bool = False
    end: tuple[Stamp, EventType] | None = None
    parent: tuple[Stamp, RunKey] | None = None
    root_hint: tuple[Stamp, RunKey] | None = None  # the root that a child names
    children: set[RunKey] | None = None  # candidates; filtered when read
    upstream: set[Reference] | None = None  # of the jobDependencies facet, like downstream
    downstream: set[Reference] | None = None
    facets: FacetBook = NO_FACETS
    code: FacetBook = NO_FACETS  # of the job, as this run reported it
    inputs: dict[DatasetName, Use] = field(default_factory=dict)
    reported_outputs: dict[DatasetName, Use] = field(default_factory=dict)
    lineage: set[bytes] | None = None  # packed explicit lineage facets; their entries are merged
    has_completed: bool = False  # True after any COMPLETE; a later event may end it otherwise
    is_skipped: bool = False  # by Airflow, which reports it as completed, or by dbt, as aborted

    @property
    def outputs(self) -> dict[DatasetName, Use]:
        """The outputs by their reported names. A skipped task wrote nothing that it reports."""
        return {} if self.is_skipped else self.reported_outputs

    @property
    def has_events(self) -> bool:
        """True if the run has an event of its own."""
        return self.first is not None

    @property
    def has_data(self) -> bool:
        """True if the run has inputs, outputs or explicit lineage."""
        return bool(self.inputs or self.outputs or self.lineage)


@dataclass(slots=True)
class Declared:
    """The inputs and outputs of the newest JobEvent."""

    stamp: Stamp
    inputs: frozenset[DatasetName]
    outputs: frozenset[DatasetName]
    lineage: bytes | None = None  # packed explicit lineage facet


@dataclass(slots=True)
class Job:
    """A job; one without `first` is only referenced by other jobs."""

    ref: JobRef
    first: int | None = None
    last: int | None = None
    facets: FacetBook = NO_FACETS
    runs: set[RunKey] = field(default_factory=set)
    declared: Declared | None = None
    parents: set[JobRef] = field(default_factory=set)
    root_hints: set[JobRef] | None = None  # jobs of the roots that children name
    children: set[JobRef] | None = None
    stated_by: set[JobRef] | None = None  # jobs whose explicit lineage has an entry for this one


@dataclass(slots=True)
class DatasetRecord:
    """The events about a dataset under one of its names."""

    name: DatasetName
    first: int
    last: int
    facets: FacetBook = NO_FACETS
    readers: set[RunKey] = field(default_factory=set)
    writers: set[RunKey] = field(default_factory=set)
    declaring: set[JobRef] | None = None
    facets_without_run: dict[Stamp, Facets] | None = None  # schema, dataQuality
    derivation: tuple[Stamp, bytes] | None = None  # packed lineage facet of a DatasetEvent
    lifecycle: set[LifecycleChange] | None = None


@dataclass(slots=True)
class State:
    """The projection of a set of events."""

    jobs: dict[JobRef, Job] = field(default_factory=dict)
    runs: dict[RunKey, Run] = field(default_factory=dict)
    runs_by_id: dict[str, tuple[RunKey, ...]] = field(default_factory=dict)
    datasets: dict[DatasetName, DatasetRecord] = field(default_factory=dict)
    handoffs: dict[JobRef, set[JobRef]] = field(default_factory=dict)
    """Jobs that pass data on without a dataset, with those that report it; only candidates."""
    derived_from: dict[DatasetName, set[DatasetName]] = field(default_factory=dict)
    """Datasets from which others are derived without a job. Only candidates."""
    files: dict[DatasetName, set[DatasetName]] = field(default_factory=dict)
    """The names of datasets by the folders that they are in, at any depth. Only candidates."""
    exposed: dict[JobRef, set[DatasetName]] = field(default_factory=dict)
    """Exposures of dbt, with the datasets that feed them. Only candidates."""
    named_by: dict[JobRef, set[JobRef]] = field(default_factory=dict)
    """Jobs that other jobs name in a jobDependencies facet, with these. Only candidates."""
    table_changes: dict[RunKey, StatedChange] = field(default_factory=dict)
    """Changes that only SQL texts state; see headwater.graph.sql_changes."""
    changes_by_table: dict[str, set[RunKey]] = field(default_factory=dict)
    """The runs with these changes, by the last part of each table's name, in lower case."""
    schemas: dict[str, set[tuple[str, str]]] = field(default_factory=dict)
    """By namespace of jobs, the namespaces and schemas (such as `shop.public`) of their tables."""
    has_tags: bool = False
    """True if a dataset ever had a tag."""
    namespaces: dict[str, tuple[int, int]] = field(default_factory=dict)
    identity: Identity = field(default_factory=Identity)
    now: int = 0  # time of the query, in microseconds
    aliases: dict[Pair, tuple[Stamp, Relation]] = field(default_factory=dict)
    """The newest statement of a user about each pair of names."""
    is_past: bool = False  # a state of the past; it may lack later data
    stale_before: int = 0  # open runs without an event since (microseconds) are lost
    revision: int = 0  # number of applied events; a cache key
    derived: dict[Any, Any] = field(default_factory=dict, compare=False)  # until the next event
    generations: Any = field(default=None, compare=False)  # cache of headwater.graph
    kept: dict[Any, Any] = field(default_factory=dict, compare=False)  # also after events
    changed_runs: Changes[RunKey] = field(default_factory=Changes, compare=False)
    changed_jobs: Changes[JobRef] = field(default_factory=Changes, compare=False)
    changed_names: Changes[DatasetName] = field(default_factory=Changes, compare=False)
    renamed: Changes[DatasetName] = field(default_factory=Changes, compare=False)
    """Names whose dataset got a new primary name, and former primary names."""
    placed: Changes[DatasetName] = field(default_factory=Changes, compare=False)
    """New names, names with a first writer, and names of datasets whose names changed."""
    moved: Changes[JobRef] = field(default_factory=Changes, compare=False)
    """Jobs with a new level or relative, or whose runs got a new parent."""
    unreadable: dict[int, str] = field(default_factory=dict, compare=False)
    """Damaged rows of the log by `seq`, with the reasons. They are not part of the state."""
    horizon: tuple[int, int] | None = field(default=None, compare=False)
    """The time before which retention deleted sources of loads, and the time of the deletion."""
    structure_changes: int = field(default=0, compare=False)
    """Number of events that changed edges without a run, or explicit lineage between jobs."""

    @property
    def shape(self) -> tuple[int, int]:
        """A value that changes if an event changes edges without a run or removes an alias."""
        return self.structure_changes, self.identity.rebuilds

    def derivations(self) -> list[tuple[DatasetName, bytes]]:
        """Return the packed facets of the datasets whose sources are stated without a job."""
        found = ((record.name, record.derivation) for record in self.datasets.values())
        return [(name, stated[1]) for name, stated in found if stated is not None]
