"""The parts of two states that may differ, selected with the present state.

Only these parts are compared, so that the cost of a difference depends on the changes in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from headwater import deadline
from headwater.events import EventType, JobRef
from headwater.events.facets import SourceCode, SourceCodeLocation
from headwater.graph import folders
from headwater.graph.current import generations_of
from headwater.graph.placeholders import derivation, derived_dataset
from headwater.identity import DatasetName
from headwater.plugins.changes._steady import Families, Steady, families_of
from headwater.projection import Run, RunKey, State

_CODE = {SourceCodeLocation.KEY, SourceCode.KEY}
_REMOVALS = ("DROP", "MOVE", "RENAME")


@dataclass(slots=True)
class Candidates:
    """The jobs and datasets that may differ between two moments (microseconds)."""

    state: State
    """The present state."""
    begin: float
    end: float
    names: set[DatasetName] = field(default_factory=set)
    """Names of datasets that may have other names or schemas, or may not exist at one moment."""
    jobs: set[JobRef] = field(default_factory=set)
    """Jobs that may have other edges."""
    derived: set[DatasetName] = field(default_factory=set)
    """Datasets that may be derived from others without a job."""

    def add_renamed(self, stated: Iterable[DatasetName]) -> None:
        """Add datasets of which events in between stated names, and those that share their names.

        `stated` are the names that no earlier event stated together.
        """
        state, identity = self.state, self.state.identity
        pairs = (pair for pair, (stamp, _) in state.aliases.items() if stamp.time > self.begin)
        open_ = {*stated, *(name for pair in pairs for name in pair)}
        while open_:
            name = open_.pop()
            if name not in self.names:
                self.names.add(name)
                near = (*identity.datasets(name), *identity.names(name), *identity.anchors(name))
                open_.update(near)

    def add_removed(self) -> None:
        """Add datasets that were ever dropped or renamed: a later write ends a removal."""
        state = self.state
        for record in deadline.watched(state.datasets.values()):
            changes = record.lifecycle or ()
            if any(change.kind in _REMOVALS for change in changes):
                self.names.add(record.name)
                self.names.update(change.other for change in changes if change.other)
            derived = record.derivation
            if derived is not None and derived[0].time > self.begin:
                self.derived.add(state.identity.primary(record.name))
        if state.changes_by_table:
            for name in (*state.datasets, *state.identity):
                if name.name.rpartition(".")[2].lower() in state.changes_by_table:
                    self.names.add(name)

    def add_edges(self) -> None:
        """Add the jobs and derivations that may have other edges, after all datasets were added."""
        self.derived.update(folders.related(self.state, self._placed()))
        families = families_of(self.state)
        for family in families:
            if not (isinstance(family, Steady) and family.has_equal_edges(self.begin, self.end)):
                self.jobs.update(family.jobs)
        for name in list(self.names):
            self._add_users(families, name)

    def _add_users(self, families: Families, name: DatasetName) -> None:
        for ref in users(self.state, name):
            if (derived := derived_dataset(ref)) is not None:
                self.derived.add(derived)
            elif ref not in self.jobs:
                self.jobs.update(family.jobs if (family := families.of(ref)) else (ref,))

    def _placed(self) -> Iterator[DatasetName]:
        """Yield names of files and folders that may not have been written at one moment."""
        state = self.state
        if not state.files:
            return
        yield from self.names
        for name in {*state.files, *(file for files in state.files.values() for file in files)}:
            record = state.datasets.get(name)
            if record is not None and (record.writers or record.declaring):
                runs = map(state.runs.__getitem__, record.writers)
                if not any(run.last is not None and run.last <= self.begin for run in runs):
                    yield name

    def steady_users(self, name: DatasetName) -> set[JobRef]:
        """Return the users of a dataset whose edges are equal at both moments."""
        return users(self.state, name) - self.jobs - {*map(derivation, self.derived)}

    def coded(self) -> Iterator[JobRef]:
        """Yield the jobs whose code events have reported since the earlier moment."""
        for job in self.state.jobs.values():
            if job.last is not None and job.last > self.begin and job.facets.has_any(_CODE):
                stamps = (job.facets.stamp_of(key) for key in _CODE)
                if any(stamp is not None and stamp.time > self.begin for stamp in stamps):
                    yield job.ref

    def ended(self) -> Iterator[Run]:
        """Yield the runs that may have failed in between, with those that were ever below them."""
        state, found = self.state, dict[RunKey, Run]()
        for run in deadline.watched(state.runs.values()):
            if run.first is None or run.last is None or run.last <= self.begin:
                continue
            if run.first > self.end:
                continue
            is_open = run.last > self.end or run.first <= self.begin
            if is_open or (run.end is not None and run.end[1] is not EventType.COMPLETE):
                found |= _ever_below(state, run)
        yield from found.values()


def _ever_below(state: State, run: Run) -> dict[RunKey, Run]:
    """Return a run and the runs that were below it at any moment.

    For example, a run is below the root that it names until its parent sends an event.
    """
    found, open_ = {run.key: run}, [run]
    while open_:
        for same in state.runs_by_id.get(open_.pop().key.run_id, ()):
            for key in state.runs[same].children or ():
                if key not in found:
                    found[key] = state.runs[key]
                    open_.append(found[key])
    return found


def users(state: State, name: DatasetName) -> set[JobRef]:
    """Return the tasks and derivations that may read or write a dataset, by any of its names.

    A name that several datasets share as an alias stands for each of them.
    """
    generations = generations_of(state)
    datasets = {name, *state.identity.datasets(name)}
    return {
        ref
        for dataset in datasets
        for found in (generations.readers(dataset), generations.writers(dataset))
        for ref in found
    }
