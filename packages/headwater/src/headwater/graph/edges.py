"""The data edges of the graph at a level, from selected generations.

A *generation* is the runs of a task under one parent run, with all runs below them, or a
declaration without runs. Generations are determined for tasks (see headwater.graph.generations) and
used at every level: pipelines have the edges of their tasks, rolled up, and queries have the same
edges in detail. Each run's edges go to its *owner* at the level: the run of that level that it is
part of, such as the DAG run of a task run (see Levels.owner). A run of a coarser level only gets
the edges that no run below it reports.

Without a level, each job has the edges of its own events, as in Marquez. A *handoff* is a direct
link from a job to another one that it passes data to, without a dataset. A *derivation* is the
placeholder for the missing job that derives a dataset from others. Both become direct links between
two nodes (headwater.graph.placeholders).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from math import inf
from typing import NamedTuple

from headwater.events import JobRef
from headwater.graph.generation import Generation
from headwater.graph.generations import Generations
from headwater.graph.levels import Level
from headwater.graph.lifecycle import emptied_before
from headwater.graph.nodes import Node
from headwater.graph.placeholders import handoff_job, is_job
from headwater.graph.run_edges import Edges, Side, merged, side_by_side
from headwater.graph.task_edges import (
    Part,
    edges_below,
    edges_not_below,
    task_edges,
    without_wrappers,
)
from headwater.identity import DatasetName
from headwater.projection import Run, RunKey, RunState, State, outcome, start_of


class DataEdge(NamedTuple):
    """A read or write of a dataset by a job at a level."""

    job: JobRef
    direction: Side
    dataset: DatasetName


@dataclass(slots=True)
class LevelGraph:
    """The graph of some generations at one level."""

    jobs: dict[JobRef, Edges] = field(default_factory=dict)
    readers: dict[DatasetName, set[JobRef]] = field(default_factory=dict)
    writers: dict[DatasetName, set[JobRef]] = field(default_factory=dict)
    runs: dict[JobRef, Run] = field(default_factory=dict)
    """The newest run of each job that its edges come from; a completed one if there is any."""
    replaced: dict[Generation, set[DatasetName]] = field(default_factory=dict)
    """Written datasets without an edge, because all rows of the generation were replaced."""
    _links: dict[str, dict[Node, set[Node]]] = field(default_factory=lambda: {"up": {}, "down": {}})
    """Direct links between nodes: `up` to those that each node gets data from, `down` the reverse.
    """

    @classmethod
    def build(
        cls,
        generations: Generations,
        level: Level | None,
        selected: Iterable[Generation] | Mapping[Generation, Edges],
    ) -> LevelGraph:
        """Build the graph at a level; without one, from the events of each job itself.

        If `selected` is a mapping, the edges of each generation are limited to its value. Runs of
        one job stay separate: an input of one does not feed an output of another.
        """
        parts: dict[JobRef, list[Edges]] = defaultdict(list)
        derivations: list[Edges] = []
        whole = without_empty_writes(generations, selected)
        # Marquez (without a level) shows what the newest run of each job wrote.
        lost = {} if level is None else dict(replaced_writes(generations, whole))
        graph = cls(replaced=lost)
        for generation, names in lost.items():
            edges = whole[generation]
            whole[generation] = edges.within(Edges(edges.reads, edges.writes - names))
        for owner, edges in _rolled_up(generations, level, whole):
            ref = owner.key.job if isinstance(owner, Run) else owner
            if is_job(ref):
                parts[ref].append(edges)
            else:
                derivations.append(edges)
            if isinstance(owner, Run):
                graph._note_run(generations.state, owner)
        for ref, edges_of_runs in parts.items():
            # `merged` copies: the result of `side_by_side` may be the edges of a generation.
            graph._add(ref, merged([side_by_side(edges_of_runs)]))
        graph._link(derivations)
        return graph

    def has_job(self, ref: JobRef) -> bool:
        """Return True if a job has edges."""
        return ref in self.jobs

    def edges_of(self, ref: JobRef) -> Edges:
        """Return the edges of a job."""
        return self.jobs.get(ref) or Edges()

    def readers_of(self, name: DatasetName) -> set[JobRef]:
        """Return the jobs that read a dataset."""
        return self.readers.get(name) or set()

    def writers_of(self, name: DatasetName) -> set[JobRef]:
        """Return the jobs that write a dataset."""
        return self.writers.get(name) or set()

    def linked(self, node: Node, way: str) -> set[Node]:
        """Return the nodes one direct link upstream (`up`) or downstream (`down`)."""
        return self._links[way].get(node, set())

    def links(self) -> Iterator[tuple[Node, Node]]:
        """Yield every direct link between jobs or datasets, in the direction of the data."""
        yield from ((above, node) for node, found in self._links["up"].items() for above in found)

    def data_edges(self) -> Iterator[DataEdge]:
        """Yield every edge between a job and a dataset."""
        for ref, edges in self.jobs.items():
            yield from (DataEdge(ref, "reads", name) for name in edges.reads)
            yield from (DataEdge(ref, "writes", name) for name in edges.writes)

    def _connect(self, above: Node, below: Node) -> None:
        self._links["up"].setdefault(below, set()).add(above)
        self._links["down"].setdefault(above, set()).add(below)

    def _link(self, derivations: list[Edges]) -> None:
        """Link both ends of each derivation and of each handoff, and remove the placeholders.

        A source of a derivation that is a handoff stands for the jobs that write it.
        """
        for edges in derivations:
            for source, target in product(edges.reads, map(Node.of_dataset, edges.writes)):
                is_handoff = handoff_job(source) is not None
                jobs = map(Node.of_job, self.writers_of(source))
                for node in jobs if is_handoff else [Node.of_dataset(source)]:
                    self._connect(node, target)
        for name in [name for name in (*self.readers, *self.writers) if handoff_job(name)]:
            readers, writers = self.readers.pop(name, set()), self.writers.pop(name, set())
            for ref in readers:
                self.jobs[ref].reads.discard(name)
            for ref in writers:
                self.jobs[ref].writes.discard(name)
            # A job that gets its own handoff needs no link to itself.
            for above, below in product(writers, readers - writers):
                self._connect(Node.of_job(above), Node.of_job(below))

    def _add(self, ref: JobRef, edges: Edges) -> None:
        self.jobs[ref] = edges
        for name in edges.reads:
            self.readers.setdefault(name, set()).add(ref)
        for name in edges.writes:
            self.writers.setdefault(name, set()).add(ref)

    def _note_run(self, state: State, run: Run) -> None:
        """Keep the run for its job if it ranks above the one that is kept."""
        current = self.runs.get(run.key.job)
        if current is None or rank(state, run) > rank(state, current):
            self.runs[run.key.job] = run


def rank(state: State, run: Run) -> tuple[bool, int, RunKey]:
    """Return a sort key of runs: completed ones are last, the newest of them at the end."""
    return outcome(state, run).state is RunState.COMPLETED, start_of(run) or 0, run.key


def _rolled_up(
    generations: Generations, level: Level | None, parts: Mapping[Generation, Edges]
) -> Iterator[tuple[Run | JobRef, Edges]]:
    """Yield each owner at a level with its edges, and each job with declared edges.

    A task run gets those of its queries by `task_edges`, where an input of one query need not feed
    an output of another. Any other owner gets one set, where every input may feed every output.
    """
    yield from ((g.job, part) for g, part in parts.items() if not g.runs)
    levels, owned = generations.levels, dict[RunKey, tuple[Run, list[Part]]]()
    for owner, run, edges in _owned(generations, level, parts):
        if edges.reads or edges.writes:
            owned.setdefault(owner.key, (owner, []))[1].append((run, edges))
    for owner, found in owned.values():
        if level is Level.TASK and levels.of(owner.key.job) <= level:
            yield owner, task_edges(levels, found)
        else:
            yield owner, merged(edges for _, edges in found)


def _owned(
    generations: Generations, level: Level | None, parts: Mapping[Generation, Edges]
) -> Iterator[tuple[Run, Run, Edges]]:
    """Yield the owner at a level of each run, the run and its edges at that level.

    A run above the level owns itself, with the edges that no run below it reports.
    """
    current = list({run.key: run for generation in parts for run in generation.runs}.values())
    edges_of, levels = _edges_of_runs(generations, parts), generations.levels
    if level is None:
        yield from ((run, run, edges_of(run)) for run in current)
        return
    if level is Level.QUERY:
        current = without_wrappers(generations.state, current)
    below = edges_below(levels, ((run, edges_of(run)) for run in current))
    for run in current:
        edges = edges_of(run)
        owner = levels.owner(run, level)
        if levels.of(owner.key.job) > level and run.key in below:
            edges = edges_not_below(edges, below[run.key])
        yield owner, run, edges


def without_empty_writes(
    generations: Generations, selected: Iterable[Generation] | Mapping[Generation, Edges]
) -> dict[Generation, Edges]:
    """Return the edges of generations, without writes that only created a dataset.

    Otherwise, a CREATE TABLE would be shown as a second source of the rows. Such a write remains if
    no generation wrote rows, or if one read the dataset before the rows.
    """
    found = dict(selected) if isinstance(selected, Mapping) else {g: g.edges for g in selected}
    writing = generations.writing
    for generation in [g for g in found if g.only_created]:
        used = {flow.dataset for _, flow in generations.present.flows_from(generation)}
        whole = generation.original
        # Those that other generations wrote rows to: then, this one does not count as a writer.
        lacking = {n for n in whole.only_created if whole not in {g.original for g in writing(n)}}
        edges = found[generation]
        if empty := edges.writes & lacking - used:
            found[generation] = edges.within(Edges(edges.reads, edges.writes - empty))
    return found


def replaced_writes(
    generations: Generations, parts: Mapping[Generation, Edges]
) -> Iterator[tuple[Generation, set[DatasetName]]]:
    """Yield generations, each with the datasets that have none of the rows that it wrote any more.

    These rows were all replaced or removed. A dataset whose rows a present generation read or kept
    before is not among them: the generation is in the tree of that reader. A dropped dataset that
    was not written again keeps the lineage of its last rows.
    """
    state, writing, span = generations.state, generations.writing, generations.times.of_writes
    for generation, edges in parts.items():
        old = {n for n in edges.writes if span(generation, n).end < emptied_before(state, n, inf)}
        old -= {n for n in old if generation.original in {g.original for g in writing(n)}}
        if generation.runs and old:
            old -= {flow.dataset for _, flow in generations.present.flows_from(generation)}
            yield generation, old


def _edges_of_runs(
    generations: Generations, parts: Mapping[Generation, Edges]
) -> Callable[[Run], Edges]:
    """Return a function that returns the edges that a run reports itself.

    They are limited to the requested parts of its generations, unless one is requested as a whole:
    then the part is the very object `edges`. A run in several parts has the edges of all of them.
    """
    of_whole = (g for g, part in parts.items() if part is g.original.edges)
    whole = {run.key for generation in of_whole for run in generation.runs}
    limited: dict[RunKey, Edges] = {}
    for generation, part in parts.items():
        for run in generation.runs:
            if run.key not in whole:
                limited.setdefault(run.key, Edges()).add(generations.own(run).within(part))
    return lambda run: limited[run.key] if run.key in limited else generations.own(run)
