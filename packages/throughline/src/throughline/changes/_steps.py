"""Changes of the edges of tasks over time, generation by generation.

The effective generations of a task at a time are its newest finished one, the unfinished ones after
it, and older ones with data that was not replaced (see generations.py). Here they are followed from
the first generation to the last, in one pass.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from throughline import deadline
from throughline.events import JobRef
from throughline.graph.edges import DataEdge, LevelGraph
from throughline.graph.generation import Generation
from throughline.graph.generations import Generations
from throughline.graph.levels import Level
from throughline.identity import DatasetName
from throughline.projection import Run, State, outcome


class Step(NamedTuple):
    """A generation of a task, with the edges that it added and removed; times in microseconds."""

    began: int
    ended: int
    runs: dict[JobRef, Run]
    """The runs that own it at the level."""
    added: frozenset[DataEdge]
    removed: frozenset[DataEdge]


def steps_of(generations: Generations, ref: JobRef, level: Level) -> list[Step]:
    """Return the generations of a task that have runs, oldest first; cached."""

    def derive(oldest_first: list[Generation]) -> list[Step]:
        return list(_steps(generations, level, oldest_first))

    return generations.derived(ref, f"steps {level}", derive)


class EffectiveGenerations:
    """The effective generations of a task, updated one generation at a time."""

    def __init__(self) -> None:
        self._count: Counter[Generation] = Counter()
        self._base: Generation | None = None
        self._newer: list[Generation] = []
        self._remaining: dict[Generation, set[DatasetName]] = {}
        self._writers: dict[DatasetName, list[Generation]] = defaultdict(list)
        self.entered: list[Generation] = []
        self.left: list[Generation] = []

    def take(self, generation: Generation) -> None:
        """Add the next generation; `entered` and `left` are those that became effective or not."""
        self.entered, self.left = [], []
        writes = generation.edges.writes
        self._retain(generation)
        if not generation.is_complete:
            self._newer.append(generation)
        elif writes or self._base is None or not self._base.edges.writes:
            for superseded in (self._base, *self._newer):
                self._release(superseded)
            self._base, self._newer = generation, []
        else:  # it found nothing to do
            self._release(generation)
        if generation.is_complete:
            self._settle(writes)
        if writes:
            self._retain(generation)
            self._remaining[generation] = set(writes)
            for name in writes:
                self._writers[name].append(generation)

    def _settle(self, names: Iterable[DatasetName]) -> None:
        for name in names:
            for generation in self._writers.pop(name, ()):
                self._remaining[generation].discard(name)
                if not self._remaining[generation]:
                    del self._remaining[generation]
                    self._release(generation)

    def _retain(self, generation: Generation) -> None:
        self._count[generation] += 1
        if self._count[generation] == 1:
            self.entered.append(generation)

    def _release(self, generation: Generation | None) -> None:
        if generation is None:
            return
        self._count[generation] -= 1
        if not self._count[generation]:
            del self._count[generation]
            self.left.append(generation)


def _steps(
    generations: Generations, level: Level, oldest_first: list[Generation]
) -> Iterator[Step]:
    effective = EffectiveGenerations()
    counts: Counter[DataEdge] = Counter()
    edges: dict[Generation, set[DataEdge]] = {}
    for generation in deadline.watched(oldest_first):
        if not generation.runs:
            continue
        graph = LevelGraph.build(generations, level, [generation])
        edges[generation] = set(graph.data_edges())
        effective.take(generation)
        moved: Counter[DataEdge] = Counter()
        for current in effective.entered:
            moved.update(edges[current])
        for former in effective.left:
            moved.subtract(edges.pop(former))
        before = {edge for edge in moved if counts[edge]}
        counts.update(moved)
        after = {edge for edge in moved if counts[edge]}
        yield Step(
            generation.started,
            max(_ended(generations.state, run) for run in (*generation.runs, *graph.runs.values())),
            graph.runs,
            frozenset(after - before),
            frozenset(before - after),
        )


def _ended(state: State, run: Run) -> int:
    return outcome(state, run).ended or run.last or run.first or 0
