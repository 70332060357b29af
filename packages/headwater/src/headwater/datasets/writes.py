"""Writes of a dataset: one per version, whichever runs of a task reported it.

A run that failed without a version or rows wrote nothing; it is a failed attempt.

A task and its queries may report the same write; a query belongs to the task that is its owner.
Names are primary names. A *generation* is the runs of a task under one parent run.
`derived_of_writes` caches a value of the generations of a task that wrote the dataset.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import NamedTuple

from headwater import deadline
from headwater.datasets.models import WriteStatistics
from headwater.events import JobRef
from headwater.events.facets import CommitReport, OutputStatistics
from headwater.graph.generation import Generation
from headwater.graph.generations import Generations
from headwater.graph.levels import Level
from headwater.graph.lifecycle import removes_data
from headwater.identity import DatasetName
from headwater.projection import Run, RunState, State, outcome, unpack
from headwater.projection.derived import ended_at, is_streaming
from headwater.projection.state import RunKey, Use, Version


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
    """Return all writes of a dataset, under any of its aliases.

    They are in no order. Writes of generations that are not effective any more are included.
    """

    def derive(writing: list[Generation]) -> list[Write]:
        watched = deadline.watched(writing)
        return [
            write for generation in watched for write in written_by(generations, generation, name)
        ]

    jobs = generations.writers(name)
    found = [generations.derived_of_writes(ref, name, "writes", derive) for ref in jobs]
    return [write for writes in found for write in writes]


class FailedWrite(NamedTuple):
    """A run that failed before it reported that it wrote a dataset."""

    at: int
    """The end of the run, in microseconds."""
    run: Run


def failed_writes_of(generations: Generations, name: DatasetName) -> list[FailedWrite]:
    """Return the failed attempts to write a dataset, under any of its aliases.

    `run` of the result is the run of the task, of which no query reported that it wrote the
    dataset.
    """
    state = generations.state

    def derive(ref: JobRef, _: list[Generation]) -> list[FailedWrite]:
        """Return the failed writes of one job: task runs in which no run wrote the dataset."""
        by_owner: dict[RunKey, list[tuple[Run, Use]]] = defaultdict(list)
        own = generations.history_of_writes(ref, name)
        for generation in deadline.watched(own):
            for run, use in _uses(state, generation, name):
                by_owner[generations.levels.owner(run, Level.TASK).key].append((run, use))
        return [
            FailedWrite(max(ended_at(state, run) for run, _ in uses), state.runs[key])
            for key, uses in by_owner.items()
            if not any(has_written(state, run, use) for run, use in uses)
        ]

    jobs = generations.writers(name)
    found = [
        generations.derived(ref, f"failed writes {name}", partial(derive, ref)) for ref in jobs
    ]
    return [attempt for attempts in found for attempt in attempts]


def _uses(state: State, generation: Generation, name: DatasetName) -> Iterator[tuple[Run, Use]]:
    """Yield the runs of a generation that had a dataset as output and did not remove its data."""
    primary = state.identity.primary
    for run in generation.runs:
        for spelled, use in run.outputs.items():
            if primary(spelled) == name and not removes_data(run, use):
                yield run, use


def has_written(state: State, run: Run, use: Use) -> bool:
    """Return True unless a run failed and reported neither a version nor rows of an output.

    A stream wrote until it failed.

    `use` is the output in question. A failed commit has no version.
    """
    if outcome(state, run).state not in (RunState.FAILED, RunState.ABORTED) or use.versions:
        return True
    reported = use.io_facets.parsed(OutputStatistics)
    return bool(reported.rowCount or reported.size) or is_streaming(state, run)


def newest_write(generations: Generations, name: DatasetName) -> tuple[Write, int | None] | None:
    """Return the newest write of a dataset, and the rows of all commits of its run.

    The rows are None if unknown. Return None if the dataset has no write. The order is by end, then
    by run.
    """

    def rank(write: Write) -> tuple[int, RunKey, str]:
        return write.at, write.run.key, write.version

    def derive(ref: JobRef, _: list[Generation]) -> tuple[Write, int | None] | None:
        """Return the newest write of one job and its rows, if reported; None if it never wrote."""
        watched = deadline.watched(generations.history_of_writes(ref, name))
        by_generation = (written_by(generations, generation, name) for generation in watched)
        newest = [(max(writes, key=rank), writes) for writes in by_generation if writes]
        if not newest:
            return None
        write, others = max(newest, key=lambda item: rank(item[0]))
        return write, _rows(other for other in others if other.run is write.run)

    jobs = generations.writers(name)
    found = [generations.derived(ref, f"newest write {name}", partial(derive, ref)) for ref in jobs]
    return max((item for item in found if item), key=lambda item: rank(item[0]), default=None)


def written_by(generations: Generations, generation: Generation, name: DatasetName) -> list[Write]:
    """Return the writes of a dataset by a generation.
    A run without a reported version (a task above its queries, a CREATE TABLE) adds no write if
    another run reported one.

    The list is empty if the generation only removed the data, or failed.
    """
    state = generations.state
    found: dict[str | RunKey, list[_Report]] = defaultdict(list)
    for run, use in _uses(state, generation, name):
        for version in use.versions:
            found[version.name].append(_Report(run, use, version))
        if not use.versions and has_written(state, run, use):
            owner = generations.levels.owner(run, Level.TASK)
            found[owner.key].append(_Report(run, use, None))
    is_stated = any(isinstance(version, str) for version in found)
    return [
        _write(generations, reports, is_stated=is_stated)
        for version, reports in found.items()
        if isinstance(version, str) == is_stated
    ]


class _Report(NamedTuple):
    """A write that a run reported, with its version if it stated one."""

    run: Run
    use: Use
    version: Version | None

    @property
    def _only(self) -> Version | None:
        """The version, if the run reported others too, so that its facets are not all of this."""
        return self.version if len(self.use.versions) > 1 else None

    def statistics(self) -> OutputStatistics:
        """The reported numbers of rows and bytes, of the part that the report is about.

        If the run wrote several versions, these are in the facets of the event of this one. If it
        has no number of rows, the rows that its Iceberg commit added count.
        """
        if self._only is None:
            return self.use.io_facets.parsed(OutputStatistics)
        facets = unpack(self._only.io_facets)
        found = OutputStatistics.parse(facets.get(OutputStatistics.KEY, {}))
        report = CommitReport.parse(facets.get(CommitReport.KEY, {}))
        if found.rowCount is None and report.is_reported:
            found = replace(found, rowCount=int(report.added))
        return found

    def ended(self, state: State) -> int:
        """Return the end of the run; for one of several versions, its commit if that is earlier."""
        end = ended_at(state, self.run)
        return end if self._only is None else min(end, self._only.stamp.time)


def _write(generations: Generations, reports: list[_Report], *, is_stated: bool) -> Write:
    """Combine the reports of one version, or of one run of a task that reported no version.

    The run of the task counts more than its queries: its statistics are used first, and those of
    the queries if it reports none. A version (`is_stated`) was there when the first run that
    reports it ended; without one, the write ended with the last run.
    """
    state = generations.state

    def rank(report: _Report) -> tuple[bool, int, RunKey]:
        run = report.run
        return generations.levels.owner(run, Level.TASK) is run, report.ended(state), run.key

    reports = sorted(reports, key=rank, reverse=True)
    first = reports[0]
    facets = [report.statistics() for report in reports]
    ends = [report.ended(state) for report in reports]
    return Write(
        min(ends) if is_stated else max(ends),
        generations.levels.owner(first.run, Level.TASK),
        first.version.name if first.version else first.run.key.run_id,
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
