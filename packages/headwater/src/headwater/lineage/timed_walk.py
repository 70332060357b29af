"""Walks that follow the flows of data between runs, for trees, paths and impact.

A graph has one node for each job and dataset, with the edges of all runs that matter. A walk over
the edges alone would show a later writer of a dataset upstream of an earlier reader, if another
path from the root leads to a later reader.

A timed walk therefore carries the generations that its path passes through (a generation is the
runs of a task under one parent run), and takes a step only if data flows between them. It reaches
the same nodes as a walk over the edges, but not through each of them. A step through a pipeline
follows the data through its tasks, over the datasets that only this pipeline uses.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import cache
from typing import NamedTuple

from headwater import deadline
from headwater.graph.edges import LevelGraph
from headwater.graph.frontier import Walked
from headwater.graph.generation import Generation
from headwater.graph.generations import Generations
from headwater.graph.levels import Level
from headwater.graph.nodes import Node
from headwater.graph.placeholders import handoff_job, is_job
from headwater.graph.walk import Place, jobs_of, nearest, places_next
from headwater.identity import DatasetName
from headwater.lineage.timed_flows import Mark, Marks, Seen, TimedFlows
from headwater.projection import Run

_ByNode = defaultdict[Node, set[Mark]]
"""Nodes, each with the generations of a job, or with those that wrote a dataset."""


class TimedPlace(NamedTuple):
    """A node on a timed walk; `via` is as in `Place`.

    `marks` are the generations that a path passes through: those of a job, or those that wrote a
    dataset. None stands for all generations of the walk, as at its root.
    """

    node: Node
    via: Node | None = None
    marks: Marks = None


class _Inside:
    """The tasks of a pipeline to follow on one step of a walk, each only once for a dataset.

    Iterating yields marks, with the dataset through which data came to them; None for the first
    ones if all of their inputs or outputs count.
    """

    def __init__(self, marks: Set[Mark], name: DatasetName | None) -> None:
        self._open: list[tuple[Set[Mark], DatasetName | None]] = [(marks, name)]
        self._seen: set[tuple[Mark, DatasetName]] = set()

    def add(self, marks: Iterable[Mark], name: DatasetName) -> None:
        """Add marks that data passes through a dataset."""
        if new := {mark for mark in marks if (mark, name) not in self._seen}:
            self._seen |= {(mark, name) for mark in new}
            self._open.append((new, name))

    def __iter__(self) -> Iterator[tuple[Set[Mark], DatasetName | None]]:
        return deadline.popped(self._open)


class TimedWalk:
    """The steps of a walk in one direction: `up` or `down`."""

    def __init__(
        self,
        generations: Generations,
        graph: LevelGraph,
        walked: Walked,
        root: Node,
        way: str,
        level: Level,
    ) -> None:
        """Use the generations reached from a root (`walked`), and their graph."""
        self._levels, self._graph = generations.levels, graph
        self._way, self._level = way, level
        self._flows = TimedFlows(generations, walked, root, way)
        self.next = cache(self._next)  # a tree takes each step twice
        self._jobs_of = cache(lambda generation: jobs_of(generations, generation, level))
        self._of_job: defaultdict[Node, set[Generation]] = defaultdict(set)
        for generation in walked:
            for ref in self._jobs_of(generation):
                self._of_job[Node.of_job(ref)].add(generation)

    def _next(self, place: TimedPlace) -> list[TimedPlace]:
        """Return the places one step further, sorted by node.

        These are the neighbors in the graph to or from which data of the place flowed.
        """
        near = places_next(self._graph, Place(place.node, place.via), self._way)
        if not near:
            return []
        beyond = self._above if self._flows.is_up else self._below
        found = beyond(place, {node for node, _ in near})
        return [
            TimedPlace(node, via, self._limited(node, found[node]))
            for node, via in near
            if node in found
        ]

    def reach(self, starts: Iterable[Node], depth: int) -> dict[Node, int]:
        """Return the number of steps to every node within `depth` steps; -1 means any depth."""
        places = list(map(TimedPlace, starts))
        return nearest(places, self.search_from(places), depth)

    def search_from(self, starts: Iterable[TimedPlace]) -> Callable[[TimedPlace], list[TimedPlace]]:
        """Return a function like `next`, for one breadth-first search for the nearest nodes.

        It returns a place again only with generations that the search has not followed from there.
        """
        seen: dict[tuple[Node, Node | None], Seen] = {}

        def new(place: TimedPlace) -> TimedPlace | None:
            key, marks = (place.node, place.via), self._marks(place)
            if key not in seen:
                self._flows.new_marks(marks, seen.setdefault(key, {}))
                return place
            left = self._flows.new_marks(marks, seen[key])
            return place._replace(marks=left) if left else None

        for start in starts:
            new(start)
        return lambda place: [found for other in self.next(place) if (found := new(other))]

    def runs_of(self, place: TimedPlace) -> list[Run]:
        """Return the runs, at the level of the walk, of a job that a path passes through."""
        runs = (run for mark in place.marks or () for run in mark.generation.runs)
        owners = (self._levels.owner(run, self._level) for run in runs)
        return [owner for owner in owners if owner.key.job == place.node.job_ref]

    def _marks(self, place: TimedPlace) -> Set[Mark]:
        """Return the marks of a place; for None, those of all generations of its node."""
        if place.node.type == "dataset":
            return self._flows.marks_of(place.node.dataset_name, place.marks)
        if place.marks is None:
            return self._flows.all_of(self._of_job.get(place.node, ()))
        return place.marks

    def _limited(self, node: Node, marks: Set[Mark]) -> Marks:
        """Return marks for a place; None if they are all generations of it, without limits."""
        if node.type == "dataset":
            return self._flows.limited(node.dataset_name, marks)
        return self._flows.unless_all(marks, self._of_job.get(node, set()))

    def _above(self, place: TimedPlace, near: Set[Node]) -> Mapping[Node, set[Mark]]:
        """Return the nodes that the data of a place came from, each with its marks.

        From a job, these are the datasets that it read, or only those that feed the dataset from
        which the walk came (`via`). From a dataset, the jobs that wrote it; and, without a job in
        between, the sources of its derivation, or the job that a handoff comes from.

        Inside a pipeline, data passes between its tasks through datasets that are not in the graph
        (not in `near`, the next nodes). They are followed to the first one that is.
        """
        found: _ByNode = defaultdict(set)
        marks, via = self._marks(place), None
        if place.node.type == "job":
            via = place.via.dataset_name if place.via else None
        else:
            self._add_jobs(found, marks)
            marks = _derivations(marks)
        inside = _Inside(marks, via)
        for using, target in inside:
            readers: defaultdict[DatasetName, set[Mark]] = defaultdict(set)
            for mark in using:
                edges = mark.generation.edges
                for name in edges.sources_of(target) if target else edges.reads:
                    readers[name].add(mark)
            for name, own in readers.items():
                sources = self._flows.sources(own, name)
                if handoff_job(name):
                    self._add_jobs(found, sources)
                else:
                    sources = self._flows.closed(sources, name)
                    found[Node.of_dataset(name)] |= sources
                if Node.of_dataset(name) not in near:
                    inside.add(self._within_pipeline(place, sources), name)
        return found

    def _within_pipeline(self, place: TimedPlace, marks: Set[Mark]) -> set[Mark]:
        """Return the marks of other tasks of a place that is a pipeline; none at other levels."""
        if self._level is not Level.PIPELINE or place.node.type != "job":
            return set()
        ref = place.node.job_ref
        return {mark for mark in marks if ref in self._jobs_of(mark.generation)}

    def _below(self, place: TimedPlace, near: Set[Node]) -> Mapping[Node, set[Mark]]:
        """Return the nodes that the data of a place went to, each with its marks.

        From a job, these are the datasets that it wrote, or only those that the dataset from which
        the walk came (`via`) feeds, and the jobs that it passes data to without a dataset
        (handoffs). Inside a pipeline, data is followed as in `_above`.
        """
        found: _ByNode = defaultdict(set)
        marks = self._marks(place)
        if place.node.type == "dataset":
            self._add_readers(found, place.node.dataset_name, marks)
            return found
        inside = _Inside(marks, place.via.dataset_name if place.via else None)
        for using, source in inside:
            for name, writers in self._add_datasets(found, using, source).items():
                if handoff_job(name):
                    self._add_readers(found, name, writers)
                if Node.of_dataset(name) not in near:
                    readers = self._flows.readers(name, self._flows.closed(writers, name))
                    inside.add(self._within_pipeline(place, readers), name)
        return found

    def _add_readers(self, found: _ByNode, name: DatasetName, writers: Set[Mark]) -> None:
        """Add the jobs that read a dataset, and the datasets that were derived from it."""
        readers = self._flows.readers(name, writers)
        self._add_jobs(found, readers)
        self._add_datasets(found, _derivations(readers), name)

    def _add_jobs(self, found: _ByNode, marks: Iterable[Mark]) -> None:
        for mark in marks:
            for ref in self._jobs_of(mark.generation):
                found[Node.of_job(ref)].add(mark)

    def _add_datasets(
        self, found: _ByNode, marks: Iterable[Mark], via: DatasetName | None
    ) -> Mapping[DatasetName, set[Mark]]:
        """Add the datasets that generations wrote from an input; return the writers of each."""
        writers: defaultdict[DatasetName, set[Mark]] = defaultdict(set)
        for mark in marks:
            edges = mark.generation.edges
            for name in edges.targets_of(via) if via else edges.writes:
                writers[name].add(mark)
        for name, using in writers.items():
            found[Node.of_dataset(name)] |= self._flows.closed(using, name)
        return writers


def _derivations(marks: Set[Mark]) -> set[Mark]:
    """Return the marks of derivations, which connect two datasets without a job."""
    return {mark for mark in marks if not is_job(mark.generation.job)}
