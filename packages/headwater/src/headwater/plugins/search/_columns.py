"""Columns that no schema lists, because only column lineage or a SQL text names them.

They are counted per dataset: by one for each facet or text that names a column, so that a column
disappears with the last one. A record has what was reported about a dataset under one name.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Set
from typing import Any, NamedTuple

from headwater import deadline
from headwater.events import JobRef, Json
from headwater.events.column_lineage import is_name, objects
from headwater.events.facets import Schema, Sql
from headwater.graph.current import once_an_event
from headwater.graph.sql_lineage import sql_lineage
from headwater.identity import DatasetName, canonical_name
from headwater.kept import kept
from headwater.projection import DatasetRecord, Run, State
from headwater.projection.derived import records_of
from headwater.projection.facet_books import FacetBook, unpack
from headwater.runs.summary import newest_run
from headwater.stated_schemas import definitions_of

_SECONDS = 0.2
"""CPU time that a search spends on reading new SQL texts: about 3 ms each, 0.4 ms if stored."""
_DBT_MODEL = "dbt_model"
_LINEAGE = "columnLineage"
Named = tuple[tuple[DatasetName, str], ...]


class NamedColumns:
    """Columns that column lineage or the newest SQL text of a job names, by dataset.

    `update` and `count` apply changes. `read` reads SQL texts, only some of them in each query.

    Pass changes to `update`, call `count` and `read`, and then index the datasets in `changed`
    again.
    """

    def __init__(self, state: State) -> None:
        """Create it without columns; the first `update` must name everything."""
        self._state = state
        self.revision = -1
        """The revision of the last update."""
        self._lineage: dict[DatasetName, bytes] = {}  # of each name, as counted
        self._texts: dict[JobRef, Named] = {}  # of each job, as counted
        self._columns: dict[DatasetName, Counter[str]] = {}
        self._inputs: dict[DatasetName, int] = {}  # what the reading of a text depends on
        self._mentioning: dict[DatasetName, set[JobRef]] = defaultdict(set)
        self.unread: dict[JobRef, None] = {}
        """Jobs whose newest SQL text was not read yet."""
        self.changed: set[DatasetName] = set()
        """Names whose columns changed since the set was last cleared."""
        self._names: dict[DatasetName, None] = {}  # changed, and not yet counted
        self._is_first = True

    @property
    def is_counted(self) -> bool:
        """True if the column lineage of every changed name was counted."""
        return not self._names

    @property
    def is_complete(self) -> bool:
        """True if everything that changed was counted and indexed, apart from SQL texts."""
        return not (self._names or self.changed)

    def of(self, name: DatasetName) -> set[str]:
        """Return the columns of a dataset, given its primary name."""
        identity = self._state.identity
        spelled = (alias for alias in identity.names(name) if identity.primary(alias) == name)
        return {column for alias in spelled for column in self._columns.get(alias, ())}

    def update(self, names: Iterable[DatasetName], jobs: Iterable[JobRef]) -> None:
        """Add changed names of datasets, and jobs with a new newest run or SQL text."""
        self._names |= dict.fromkeys(names)
        for key in self._state.changed_runs.since(self.revision) or ():
            # an end without datasets, too, decides which columns the text of the run states
            self._names |= dict.fromkeys(self._state.runs[key].reported_outputs)
        self.unread |= dict.fromkeys(ref for ref in jobs if self._has_text(ref))
        self.revision = self._state.revision

    def count(self, limit: Callable[[Iterable[Any]], Iterator[Any]] = deadline.watched) -> None:
        """Count the columns in the column lineage of changed names.

        If a deadline or `limit` ends it, the next call continues.

        `limit` yields the names until its time is over.
        """
        state = self._state
        for name in limit(list(self._names)):
            if record := state.datasets.get(name):
                self.changed |= self._take_lineage(record)
            for dataset in state.identity.datasets(name):
                # at first, `update` has added all texts anyway
                if self._are_inputs_changed(dataset) and not self._is_first:
                    self.unread |= dict.fromkeys(self._jobs_naming(dataset))
            del self._names[name]
        self._is_first = self._is_first and bool(self._names)

    def read(self) -> None:
        """Read SQL texts until the time limit of one query.

        The others stay in `unread`. CPU time counts, so that waiting for other threads does not.
        """
        until = time.thread_time() + _SECONDS
        while self.unread and time.thread_time() < until:
            ref = next(reversed(self.unread))  # the first one is slow to find after many deletions
            run = newest_run(self._state, ref) if self._has_text(ref) else None
            found = dict.fromkeys(_named_by(self._state, run)) if run else {}
            self.changed |= self._count(self._texts.get(ref, ()), -1)
            self._texts[ref] = tuple(found)
            self.changed |= self._count(found, 1)
            used = set(run.inputs) | set(run.outputs) if run else set()
            for name, _ in found:  # a run that uses a dataset is found by its record
                if name not in used:
                    self._mentioning[name].add(ref)
            del self.unread[ref]

    def _has_text(self, ref: JobRef) -> bool:
        """Return True if a job has an SQL text, or had one that was counted."""
        job = self._state.jobs.get(ref)
        return ref in self._texts or bool(job and job.facets.get(Sql.KEY))

    def _take_lineage(self, record: DatasetRecord) -> set[DatasetName]:
        """Count the column lineage of a record; return the datasets whose columns changed."""
        before = self._lineage.get(record.name, b"{}")
        packed = record.facets.packed(_LINEAGE)
        if packed == before:
            return set()
        self._lineage[record.name] = packed
        return self._count(_sources(before), -1) | self._count(_sources(packed), 1)

    def _count(self, named: Iterable[tuple[DatasetName, str]], by: int) -> set[DatasetName]:
        """Add `by` to the count of each column, and return the datasets whose columns changed.

        `named` has datasets, each with a column. `by` is 1 to add a source of them, -1 to remove
        one.
        """
        changed: set[DatasetName] = set()
        for name, column in named:
            counter = self._columns.setdefault(name, Counter())
            before = counter[column]
            counter[column] += by
            if not counter[column]:
                del counter[column]
            if not (before and counter[column]):
                changed.add(name)
        return changed

    def _are_inputs_changed(self, dataset: DatasetName) -> bool:
        """Return True if the names, the schema, the kind or the definitions of a dataset changed.

        How the texts that use it are read depends on these. The first call is a change.
        """
        records = records_of(self._state, dataset)
        facets = [
            record.facets.packed(key) for record in records for key in (Schema.KEY, _DBT_MODEL)
        ]
        stated = definitions_of(self._state, dataset)
        inputs = hash((*self._state.identity.names(dataset), *facets, stated))
        before = self._inputs.get(dataset)
        self._inputs[dataset] = inputs
        return inputs != before

    def _jobs_naming(self, dataset: DatasetName) -> Iterator[JobRef]:
        """Yield the jobs whose text may use a dataset."""
        for name in self._state.identity.names(dataset):
            yield from self._mentioning.get(name, ())
            if record := self._state.datasets.get(name):
                for key in (*record.readers, *record.writers):
                    if self._has_text(key.job):
                        yield key.job


def columns_named(state: State, dataset: DatasetName) -> Set[str]:
    """Return the columns of a dataset that column lineage or the SQL text of a job names.

    With an index, columns that only unread texts name are missing.
    """
    named = kept(state, NamedColumns)
    if named.revision == state.revision:
        return named.of(dataset)
    return _all_named(state).get(dataset, frozenset())


@once_an_event
def _all_named(state: State) -> dict[DatasetName, set[str]]:
    """Return the columns that column lineage and the newest SQL text of each job name."""
    found: dict[DatasetName, set[str]] = defaultdict(set)
    for record in deadline.watched(state.datasets.values()):
        for source, column in _sources(record.facets.packed(_LINEAGE)):
            found[state.identity.primary(source)].add(column)
    for ref, job in deadline.watched(state.jobs.items()):
        run = newest_run(state, ref) if job.facets.get(Sql.KEY) else None
        for name, column in _named_by(state, run) if run else ():
            found[name].add(column)
    return found


def described_columns(book: FacetBook) -> Iterable[str]:
    """Return the columns that the columnLineage facet of a dataset describes."""
    return _Described.of(unpack(book.packed(_LINEAGE))).columns


class _Described(NamedTuple):
    """The names in a columnLineage facet, as `parse_columns` reads them, without its links.

    An index reads the facet of every dataset once, and links take ten times as long to build.

    `inputs` are the lists of input fields, which may have any type.
    """

    columns: list[str]
    inputs: list[Any]  # of each column, and of every row

    @classmethod
    def of(cls, facet: Json) -> _Described:
        """Read the names in a facet of unchecked JSON; parts of a wrong type are ignored."""
        fields = facet.get("fields")
        items = fields.items() if isinstance(fields, dict) else ()
        described = [(str(name), field) for name, field in items if isinstance(field, dict)]
        inputs = [field.get("inputFields") for _, field in described]
        return cls([name for name, _ in described], [*inputs, facet.get("dataset")])


def _sources(packed: bytes) -> Set[tuple[DatasetName, str]]:
    """Return the source columns in a packed facet of column lineage.

    Each is a dataset with the name of a column.
    """
    by_dataset: dict[tuple[str, str], set[str]] = defaultdict(set)
    for inputs in _Described.of(unpack(packed)).inputs:
        for item in objects(inputs):
            namespace, name, field = item.get("namespace"), item.get("name"), item.get("field")
            if is_name(namespace) and is_name(name) and is_name(field):
                by_dataset[namespace, name].add(field)
    return {(canonical_name(*of), field) for of, fields in by_dataset.items() for field in fields}


def _named_by(state: State, run: Run) -> Iterator[tuple[DatasetName, str]]:
    """Yield the columns that the SQL text of a run names.

    Those are the columns that it reads and those that it writes.
    """
    text = sql_lineage(state, run)
    if text is not None:
        yield from text.used
        for target, columns in text.fields.items():
            yield from ((target, column) for column, _ in columns)
