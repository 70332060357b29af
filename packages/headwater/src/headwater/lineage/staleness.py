"""Stale edges: those that the newest finished runs of their job no longer have.

A generation is the runs of a task under one parent run. It is complete if all of its runs ended and
at least one completed. The *history* of a job is its generations, oldest first.
"""

from __future__ import annotations

from collections.abc import Iterator

from headwater import deadline
from headwater.events import JobRef
from headwater.events.facets import CommitReport, LifecycleStateChange
from headwater.graph.current import generations_of
from headwater.graph.generation import Generation
from headwater.graph.generations import Generations
from headwater.identity import DatasetName
from headwater.projection import State, start_of
from headwater.projection.facet_books import FacetBook

STALE_AFTER = 3
"""Finished runs of a job without an edge, after which the edge is stale."""


def missed_runs(generations: Generations, ref: JobRef, name: DatasetName, *, is_read: bool) -> int:
    """Return the number of finished runs of a task since the last one with an edge, at most three.

    Runs that read or wrote nothing do not count. Return 0 if no run has the edge.

    `Statements.grade` marks an edge as stale from three on.
    """
    count = 0
    for generation in reversed(generations.history(ref)):
        if name in (generation.edges.reads if is_read else generation.edges.writes):
            return count
        count += generation.is_complete and bool(generation.runs)
        if count == STALE_AFTER:
            return count
    return 0


def may_be_replaced(generations: Generations, ref: JobRef, name: DatasetName) -> bool:
    """Return True if another job may have replaced everything that a task wrote to a dataset.

    Spark reports an overwrite of one partition like one of the whole table. Only a commit report
    shows how many rows remain.

    `ref` is the task. An edge from it to the dataset is then only possible.
    """
    overwrites = _uncertain_overwrites(generations, name)
    if not any(job != ref for _, job in overwrites):
        return False
    own = generations.history_of_writes(ref, name)
    written = (generations.times.of_writes(g, name).end for g in own)
    last = max(written, default=None)
    return last is not None and any(job != ref and last <= start for start, job in overwrites)


def _uncertain_overwrites(generations: Generations, name: DatasetName) -> list[tuple[int, JobRef]]:
    """Return the start and job of each finished Spark run that overwrote some or all rows.

    Times are microseconds. Runs that read the dataset do not count. Cached until the next event.
    """
    key = "uncertain overwrites", name
    if key not in generations.state.derived:
        identity = generations.state.identity
        aliases = [alias for alias in identity.names(name) if identity.primary(alias) == name]
        found = [
            (start_of(run) or 0, generation.job)
            for ref in generations.writers(name)
            for generation in deadline.watched(generations.history_of_writes(ref, name))
            if generation.is_complete and name not in generation.edges.reads
            for run in generation.runs
            if any(
                _overwrites_unknown_rows(use.dataset_facets, use.io_facets)
                for use in map(run.outputs.get, aliases)
                if use is not None
            )
        ]
        generations.state.derived[key] = found
    answer: list[tuple[int, JobRef]] = generations.state.derived[key]
    return answer


def _overwrites_unknown_rows(facets: FacetBook, output_facets: FacetBook) -> bool:
    """Return True if Spark reports an OVERWRITE without a commit report.

    It may replace all rows or only some partitions; only a commit report would show which.
    """
    change = facets.get(LifecycleStateChange.KEY)
    return (
        LifecycleStateChange.parse(change).lifecycleStateChange == "OVERWRITE"
        and "/integration/spark" in str(change.get("_producer"))
        and not output_facets.parsed(CommitReport).is_reported
    )


def deciding_runs(state: State) -> Iterator[str]:
    """Yield the ids of the runs that decide whether the edges of their job are stale.

    These are the newest runs of each job, back to the last one of each edge, but at most
    STALE_AFTER finished ones. Retention keeps them, so that `missed_runs` stays the same.
    """
    generations = generations_of(state)
    for ref in state.jobs:
        history = generations.history(ref)
        lacking = {edge for generation in history for edge in _edges_of(generation)}
        count = 0
        for generation in reversed(history):
            yield from (run.key.run_id for run in generation.runs)
            lacking -= _edges_of(generation)
            count += generation.is_complete and bool(generation.runs)
            if not lacking or count == STALE_AFTER:
                break


def _edges_of(generation: Generation) -> set[tuple[str, DatasetName]]:
    edges = generation.edges
    return {("reads", name) for name in edges.reads} | {("writes", name) for name in edges.writes}
