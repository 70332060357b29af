"""Schemas of datasets at past moments, from the runs of the present state.

The state keeps the newest schema of a dataset, and the schema that each run reported. The newest
schema at a moment is therefore that of the newest run before it, unless a run was open then.
"""

from __future__ import annotations

from collections.abc import Iterator

from headwater import deadline
from headwater.events.facets import Schema
from headwater.identity import DatasetName
from headwater.kept import LastUpdate, kept
from headwater.projection import State
from headwater.projection.derived import records_of
from headwater.projection.facet_books import Stamp, pack
from headwater.projection.state import DatasetRecord

NO_SCHEMA = pack({})
Reported = tuple[Stamp, bytes]
"""A packed schema, with the stamp of the event that reported it."""


class Schemas:
    """The datasets whose schema may differ between two moments, updated after events."""

    def __init__(self, state: State) -> None:
        """Start without datasets; `update` checks them."""
        self._state = state
        self._various: set[DatasetName] = set()
        self._late: dict[DatasetName, float] = {}
        """The times at which a schema became known, if a run used the dataset before."""
        self._skipped: set[DatasetName] = set()
        """The outputs of runs that Airflow skipped, which are not among the writers."""
        self._waiting: dict[DatasetName, None] = {}
        self._last = LastUpdate(state)

    def update(self) -> None:
        """Check the datasets that are new or that events concern; a deadline may interrupt it."""
        state = self._state
        if self._last.is_needed:
            changes = self._last.changes(of_edges=True)
            if changes is None:
                self._various.clear()
                self._late.clear()
                self._waiting = dict.fromkeys(state.datasets)
                self._skipped.clear()
                runs = iter(state.runs.values())
            else:
                self._waiting |= dict.fromkeys(changes.names)
                keys = (key for ref in changes.jobs for key in state.jobs[ref].runs)
                runs = map(state.runs.__getitem__, keys)
            for run in runs:
                if run.is_skipped:
                    self._skipped |= run.reported_outputs.keys()
                    self._waiting |= dict.fromkeys(run.reported_outputs)
            self._last.finish()
        for name in deadline.watched(list(self._waiting)):
            self._check(name)
            del self._waiting[name]

    def _check(self, name: DatasetName) -> None:
        self._various.discard(name)
        self._late.pop(name, None)
        records = records_of(self._state, name)
        values = {packed for record in records for packed in self._packed(record)}
        is_stated = any(r.facets_without_run or r.name in self._skipped for r in records)
        if is_stated or len(values - {NO_SCHEMA}) > 1:
            self._various.add(name)
        elif len(values) > 1:
            runs = [found for record in records for found in _by_runs(self._state, record)]
            since = min(last for _, last, schema in runs if schema is not None)
            if since > min(last for _, last, _ in runs):
                self._late[name] = since

    def _packed(self, record: DatasetRecord) -> Iterator[bytes]:
        """Yield the packed schema that each run reported; NO_SCHEMA for one without."""
        runs, name = self._state.runs, record.name
        for key in record.writers:
            if use := runs[key].reported_outputs.get(name):
                yield use.dataset_facets.packed(Schema.KEY)
        for key in record.readers:
            if use := runs[key].inputs.get(name):
                yield use.dataset_facets.packed(Schema.KEY)

    def differing(self, time: float) -> Iterator[DatasetName]:
        """Yield the names of datasets whose schema may have changed since a time (microseconds)."""
        yield from self._various
        yield from (name for name, since in self._late.items() if since > time)

    def at(self, name: DatasetName, time: float) -> bytes | None:
        """Return the newest packed schema of a dataset at a moment (microseconds).

        Return None if only the events show it: a run that reported one was open then, or Airflow
        skipped a run that reported one.
        """
        found: Reported | None = None
        for record in records_of(self._state, name):
            if record.name in self._skipped:
                return None
            reported = list(_without_run(record))
            for first, last, schema in _by_runs(self._state, record):
                if first <= time < last and schema is not None:
                    return None
                if last <= time and schema is not None:
                    reported.append(schema)
            for stamp, packed in reported:
                if stamp.time <= time and (found is None or stamp > found[0]):
                    found = stamp, packed
        return found[1] if found else NO_SCHEMA


def schemas_of(state: State) -> Schemas:
    """Return the datasets whose schemas may differ, up to the newest event of a state."""
    schemas = kept(state, Schemas)
    schemas.update()
    return schemas


def _by_runs(state: State, record: DatasetRecord) -> Iterator[tuple[int, int, Reported | None]]:
    """Yield the first and last event of each run that used a dataset, and the schema it reported.

    Writers come first: of two schemas of one event, that of the output counts.
    """
    for keys, is_written in ((record.writers, True), (record.readers, False)):
        for key in keys:
            run = state.runs[key]
            use = (run.reported_outputs if is_written else run.inputs).get(record.name)
            if use is not None and run.first is not None and run.last is not None:
                yield run.first, run.last, use.dataset_facets.stamped().get(Schema.KEY)


def _without_run(record: DatasetRecord) -> Iterator[Reported]:
    """Yield the schemas that JobEvents and DatasetEvents reported."""
    for stamp, facets in (record.facets_without_run or {}).items():
        if Schema.KEY in facets:
            yield stamp, pack(facets[Schema.KEY])
