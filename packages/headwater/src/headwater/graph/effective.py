"""Graphs that are built in parts, on request, so that a query costs the same in a larger store.

The part of the effective graph for a family of jobs (see headwater.graph.families) is built when a
query reaches it, and kept until the next event. A family is, for example, a pipeline with its tasks
and queries. A *generation* is the runs of a task under one parent run. A *derivation* is the
placeholder for the missing job that derives a dataset from others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace

from headwater import deadline
from headwater.events import JobRef
from headwater.graph.edges import LevelGraph
from headwater.graph.families import Family
from headwater.graph.generations import Generations
from headwater.graph.levels import Level
from headwater.graph.nodes import Node
from headwater.graph.placeholders import derived_dataset
from headwater.graph.run_edges import Edges
from headwater.identity import DatasetName


class LazyGraph(ABC):
    """A graph that is built in parts, on request, with the same queries as a LevelGraph.

    `Generations` finds the tasks that may have used a dataset; the parts show which jobs of the
    level did.
    """

    def __init__(self, generations: Generations) -> None:
        self._generations = generations

    def edges_of(self, ref: JobRef) -> Edges:
        """Return the edges of a job."""
        return self.part_of(ref).edges_of(ref)

    def readers_of(self, name: DatasetName) -> set[JobRef]:
        """Return the jobs that read a dataset."""
        tasks = self._generations.readers(name)
        return {ref for task in tasks for ref in self.part_of(task).readers_of(name)}

    def writers_of(self, name: DatasetName) -> set[JobRef]:
        """Return the jobs that write a dataset."""
        tasks = self._generations.writers(name)
        return {ref for task in tasks for ref in self.part_of(task).writers_of(name)}

    @abstractmethod
    def linked(self, node: Node, way: str) -> set[Node]:
        """Return the nodes one direct link upstream (`up`) or downstream (`down`)."""

    @abstractmethod
    def part_of(self, ref: JobRef) -> LevelGraph:
        """Return the part of the graph with the edges of a job."""


class EffectiveGraph(LazyGraph):
    """The graph of the present generations at a level until the next event, by family of jobs."""

    def __init__(self, generations: Generations, level: Level) -> None:
        super().__init__(generations)
        self._level = level
        self._parts: dict[Family, LevelGraph] = {}

    def has_job(self, ref: JobRef) -> bool:
        """Return True if a job has edges."""
        return self.part_of(ref).has_job(ref)

    def linked(self, node: Node, way: str) -> set[Node]:
        """Return the nodes one direct link upstream (`up`) or downstream (`down`).

        The links of a dataset are in the parts of its derivations, those of a job in its own.
        """
        near = [node.job_ref] if node.type == "job" else self._derivations(node.dataset_name)
        return {other for ref in near for other in self.part_of(ref).linked(node, way)}

    def _derivations(self, name: DatasetName) -> Iterator[JobRef]:
        """Yield the derivations that write or read a dataset."""
        generations = self._generations
        users = (*generations.writers(name), *generations.readers(name))
        yield from filter(derived_dataset, users)

    def part_of(self, ref: JobRef) -> LevelGraph:
        """Return the part of the graph with the edges of a job."""
        family = self._generations.families.of(ref)
        part = self._parts.get(family)
        if part is None:
            deadline.check()
            present = self._generations.present_in_family(ref)
            part = LevelGraph.build(self._generations, self._level, present)
            self._parts[family] = part
        return part


class PipelineGraph:
    """A graph between pipelines, without datasets that only one job writes and reads.

    Such an inner dataset, like a staging table, is bypassed: what is computed from it depends on
    its sources instead. It stays downstream of its job if no task derived another one from it: a
    table that a MERGE both reads and writes is the result of the job. The root of the query keeps
    its outgoing edges.
    """

    def __init__(
        self, graph: LevelGraph | EffectiveGraph, root: Node, is_used: Callable[[DatasetName], bool]
    ) -> None:
        """Wrap a graph; `is_used` returns True if a task derived another dataset from a dataset."""
        self._graph, self._root, self._is_used = graph, root, is_used
        self.has_job, self.writers_of, self.linked = graph.has_job, graph.writers_of, graph.linked
        self._edges: dict[JobRef, Edges] = {}

    def edges_of(self, ref: JobRef) -> Edges:
        """Return the edges of a job without inner datasets; a walk needs them for each step."""
        if ref not in self._edges:
            self._edges[ref] = self._without_inner(ref)
        return self._edges[ref]

    def _without_inner(self, ref: JobRef) -> Edges:
        """Return the edges of a job with new sets, because the graph must not change.

        An inner dataset is no input of its job, and an output only if it is a result (no task
        derived data from it). If the root is inner, only the edges to its readers remain.
        """
        found = self._graph.edges_of(ref)
        edges = replace(found, reads=set(found.reads), writes=set(found.writes))
        for name in sorted(filter(self._is_inner, found.reads & found.writes)):
            is_root = Node.of_dataset(name) == self._root
            if not is_root:
                edges.bypass(name)
            edges.reads.discard(name)
            if is_root or self._is_used(name):
                edges.writes.discard(name)
        return edges

    def readers_of(self, name: DatasetName) -> set[JobRef]:
        """Return the jobs that read a dataset."""
        is_root = Node.of_dataset(name) == self._root
        is_result = self._is_inner(name) and not is_root and not self._is_used(name)
        return set() if is_result else self._graph.readers_of(name)

    def _is_inner(self, name: DatasetName) -> bool:
        """Return True if one job alone uses a dataset, and no link connects it with another one."""
        writers = self._graph.writers_of(name)
        has_one_user = len(writers) == 1 and writers == self._graph.readers_of(name)
        node = Node.of_dataset(name)
        return has_one_user and not (self.linked(node, "up") or self.linked(node, "down"))


Graph = LevelGraph | EffectiveGraph | PipelineGraph
