"""Writes of jobs whose rows were all replaced or removed since, so that no edge shows them."""

from __future__ import annotations

from headwater.events import JobRef
from headwater.graph.current import generations_of, graph_of
from headwater.graph.edges import LevelGraph
from headwater.graph.levels import Level
from headwater.identity import DatasetName
from headwater.projection import State


def replaced_by_job(
    state: State, graph: LevelGraph, level: Level
) -> dict[JobRef, set[DatasetName]]:
    """Return the datasets that jobs of a graph wrote without an edge, by job at its level."""
    generations = generations_of(state)
    found: dict[JobRef, set[DatasetName]] = {}
    for generation, names in graph.replaced.items():
        for run in generation.runs:
            if written := names & generations.own(run).writes:
                ref = generations.levels.owner(run, level).key.job
                found.setdefault(ref, set()).update(written)
    return found


def all_writes_of(state: State, ref: JobRef) -> set[DatasetName]:
    """Return the datasets that a task writes, also if all of its rows were replaced since."""
    part = graph_of(state, Level.TASK).part_of(ref)
    return part.edges_of(ref).writes | replaced_by_job(state, part, Level.TASK).get(ref, set())
