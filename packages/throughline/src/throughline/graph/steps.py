"""How the edges of tasks came and went, generation by generation.

What counts of a task at a time is what its newest finished generation did, the unfinished ones
after it, and older ones whose writing no later one has replaced (see generations.py):
here this is followed from the first generation to the last, in one pass.
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
    """A job, at the level looked at, reads or writes a dataset."""

    job: JobRef
    direction: str
    dataset: DatasetName


class Step(NamedTuple):
    """A generation of a task, and which edges came and went with it; times in microseconds."""

    began: int
    ended: int
    runs: dict[JobRef, Run]
    """The runs that answer for it at the level."""
    added: frozenset[Edge]
    removed: frozenset[Edge]


def steps_of(known: Generations, ref: JobRef, level: Level) -> list[Step]:
    """The generations of a task that are runs, the first first; found once for these."""
    return known.derived(ref, f"steps {level}", partial(_steps, known, level))


class Counting:
    """The generations of a task that count, while one after the other is taken."""

    def __init__(self) -> None:
        self._held: Counter[Generation] = Counter()
        self._base: Generation | None = None
        self._newer: list[Generation] = []
        self._left: dict[Generation, set[DatasetName]] = {}
        self._leaving: dict[DatasetName, list[Generation]] = defaultdict(list)
        self.came: list[Generation] = []
        self.went: list[Generation] = []

    def take(self, generation: Generation) -> None:
        """The next generation; `came` and `went` are then those that do or no longer count."""
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
