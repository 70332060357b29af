"""Stale edges: those that the newest finished runs of their job no longer have."""

from __future__ import annotations

from collections.abc import Iterator

from headwater.events import JobRef
from headwater.graph.current import generations_of
from headwater.graph.generation import Generation
from headwater.graph.generations import Generations
from headwater.identity import DatasetName
from headwater.projection import State

STALE_AFTER = 3
"""Finished runs of a job without an edge, after which the edge is stale."""


def missed_runs(generations: Generations, ref: JobRef, name: DatasetName, *, is_read: bool) -> int:
    """Return the number of finished runs of a task since the last one with an edge, at most three.

    Runs that read or wrote nothing do not count. Return 0 if no run has the edge.
    """
    count = 0
    for generation in reversed(generations.derived(ref, "oldest first", list)):
        if name in (generation.edges.reads if is_read else generation.edges.writes):
            return count
        count += generation.is_complete and bool(generation.runs)
        if count == STALE_AFTER:
            return count
    return 0


def deciding_runs(state: State) -> Iterator[str]:
    """Yield the ids of the runs that decide whether the edges of their job are stale."""
    generations = generations_of(state)
    for ref in state.jobs:
        known = generations.derived(ref, "oldest first", list)
        lacking = {edge for generation in known for edge in _edges_of(generation)}
        count = 0
        for generation in reversed(known):
            yield from (run.key.run_id for run in generation.runs)
            lacking -= _edges_of(generation)
            count += generation.is_complete and bool(generation.runs)
            if not lacking or count == STALE_AFTER:
                break


def _edges_of(generation: Generation) -> set[tuple[str, DatasetName]]:
    edges = generation.edges
    return {("reads", name) for name in edges.reads} | {("writes", name) for name in edges.writes}
