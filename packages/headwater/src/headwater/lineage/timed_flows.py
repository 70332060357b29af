"""The generations that data on a path passes through, for walks that follow times.

A generation is the runs of a task under one parent run. A dataset contains rows of different
generations at different times, so that a walk needs more than the name of the dataset: the rows
that one reader used may have been written by another run, or another job, than those that a later
reader used.

A generation that both reads and writes a dataset counts as upstream and downstream of it, whatever
the times.

A *flow* is data that a generation gets from another through a dataset, whose rows it read or kept.
It carries what was written `until` a time, unless a reported version proves it (`is_proven`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cache
from math import inf
from typing import NamedTuple

from headwater import deadline
from headwater.graph.frontier import Walked
from headwater.graph.generation import Flow, Generation
from headwater.graph.generations import Generations
from headwater.graph.nodes import Node
from headwater.identity import DatasetName


class Mark(NamedTuple):
    """A generation that data on a path passes through, at a time in microseconds.

    Upstream, what was written into its inputs after `time` is not part of that data; infinite if
    the generation read nothing later. Downstream, the generation had the data from `time` on; 0 if
    it had the data before it wrote anything.
    """

    generation: Generation
    time: float


Seen = dict[Generation, float]
"""The generations that a search has followed from a node, each with the time that allows most."""

Marks = frozenset[Mark] | None
"""The generations that a path passes through; None stands for all generations of the walk."""


def united(found: Set[Marks]) -> Marks:
    """Return the marks of several paths to one place."""
    return None if None in found else frozenset[Mark]().union(*filter(None, found))


class TimedFlows:
    """The flows between the generations that a walk from a root reached, `up` or `down`.

    `_limit` is the time of a mark without a limit: infinite upstream, 0 downstream.
    """

    def __init__(self, generations: Generations, walked: Walked, root: Node, way: str) -> None:
        """Use the generations reached from a root, with their edges on the way (`walked`).

        `_writing` and `_reading` have these generations by dataset.
        """
        self._generations, self._walked, self._root = generations, walked, root
        self.is_up = way == "up"
        self._limit = inf if self.is_up else 0
        self._flows = cache(self._flows_by_dataset)
        self._writing: defaultdict[DatasetName, set[Generation]] = defaultdict(set)
        self._reading: defaultdict[DatasetName, set[Generation]] = defaultdict(set)
        for generation, edges in walked.items():
            for name in edges.writes:
                self._writing[name].add(generation)
            for name in edges.reads:
                self._reading[name].add(generation)

    def all_of(self, generations: Iterable[Generation]) -> set[Mark]:
        """Return the marks of generations, without limits."""
        return {Mark(generation, self._limit) for generation in generations}

    def unless_all(self, marks: Set[Mark], every: Set[Generation]) -> Marks:
        """Return marks; None if they are `every` generation that counts, without limits."""
        free = {mark.generation for mark in marks if mark.time == self._limit}
        return None if free >= every else frozenset(marks)

    def marks_of(self, name: DatasetName, marks: Marks) -> Set[Mark]:
        """Return the generations that wrote a dataset; all for None."""
        return self.all_of(self._writing.get(name, ())) if marks is None else marks

    def limited(self, name: DatasetName, marks: Set[Mark]) -> Marks:
        """Return marks of writers of a dataset; None for all of its writers."""
        return self.unless_all(marks, self._writing.get(name, set()))

    def new_marks(self, marks: Set[Mark], seen: Seen) -> frozenset[Mark]:
        """Return the marks that none of `seen` covers, and add them to it.

        A step from several marks leads to the union of the steps from each of them, so a search for
        all nodes needs to follow a mark only once.
        """
        known = {mark: seen.get(mark.generation) for mark in marks}
        found = frozenset(
            mark
            for mark, time in known.items()
            if time is None or (mark.time > time if self.is_up else mark.time < time)
        )
        for mark in sorted(found, key=lambda mark: mark.time, reverse=not self.is_up):
            seen[mark.generation] = mark.time
        return found

    def users(self, name: DatasetName, marks: Marks) -> tuple[Set[Mark], Marks]:
        """Return the generations that a step leads to from a dataset: its writers, or its readers.

        They are returned twice, the second time as None if they are all that the walk reached.
        """
        found, every = self.marks_of(name, marks), self._writing
        if not self.is_up:
            found, every = self.readers(name, found), self._reading
        return found, self.unless_all(found, every.get(name, set()))

    def sources(self, readers: Iterable[Mark], name: DatasetName) -> set[Mark]:
        """Return the generations that wrote what some generations read from a dataset."""
        found = {source for mark in readers for source, _ in self.through(mark, name)}
        return found | {mark for mark in readers if name in self._walked[mark.generation].writes}

    def readers(self, name: DatasetName, writers: Set[Mark]) -> set[Mark]:
        """Return the generations that read what some generations wrote to a dataset."""
        found = {reader for mark in writers for reader, _ in self.through(mark, name)}
        found |= {mark for mark in writers if name in self._walked[mark.generation].reads}
        if Node.of_dataset(name) == self._root:
            found |= self.all_of(self._reading.get(name, ()))
        return found

    def closed(self, marks: Set[Mark], name: DatasetName) -> set[Mark]:
        """Return writers of a dataset, with the others that its rows passed before (`up`) or since.

        The rows passed a writer if it kept them in the dataset, or read and wrote them again: of
        two writers, the later one decides, which is the known one upstream and the other one
        downstream.
        """
        found, open_ = set(marks), list(marks)
        for mark in deadline.popped(open_):
            for other, is_kept in self.through(mark, name):
                edges = (mark if self.is_up else other).generation.edges
                feeds = is_kept or (name in edges.writes and name in edges.sources_of(name))
                if feeds and other not in found:
                    found.add(other)
                    open_.append(other)
        return found

    def through(self, mark: Mark, name: DatasetName) -> Iterator[tuple[Mark, bool]]:
        """Yield the generations that data flows from (`up`) or to through a dataset.

        Each comes with True if rows of the dataset were kept instead of read. A mark has no limit
        if everything that the generation read or wrote is within it.
        """
        generation, time = mark
        of_writes = self._generations.times.of_writes
        for other, flow in self._flows(generation).get(name, ()):
            if self.is_up:
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
        if self.is_up:
            flows = ((flow.source, flow) for flow in generations.flows(generation))
        else:
            flows = generations.present.flows_from(generation)
        found: defaultdict[DatasetName, list[tuple[Generation, Flow]]] = defaultdict(list)
        for other, flow in flows:
            if other in self._walked:
                found[flow.dataset].append((other, flow))
        return found
