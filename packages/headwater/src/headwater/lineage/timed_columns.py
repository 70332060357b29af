"""Walks over columns that follow the flows of data between runs, as `timed_walk` does for nodes.

A *mark* is a generation (the runs of a task under one parent run) with the time up to which, or
from which, it has the data of the path. If the marks of a place are None, they are all generations
of the walk.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from functools import cache
from typing import NamedTuple

from headwater.events import JobRef
from headwater.graph.column_graph import Column, ColumnEdge, ColumnGraph
from headwater.graph.frontier import Walked
from headwater.graph.generation import Generation
from headwater.graph.generations import Generations
from headwater.graph.nodes import Node
from headwater.identity import DatasetName
from headwater.lineage.timed_flows import Mark, Marks, Seen, TimedFlows


class ColumnPlace(NamedTuple):
    """A column on a walk, with the generations that wrote its dataset on the path (None: all)."""

    column: Column
    marks: Marks = None


class TimedColumns:
    """The column edges of the generations that a walk from a root reached, `up` or `down`."""

    def __init__(self, generations: Generations, walked: Walked, root: Node, way: str) -> None:
        """Use the generations reached from a root, with their edges on the way (`walked`)."""
        self.graph = ColumnGraph.of(generations, walked)
        self._flows = TimedFlows(generations, walked, root, way)
        self.is_up = self._flows.is_up
        self._users = cache(self._users_of)
        self._beyond = cache(self._marks_beyond)

    def edges(
        self, place: ColumnPlace, *, indirect: bool
    ) -> Iterator[tuple[ColumnEdge, ColumnPlace]]:
        """Yield the edges from a place in the direction of the walk, each with the place beyond."""
        (name, _), marks = place
        only, _ = self._users(name, marks)
        edges_of = self.graph.inputs if self.is_up else self.graph.outputs
        for edge in edges_of(place.column, indirect=indirect, only=only):
            other = edge.source if self.is_up else edge.target
            beyond = self._beyond(name, marks, edge.job, other.dataset)
            yield edge, ColumnPlace(other, beyond)

    def unseen(self, places: Iterable[ColumnPlace], seen: dict[Column, Seen]) -> list[ColumnPlace]:
        """Return the places that a search has not followed yet, see `TimedFlows.new_marks`."""
        found = []
        for column, marks in places:
            is_first = column not in seen
            every = self._flows.marks_of(column.dataset, marks)
            left = self._flows.new_marks(every, seen.setdefault(column, {}))
            if is_first or left:
                found.append(ColumnPlace(column, marks if is_first else left))
        return found

    def _users_of(
        self, name: DatasetName, marks: Marks
    ) -> tuple[frozenset[Generation] | None, Mapping[JobRef, set[Mark]]]:
        """Return the generations whose edges count (None for all), and the marks of each job."""
        users, limited = self._flows.users(name, marks)
        by_job: defaultdict[JobRef, set[Mark]] = defaultdict(set)
        for mark in users:
            by_job[mark.generation.job].add(mark)
        only = None if limited is None else frozenset(mark.generation for mark in limited)
        return only, by_job

    def _marks_beyond(
        self, name: DatasetName, marks: Marks, job: JobRef, other: DatasetName
    ) -> Marks:
        """Return the writers of another dataset after a step over a job."""
        users = self._users(name, marks)[1].get(job, set())
        if self.is_up:
            sources = self._flows.sources(_using(users, other, name), other)
            return self._flows.limited(other, self._flows.closed(sources, other))
        return self._flows.limited(other, self._flows.closed(_using(users, name, other), other))


def _using(marks: Iterable[Mark], source: DatasetName, target: DatasetName) -> Set[Mark]:
    """Return the marks of generations that wrote a dataset from another one."""
    return {
        mark
        for mark in marks
        if target in mark.generation.edges.writes
        if source in mark.generation.edges.sources_of(target)
    }
