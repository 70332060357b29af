"""An index of the edges that runs state. A run may have thousands of inputs and outputs.

A primary name is the name under which a dataset with several names is shown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property

from headwater.events import DatasetId, parse_entries
from headwater.graph.current import once_an_event
from headwater.graph.generation import Generation
from headwater.graph.sql_changes import renamed_by_text
from headwater.graph.sql_lineage import SqlLineage, sql_lineage
from headwater.identity import DatasetName, canonical_name
from headwater.lineage.producers import producer_of_run
from headwater.projection import Run, RunKey, State
from headwater.projection.facet_books import parsed
from headwater.projection.state import Use

COARSE = "headwater_coarseLineage"
"""Facet of an output whose sources are unknown: each input may feed it."""

_MOST_RUNS = 10_000
"""Maximum number of runs whose index is kept until the next event."""

_Sources = Iterable[tuple[DatasetName | None, Set[DatasetName]]]
"""Targets, each with its sources."""


class Pairs:
    """Edges between datasets: the sources of each target. The target None stands for the job.

    `sources` has each target with its sources; all names are primary names.
    """

    def __init__(self, sources: _Sources) -> None:
        self._sources = dict(sources)
        self._every = frozenset[DatasetName]().union(*self._sources.values())

    def has(self, source: DatasetName | None, target: DatasetName | None) -> bool:
        """Return True for an edge between two datasets; None stands for any source or target."""
        if target is None:
            return bool(self._sources) if source is None else source in self._every
        sources = self._sources.get(target)
        return sources is not None and (source is None or source in sources)

    def names(self, name: DatasetName) -> bool:
        """Return True if a dataset is a source or a target."""
        return name in self._sources or name in self._every


class RunUses:
    """The inputs and outputs of a run by primary name, and the edges in its facets and SQL text.

    A dataset under several names has several uses in one run. A dataset that is named only by the
    SQL text of a rename has an empty list of uses.
    """

    def __init__(self, state: State, run: Run) -> None:
        self._state, self.run = state, run
        self.reads, self.writes = self._by_name(run.inputs), self._by_name(run.outputs)
        self._renamed = renamed_by_text(state, run)
        for new, former in self._renamed.items():
            self.reads.setdefault(former, [])
            self.writes.setdefault(new, [])

    def _by_name(self, uses: Mapping[DatasetName, Use]) -> dict[DatasetName, list[Use]]:
        uses_by_name: dict[DatasetName, list[Use]] = defaultdict(list)
        for spelled, use in uses.items():
            uses_by_name[self._state.identity.primary(spelled)].append(use)
        return dict(uses_by_name)

    def _primary_names(self, names: Iterable[tuple[str, str]]) -> Iterable[DatasetName]:
        return (self._state.identity.primary(canonical_name(*name)) for name in names)

    @cached_property
    def producer(self) -> str | None:
        """The short name of the producer; None if unnamed."""
        return producer_of_run(self._state, self.run)

    @cached_property
    def text(self) -> SqlLineage | None:
        """The lineage that the SQL text states; None if there is none."""
        return sql_lineage(self._state, self.run)

    @cached_property
    def in_text(self) -> Pairs:
        """The edges that the SQL text states."""
        return Pairs(self.text.sources.items() if self.text else ())

    @cached_property
    def renames_in_text(self) -> Pairs:
        """The edges from former names that only the SQL text states."""
        return Pairs((new, {former}) for new, former in self._renamed.items())

    @cached_property
    def explicit(self) -> Pairs:
        """The edges of explicit lineage, without those to outputs whose sources are unknown.

        The target None stands for the job: an entry without a dataset as target.
        """
        unknown = {
            name
            for name, uses in self.writes.items()
            if any(use.dataset_facets.get(COARSE) for use in uses)
        }
        sources: dict[DatasetName | None, set[DatasetName]] = defaultdict(set)
        for facet in self.run.lineage or ():
            for entry in parsed(facet, parse_entries):
                target = entry.target if isinstance(entry.target, DatasetId) else None
                output = next(iter(self._primary_names([target]))) if target else None
                if output not in unknown:
                    sources[output].update(self._primary_names(entry.datasets))
        return Pairs(sources.items())

    @cached_property
    def columns(self) -> Pairs:
        """The edges of column lineage; none if there is explicit lineage, which precedes it."""
        sources: dict[DatasetName | None, set[DatasetName]] = defaultdict(set)
        for name, uses in () if self.run.lineage else self.writes.items():
            links = {
                (link.namespace, link.name)
                for use in uses
                for link in use.dataset_facets.column_lineage().links
            }
            if links:
                sources[name].update(self._primary_names(links))
        return Pairs(sources.items())


class UsesOfRuns:
    """The uses of some runs, by the dataset that they read or wrote."""

    def __init__(self, every: Iterable[RunUses]) -> None:
        """Index the reads and writes of runs by dataset."""
        self._every = list(every)
        self._reading: dict[DatasetName, list[RunUses]] = defaultdict(list)
        self._writing: dict[DatasetName, list[RunUses]] = defaultdict(list)
        for uses in self._every:
            for name in uses.reads:
                self._reading[name].append(uses)
            for name in uses.writes:
                self._writing[name].append(uses)

    def of(self, source: DatasetName | None, target: DatasetName | None) -> Collection[RunUses]:
        """Return the uses of the runs that read `source` and wrote `target`; None: any or none.

        A run must have both. The shorter list is searched.
        """
        reading = self._every if source is None else self._reading.get(source, [])
        writing = self._every if target is None else self._writing.get(target, [])
        if len(reading) <= len(writing):
            return [uses for uses in reading if target is None or target in uses.writes]
        return [uses for uses in writing if source is None or source in uses.reads]

    def with_name(self, name: DatasetName) -> Iterable[RunUses]:
        """Return the uses of the runs that read or wrote a dataset, each once."""
        return dict.fromkeys((*self._reading.get(name, ()), *self._writing.get(name, ())))


@dataclass(slots=True)
class _Indexes:
    runs: dict[RunKey, RunUses] = field(default_factory=dict)
    groups: dict[Generation | RunKey, UsesOfRuns] = field(default_factory=dict)


@once_an_event
def _indexes(state: State) -> _Indexes:
    del state
    return _Indexes()


def uses_of_runs(state: State, owner: Generation | RunKey, runs: Collection[Run]) -> UsesOfRuns:
    """Return the uses of the runs of a generation, or of a run and those below it.

    The result is cached until the next event. `owner` is the key, and `runs` must be its runs.
    """
    indexes = _indexes(state)
    group = indexes.groups.get(owner)
    if group is None:
        if len(indexes.runs) + len(runs) > _MOST_RUNS:
            indexes.runs.clear()
            indexes.groups.clear()
        for run in runs:
            if run.key not in indexes.runs:
                indexes.runs[run.key] = RunUses(state, run)
        group = indexes.groups[owner] = UsesOfRuns(indexes.runs[run.key] for run in runs)
    return group
