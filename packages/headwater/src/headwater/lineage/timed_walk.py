"""Walks that follow the flows of data between runs, for trees, paths and impact.

A graph has one node for each job and dataset, with the edges of all runs that matter. Two paths
from a root may reach the same dataset at different times: the rows that one reader used may have
been written by another run, or another job, than those that a later reader used. A walk over the
edges alone would show the later writer upstream of the earlier reader.

A timed walk therefore carries the generations that its path passes through (a generation is the
runs of one task under one parent run), and takes a step only if data flows between them. It reaches
the same nodes as a walk over the edges, but not through each of them.

A job that both reads and writes a dataset is upstream and downstream of it, whatever the times.
Between pipelines, a walk follows the edges alone: one edge stands for many tasks and runs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cache
from math import inf
from typing import NamedTuple

from headwater import deadline
from headwater.graph.edges import LevelGraph
from headwater.graph.frontier import Walked
from headwater.graph.generation import Flow, Generation
from headwater.graph.generations import Generations
from headwater.graph.levels import Level
from headwater.graph.nodes import Node
from headwater.graph.placeholders import handoff_job, is_job
from headwater.graph.walk import Place, jobs_of, nearest, places_next
from headwater.identity import DatasetName
from headwater.projection import Run


class Mark(NamedTuple):
    """A generation that data on a path passes through, at a time in microseconds.

    Upstream, what was written into its inputs after `time` is not part of that data; infinite if
    the generation read nothing later. Downstream, the generation had the data from `time` on; 0 if
    it had the data before it wrote anything.
    """

    generation: Generation
    time: float


class TimedPlace(NamedTuple):
    """A node on a timed walk; `via` is as in `Place`.

    `marks` are the generations that a path passes through: those of a job, or those that wrote a
    dataset. None stands for all generations of the walk, as at its root.
    """

    node: Node
    via: Node | None = None
    marks: frozenset[Mark] | None = None


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
        """Use the generations reached from a root (`walked`), and the graph made of them."""
        self._generations, self._graph, self._walked = generations, graph, walked
        self._root, self._way, self._level = root, way, level
        self._is_up = way == "up"
        self._limit = inf if self._is_up else 0
        self._flows = cache(self._flows_by_dataset)
        self._jobs_of = cache(lambda generation: jobs_of(generations, generation, level))
        self._of: defaultdict[Node, set[Generation]] = defaultdict(set)
        for generation, edges in walked.items():
            for ref in self._jobs_of(generation):
                self._of[Node.of_job(ref)].add(generation)
            for name in edges.writes:
                self._of[Node.of_dataset(name)].add(generation)

    def next(self, place: TimedPlace) -> list[TimedPlace]:
        """Return the places one step further, sorted by node."""
        near = places_next(self._graph, Place(place.node, place.via), self._way)
        if not near or self._level is Level.PIPELINE:
            return [TimedPlace(*other) for other in near]
        if place.node.type == "job":
            marks, via = self._marks(place), place.via.dataset_name if place.via else None
            found = self._above(marks, via) if self._is_up else self._below_jobs(marks, via)
        elif self._is_up:
            found = self._above_dataset(self._marks(place))
        else:
            found = self._below_dataset(place.node, self._marks(place))
        return [
            TimedPlace(node, other, self._unless_all(node, found[node]))
            for node, other in near
            if node in found
        ]

    def reach(self, starts: Iterable[Node], depth: int) -> dict[Node, int]:
        """Return the number of steps to every node within `depth` steps; -1 means any depth."""
        return nearest(map(TimedPlace, starts), self.next, depth)

    def runs_of(self, place: TimedPlace) -> list[Run]:
        """Return the runs, at the level of the walk, of a job that a path passes through."""
        levels = self._generations.levels
        runs = (run for mark in place.marks or () for run in mark.generation.runs)
        owners = (levels.owner(run, self._level) for run in runs)
        return [owner for owner in owners if owner.key.job == place.node.job_ref]

    def _marks(self, place: TimedPlace) -> Set[Mark]:
        if place.marks is not None:
            return place.marks
        return {Mark(generation, self._limit) for generation in self._of.get(place.node, ())}

    def _unless_all(self, node: Node, marks: set[Mark]) -> frozenset[Mark] | None:
        """Return the marks; None if they are all generations of the node, without limits."""
        free = {mark.generation for mark in marks if mark.time == self._limit}
        return None if free >= self._of.get(node, set()) else frozenset(marks)

    def _above_dataset(self, marks: Set[Mark]) -> Mapping[Node, set[Mark]]:
        """Return the nodes that a dataset came from; `marks` wrote it."""
        derived = {mark for mark in marks if not is_job(mark.generation.job)}
        found = self._above(derived, None)
        self._add_jobs(found, marks)
        return found

    def _above(self, marks: Set[Mark], via: DatasetName | None) -> defaultdict[Node, set[Mark]]:
        """Return the nodes that generations got data from, for their output `via` if it is set."""
        found: defaultdict[Node, set[Mark]] = defaultdict(set)
        readers: defaultdict[DatasetName, set[Mark]] = defaultdict(set)
        for mark in marks:
            edges = mark.generation.edges
            for name in edges.sources_of(via) if via else edges.reads:
                readers[name].add(mark)
        for name, using in readers.items():
            sources = {source for mark in using for source, _ in self._through(mark, name)}
            if handoff_job(name):
                self._add_jobs(found, sources)
            else:
                own = {mark for mark in using if name in self._walked[mark.generation].writes}
                found[Node.of_dataset(name)] |= self._closed(sources | own, name)
        return found

    def _below_dataset(self, node: Node, marks: Set[Mark]) -> Mapping[Node, set[Mark]]:
        """Return the nodes that a dataset went to; `marks` wrote it."""
        name = node.dataset_name
        readers = {reader for mark in marks for reader, _ in self._through(mark, name)}
        readers |= {mark for mark in marks if name in self._walked[mark.generation].reads}
        if node == self._root:
            using = (g for g, edges in self._walked.items() if name in edges.reads)
            readers |= {Mark(generation, self._limit) for generation in using}
        found: defaultdict[Node, set[Mark]] = defaultdict(set)
        self._add_jobs(found, readers)
        derived = {mark for mark in readers if not is_job(mark.generation.job)}
        self._add_datasets(found, derived, name)
        return found

    def _below_jobs(self, marks: Set[Mark], via: DatasetName | None) -> Mapping[Node, set[Mark]]:
        """Return the nodes that generations passed data to, from their input `via` if it is set."""
        found: defaultdict[Node, set[Mark]] = defaultdict(set)
        for name, using in self._add_datasets(found, marks, via).items():
            if handoff_job(name):
                readers = {reader for mark in using for reader, _ in self._through(mark, name)}
                self._add_jobs(found, readers)
                derived = {mark for mark in readers if not is_job(mark.generation.job)}
                self._add_datasets(found, derived, name)
        return found

    def _add_jobs(self, found: defaultdict[Node, set[Mark]], marks: Iterable[Mark]) -> None:
        for mark in marks:
            for ref in self._jobs_of(mark.generation):
                found[Node.of_job(ref)].add(mark)

    def _add_datasets(
        self, found: defaultdict[Node, set[Mark]], marks: Iterable[Mark], via: DatasetName | None
    ) -> Mapping[DatasetName, set[Mark]]:
        """Add the datasets that generations wrote from an input; return who wrote each of them."""
        writers: defaultdict[DatasetName, set[Mark]] = defaultdict(set)
        for mark in marks:
            edges = mark.generation.edges
            for name in edges.targets_of(via) if via else edges.writes:
                writers[name].add(mark)
        for name, using in writers.items():
            found[Node.of_dataset(name)] |= self._closed(using, name)
        return writers

    def _closed(self, marks: set[Mark], name: DatasetName) -> set[Mark]:
        """Return generations that wrote a dataset, with all that rows in it passed before or since.

        That is, those whose rows they kept in it or wrote again from it.
        """
        found, open_ = set(marks), list(marks)
        for mark in deadline.popped(open_):
            for other, is_kept in self._through(mark, name):
                edges = (mark if self._is_up else other).generation.edges
                feeds = is_kept or (name in edges.writes and name in edges.sources_of(name))
                if feeds and other not in found:
                    found.add(other)
                    open_.append(other)
        return found

    def _through(self, mark: Mark, name: DatasetName) -> Iterator[tuple[Mark, bool]]:
        """Yield the generations that data flows from or to through a dataset.

        With each, True if rows of the dataset were kept instead of read.
        """
        generation, time = mark
        of_writes = self._generations.times.of_writes
        for other, flow in self._flows(generation).get(name, ()):
            if self._is_up:
                if flow.is_proven or of_writes(other, name).start <= time:
                    until = inf if flow.is_proven else min(time, flow.until)
                    yield Mark(other, inf if until >= other.ended else until), flow.is_kept
            else:
                written = max(time, of_writes(generation, name).start)
                if flow.is_proven or written <= flow.until:
                    began = 0 if flow.is_proven or written <= other.started else written
                    yield Mark(other, began), flow.is_kept

    def _flows_by_dataset(
        self, generation: Generation
    ) -> Mapping[DatasetName, Sequence[tuple[Generation, Flow]]]:
        """Return the flows into (`up`) or from a generation, with its other end on the walk."""
        generations = self._generations
        flows: Iterable[tuple[Generation, Flow]]
        if self._is_up:
            flows = ((flow.source, flow) for flow in generations.flows(generation))
        else:
            flows = generations.present.flows_from(generation)
        found: defaultdict[DatasetName, list[tuple[Generation, Flow]]] = defaultdict(list)
        for other, flow in flows:
            if other in self._walked:
                found[flow.dataset].append((other, flow))
        return found
