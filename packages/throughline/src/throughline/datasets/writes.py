"""Writes of a dataset: one per version, whichever runs of a task reported it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from operator import attrgetter
from typing import NamedTuple

from throughline import deadline
from throughline.datasets.models import WriteStatistics
from throughline.events.facets import OutputStatistics
from throughline.graph.generation import Generation
from throughline.graph.generations import Generations
from throughline.graph.levels import Level
from throughline.identity import DatasetName
from throughline.projection import Run, version_of
from throughline.projection.derived import ended_at
from throughline.projection.state import RunKey, Use


class Write(NamedTuple):
    """One version of a dataset, or a task's write without a reported version."""

    at: int
    """The end of the first run that reported the version, in microseconds."""
    run: Run
    """The run of the task."""
    version: str
    """The version that a run reported, or else the id of the run that wrote."""
    is_stated: bool
    statistics: WriteStatistics


def writes_of(generations: Generations, name: DatasetName) -> list[Write]:
    """Return all writes of a dataset, under any of its aliases."""

    def derive(oldest_first: list[Generation]) -> list[Write]:
        watched = deadline.watched(oldest_first)
        return [
            write for generation in watched for write in written_by(generations, generation, name)
        ]

    jobs = generations.writers(name)
    return [write for ref in jobs for write in generations.derived(ref, f"writes {name}", derive)]


def newest_write(generations: Generations, name: DatasetName) -> tuple[Write, int | None] | None:
    """Return the newest write of a dataset, and the rows of all commits of its run.

    The rows are None if unknown. Return None if the dataset has no write.
    """

    def rank(write: Write) -> tuple[int, RunKey, str]:
        return write.at, write.run.key, write.version

    def derive(oldest_first: list[Generation]) -> tuple[Write, int | None] | None:
        watched = deadline.watched(oldest_first)
        by_generation = (written_by(generations, generation, name) for generation in watched)
        newest = [(max(writes, key=rank), writes) for writes in by_generation if writes]
        if not newest:
            return None
        write, others = max(newest, key=lambda item: rank(item[0]))
        return write, _rows(other for other in others if other.run is write.run)

    jobs = generations.writers(name)
    found = (generations.derived(ref, f"newest write {name}", derive) for ref in jobs)
    return max((item for item in found if item), key=lambda item: rank(item[0]), default=None)


def written_by(generations: Generations, generation: Generation, name: DatasetName) -> list[Write]:
    """Return the writes of a dataset by a generation.
    A run without a reported version (a task above its queries, a CREATE TABLE) adds no write if
    another run reported one.
    """
    primary = generations.state.identity.primary
    found: dict[str | RunKey, list[tuple[Run, Use]]] = defaultdict(list)
    for run in generation.runs:
        for spelled, use in run.outputs.items():
            if primary(spelled) == name:
                owner = generations.levels.owner(run, Level.TASK)
                found[use.version[1] if use.version else owner.key].append((run, use))
    is_stated = any(isinstance(version, str) for version in found)
    return [
        _write(generations, uses, is_stated=is_stated)
        for version, uses in found.items()
        if isinstance(version, str) == is_stated
    ]


def _write(generations: Generations, uses: list[tuple[Run, Use]], *, is_stated: bool) -> Write:
    state = generations.state

    def rank(use: tuple[Run, Use]) -> tuple[bool, int, RunKey]:
        run = use[0]
        return generations.levels.owner(run, Level.TASK) is run, ended_at(state, run), run.key

    uses = sorted(uses, key=rank, reverse=True)
    facets = [use.facets.parsed(OutputStatistics) for _, use in uses]
    ends = [ended_at(state, run) for run, _ in uses]
    return Write(
        min(ends) if is_stated else max(ends),
        generations.levels.owner(uses[0][0], Level.TASK),
        version_of(*uses[0]),
        is_stated,
        {
            "rows": _first(map(attrgetter("rowCount"), facets)),
            "bytes": _first(map(attrgetter("size"), facets)),
            "files": _first(map(attrgetter("fileCount"), facets)),
        },
    )


def _rows(writes: Iterable[Write]) -> int | None:
    """Return the sum of the known rows; None if all are unknown."""
    counts = [rows for write in writes if (rows := write.statistics["rows"]) is not None]
    return sum(counts) if counts else None


def _first(values: Iterable[int | None]) -> int | None:
    return next((value for value in values if value is not None), None)
