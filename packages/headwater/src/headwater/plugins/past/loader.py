"""Load events and facts of the log into a partial state as of a time.

Keys name the records of a state (`keys`). Keys of the kinds "walk" and "uses" name none: with
these, a node and its neighbors are loaded at once, before a query that walks along the edges misses
them one by one.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress

from headwater import deadline
from headwater.errors import EventError
from headwater.events import AliasEvent, Dataset, JobRef, RunEvent
from headwater.events.facets import Symlinks
from headwater.identity import DatasetName, canonical_name, folders_above, symlinks_of
from headwater.log import read_logged
from headwater.partial import (
    Key,
    Loaded,
    PartialState,
    Way,
    WholeStateError,
    dataset_key,
    folder_key,
    job_key,
    name_key,
    own_key,
    run_key,
    table_key,
    walk_key,
)
from headwater.plugins.past.keys import TAGS, WHOLE, Fact
from headwater.plugins.past.store import Index
from headwater.projection import Run, apply

_OF_SYMLINK = ("namespace", "name", "type")


class Loader:
    """Loads the events of keys into a partial state as of a time, at most `most` events."""

    def __init__(self, index: Index, as_of: int, most: int) -> None:
        self.loaded = Loaded()
        self.state = PartialState(self.loaded, index.names_stated)
        self.applied: set[int] = set()
        self._index, self._as_of, self._most = index, as_of, most
        self._mates: dict[DatasetName, set[DatasetName]] = defaultdict(set)
        """Names that events reported together for one dataset."""
        self._writers: dict[DatasetName, set[tuple[str, JobRef]]] = defaultdict(set)
        """The runs that reported a dataset as an output."""
        self.load([WHOLE, TAGS])

    def load(self, keys: Iterable[Key]) -> None:
        """Load the events and facts of keys, and of those on which their records depend.

        Raises:
            WholeStateError: these are too many events.
        """
        open_ = {*keys} - self.loaded.keys
        self.loaded.is_reading = False
        state = self.state
        state.generations = None
        while open_:
            deadline.check()
            self.loaded.keys |= open_
            self._apply(self._index.seqs(open_) - self.applied)
            facts = list(self._index.facts(sorted(open_), self._as_of))
            for fact in facts:
                self._add(fact)
            open_ = {other for key in open_ for other in self._needed(key)} - self.loaded.keys
        self.loaded.missing.clear()
        state.revision += 1
        state.derived.clear()

    def _apply(self, seqs: set[int]) -> None:
        """Apply events, by their positions in the log, that were not applied before.

        Raises:
            WholeStateError: these are too many, or a rule of aliases is among them.
        """
        if len(self.applied) + len(seqs) > self._most:
            raise WholeStateError
        self.applied |= seqs
        for _, kind, body in self._index.rows(seqs, self._as_of):
            deadline.check()
            with suppress(EventError):  # `Live` reports the row
                event = read_logged(kind, body)
                if isinstance(event, AliasEvent) and event.relation == "rule":
                    raise WholeStateError  # it joins names that only all events have
                if isinstance(event, RunEvent):
                    for item in event.outputs:
                        name = canonical_name(item.namespace, item.name)
                        self._writers[name].add((event.run_id, event.job))
                apply(self.state, event)

    def _add(self, fact: Fact) -> None:
        """Add a fact to the state, as the events that state it would."""
        state, (kind, *_) = self.state, fact.key
        if kind == TAGS[0]:
            state.has_tags = True
            return
        values = json.loads(fact.value)
        if kind == "ending":
            of, *named = values
            state.add_ending(fact.key[1], JobRef(*named) if of == "job" else DatasetName(*named))
            return
        namespace, name, *links = values
        if kind == "name":
            symlinks = [dict(zip(_OF_SYMLINK, link, strict=True)) for link in links]
            dataset = Dataset(namespace, name, {Symlinks.KEY: {"identifiers": symlinks}})
            own = state.identity.add(dataset)
            together = {own, *symlinks_of(dataset)}
            for alias in together:
                self._mates[alias] |= together
        elif kind == "folder":
            state.files.setdefault(DatasetName(*fact.key[1:]), set()).add(
                DatasetName(namespace, name)
            )
        else:
            state.schemas.setdefault(fact.key[1], set()).add((namespace, name))

    def _needed(self, key: Key) -> Iterator[Key]:
        """Yield the keys on which the record of a key depends, and some that queries will read.

        Airflow's skipped tasks wrote nothing. The events of a task and of its parent show this.
        """
        state, (kind, *parts) = self.state, key
        if kind == "name":  # the other names of the dataset
            name = DatasetName(*parts)
            yield from map(name_key, self._mates.get(name, ()))
            yield from (name_key(mate) for pair in state.aliases if name in pair for mate in pair)
        elif kind == "dataset":
            yield from (own_key(run_id) for run_id, _ in self._writers[DatasetName(*parts)])
            yield from _read_with(DatasetName(*parts))
        elif kind == "run":
            yield own_key(parts[0])
        elif kind == "own":  # the state of a run without an end depends on its parent
            runs = map(state.runs.__getitem__, state.runs_by_id.get(parts[0], ()))
            yield from (own_key(run.parent[1].run_id) for run in runs if run.parent)
        elif kind == "job":
            for run in self._runs_of(JobRef(*parts)):
                yield run_key(run.key.run_id)
                yield from map(dataset_key, (*run.inputs, *run.reported_outputs))
        elif kind in ("walk", "uses"):
            way, type_, *names = parts
            yield from self._walk(kind, "up" if way == "up" else "down", type_, names)
        elif kind == "family" and (job := state.jobs.get(JobRef(*parts))):
            yield from map(job_key, job.children or ())

    def _walk(self, kind: str, way: Way, type_: str, names: list[str]) -> Iterator[Key]:
        """Yield the keys of a node on a walk ("walk"), or of the next nodes ("uses").

        Upstream of a dataset are the jobs that wrote it, and of a job the datasets that it read;
        downstream the other way. A job also needs the jobs above it.
        """
        if kind == "walk":
            named = job_key(JobRef(*names)) if type_ == "job" else dataset_key(DatasetName(*names))
            yield from (named, ("uses", way, type_, *names))
        elif type_ == "dataset":
            name = DatasetName(*names)
            record = self.state.datasets.get(name)
            readers = [key.job for key in record.readers] if record else []
            refs = [ref for _, ref in self._writers[name]] if way == "up" else readers
            yield from (walk_key(way, "job", ref) for ref in refs)
        elif job := self.state.jobs.get(JobRef(*names)):
            for run in self._runs_of(job.ref):
                uses = run.inputs if way == "up" else run.reported_outputs
                yield from (walk_key(way, "dataset", name) for name in uses)
            # The level of a job, and which runs count, depend on its pipeline with all its tasks.
            for ref in job.parents | (job.root_hints or set()):
                yield from (job_key(ref), ("family", *ref))

    def _runs_of(self, ref: JobRef) -> Iterator[Run]:
        job = self.state.jobs.get(ref)
        return map(self.state.runs.__getitem__, job.runs if job else ())


def _read_with(name: DatasetName) -> Iterator[Key]:
    """Yield the keys that nearly every query about a dataset reads."""
    yield table_key(name.name.rpartition(".")[2].lower())
    yield folder_key(name)
    yield from map(name_key, (name, *folders_above(name)))
