"""Changes of the edges of tasks over time, generation by generation.

The effective generations of a task at a time are its newest finished one, the unfinished ones after
it, and older ones with data that was not replaced (see generations.py). Here they are followed from
the first generation to the last, in one pass.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple

from throughline import deadline
from throughline.graph.edges import LevelGraph
from throughline.graph.generations import Generation, Generations
from throughline.graph.levels import Level
from throughline.identity import DatasetName
from throughline.projection import Run, State, outcome
from throughline.spec import JobRef


class Edge(NamedTuple):
    """A read or write of a dataset by a job at a level."""

    job: JobRef
    direction: str
    dataset: DatasetName


class Step(NamedTuple):
    """A generation of a task, with the edges that it added and removed; times in microseconds."""

    began: int
    ended: int
    runs: dict[JobRef, Run]
    """The runs that own it at the level."""
    added: frozenset[Edge]
    removed: frozenset[Edge]


def steps_of(known: Generations, ref: JobRef, level: Level) -> list[Step]:
    """Return the generations of a task that have runs, oldest first; cached."""
    return known.derived(ref, f"steps {level}", partial(_steps, known, level))


class Counting:
    """The effective generations of a task, updated one generation at a time."""

    def __init__(self) -> None:
        self._held: Counter[Generation] = Counter()
        self._base: Generation | None = None
        self._newer: list[Generation] = []
        self._left: dict[Generation, set[DatasetName]] = {}
        self._leaving: dict[DatasetName, list[Generation]] = defaultdict(list)
        self.came: list[Generation] = []
        self.went: list[Generation] = []

    def take(self, generation: Generation) -> None:
        """Add the next generation; set `came` and `went` to the changes of what is effective."""
        self.came, self.went = [], []
        writes = generation.edges.writes
        self._hold(generation)
        if not generation.is_complete:
            self._newer.append(generation)
        elif writes or self._base is None or not self._base.edges.writes:
            for each in (self._base, *self._newer):
                self._release(each)
            self._base, self._newer = generation, []
        else:  # it looked and found nothing to do
            self._release(generation)
        if generation.is_complete:
            self._settle(writes)
        if writes:
            self._hold(generation)
            self._left[generation] = set(writes)
            for name in writes:
                self._leaving[name].append(generation)

    def _settle(self, names: Iterable[DatasetName]) -> None:
        for name in names:
            for each in self._leaving.pop(name, ()):
                self._left[each].discard(name)
                if not self._left[each]:
                    del self._left[each]
                    self._release(each)

    def _hold(self, generation: Generation) -> None:
        self._held[generation] += 1
        if self._held[generation] == 1:
            self.came.append(generation)

    def _release(self, generation: Generation | None) -> None:
        if generation is None:
            return
        self._held[generation] -= 1
        if not self._held[generation]:
            del self._held[generation]
            self.went.append(generation)


def _steps(known: Generations, level: Level, oldest_first: list[Generation]) -> list[Step]:
    return list(_walked(known, level, oldest_first))


def _walked(known: Generations, level: Level, oldest_first: list[Generation]) -> Iterator[Step]:
    counting = Counting()
    counts: Counter[Edge] = Counter()
    edges: dict[Generation, set[Edge]] = {}
    for generation in deadline.watched(oldest_first):
        if not generation.runs:
            continue
        graph = LevelGraph.build(known, level, [generation])
        edges[generation] = set(_edges(graph))
        counting.take(generation)
        moved: Counter[Edge] = Counter()
        for each in counting.came:
            moved.update(edges[each])
        for each in counting.went:
            moved.subtract(edges.pop(each))
        before = {edge for edge in moved if counts[edge]}
        counts.update(moved)
        after = {edge for edge in moved if counts[edge]}
        yield Step(
            generation.started,
            max(_ended(known.state, run) for run in (*generation.runs, *graph.runs.values())),
            graph.runs,
            frozenset(after - before),
            frozenset(before - after),
        )


def _edges(graph: LevelGraph) -> Iterator[Edge]:
    for ref, edges in graph.jobs.items():
        yield from (Edge(ref, "reads", name) for name in edges.reads)
        yield from (Edge(ref, "writes", name) for name in edges.writes)


def _ended(state: State, run: Run) -> int:
    return outcome(state, run).ended or run.last or run.first or 0
