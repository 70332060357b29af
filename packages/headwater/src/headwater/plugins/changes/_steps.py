"""Changes of the edges of tasks over time: those of the effective generations after each one.

A generation is the runs of a task under one parent run. The effective ones of a task at a time are
the newest finished one, later unfinished ones, and older ones with an output that no later finished
one wrote.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from headwater import deadline
from headwater.events import JobRef
from headwater.graph.edges import DataEdge, LevelGraph
from headwater.graph.generation import EffectiveGenerations, Generation
from headwater.graph.generations import Generations
from headwater.graph.levels import Level
from headwater.projection import Run, State, outcome


class Step(NamedTuple):
    """A generation of a task, with the edges that it added and removed; times in microseconds.

    The edges are changes of what is effective: an older generation with the same edges can stay.
    """

    began: int
    ended: int
    runs: dict[JobRef, Run]
    """The runs that own it at the level."""
    added: frozenset[DataEdge]
    removed: frozenset[DataEdge]


def steps_of(generations: Generations, ref: JobRef, level: Level) -> list[Step]:
    """Return the generations of a task that have runs, oldest first; cached.

    They are computed again if a run of the task changes.
    """

    def derive(oldest_first: list[Generation]) -> list[Step]:
        return list(_steps(generations, level, oldest_first))

    return generations.derived(ref, f"steps {level}", derive)


def _steps(
    generations: Generations, level: Level, oldest_first: list[Generation]
) -> Iterator[Step]:
    """Yield a step per generation with runs, each after those that started earlier."""
    effective = EffectiveGenerations()
    counts: Counter[DataEdge] = Counter()
    edges: dict[Generation, set[DataEdge]] = {}
    for generation in deadline.watched(oldest_first):
        if not generation.runs:
            continue
        graph = LevelGraph.build(generations, level, [generation])
        edges[generation] = set(graph.data_edges())
        effective.take(generation)
        # `counts` has the number of effective generations with an edge; `moved` changes it
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
    """Return the end of a run in microseconds; of an open run, its last event."""
    return outcome(state, run).ended or run.last or run.first or 0
