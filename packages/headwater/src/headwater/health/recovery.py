"""Recovery of failed runs: another job wrote the data, or a failed stream runs again.

The states of nodes and gates use this one rule. A failed run has recovered if a successor wrote the
dataset: a job that wrote it for the first time after the failure, and reads all that the failed job
read for it. Other jobs that write the dataset may write other rows. A failed stream has recovered
as soon as it runs again, because it never completes. A later run of the pipeline without the task
proves nothing: the task may have been left out, as by `dbt run --select`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from math import inf

from headwater.datasets.writes import failed_writes_of, newest_write
from headwater.events import JobRef
from headwater.graph.current import generations_of
from headwater.graph.generation import Generation
from headwater.graph.levels import Level
from headwater.health.failing import running_stream
from headwater.identity import DatasetName
from headwater.projection import Run, RunKey, State, outcome
from headwater.projection.derived import began_at, ended_at
from headwater.runs.failures import is_failed, was_repeated
from headwater.runs.summary import newest_run, place_of_run


def is_recovered(state: State, run: Run, name: DatasetName, until: float = inf) -> bool:
    """Return True if a failed run has recovered by the time `until`.

    Its job runs again as a stream, or a successor of the job wrote the dataset.

    `run` is the failed run, and `name` a dataset that its task writes. `until` is in microseconds:
    a gate about an earlier time must not know of later writes.
    """
    failed = generations_of(state).levels.owner(run, Level.TASK).key.job
    if running_stream(state, failed, outcome(state, run).ended, until):
        return True
    return bool(successors(state, name, [failed], failed_since(state, run), until))


def unrepeated_write(state: State, name: DatasetName) -> Run | None:
    """Return a failed run of which the dataset has rows, or may have; None if there is none.

    It is the newest run that wrote the dataset or should have, or one whose rows no later run
    replaced. A later run of its job, such as a retry, that completed without writing the dataset
    does not change what the failed run left.
    """
    known = generations_of(state)
    newest = newest_write(known, name)

    def defining(writing: list[Generation]) -> set[RunKey]:
        return {run.key for g in writing if name in g.only_created for run in g.runs}

    definitions = {
        key
        for ref in known.writers(name)
        for key in known.derived_of_writes(ref, name, "definitions", defining)
    }
    failed = failed_writes_of(known, name)
    attempts = [(item.at, item.run) for item in failed if item.run.key not in definitions]
    runs = [*attempts, *([(newest[0].at, newest[0].run)] if newest else [])]
    _, run = max(runs, key=lambda item: (item[0], item[1].key), default=(0, None))
    if run is not None and is_failed(state, run) and not is_recovered(state, run, name):
        return run
    present = (run for g in known.writing(name) for run in g.runs if name in known.own(run).writes)
    left = (
        run
        for run in present
        if is_failed(state, run)
        and not was_repeated(state, run)
        and not is_recovered(state, run, name)
    )
    return max(left, key=partial(place_of_run, state), default=None)


def failed_since(state: State, run: Run) -> int:
    """Return the start of a failed run; its end if a later run ended before it, as in backfills."""
    began, ended = began_at(state, run) or 0, ended_at(state, run)
    newest = newest_run(state, run.key.job)
    if newest is None or newest is run or outcome(state, newest).ended is None:
        return began
    return ended if ended_at(state, newest) < ended else began


def successors(
    state: State, name: DatasetName, failed: Iterable[JobRef], since: int, until: float = inf
) -> list[JobRef]:
    """Return the jobs that took over a dataset from failed jobs between `since` and `until`.

    Times are in microseconds. A failed job that read nothing for the dataset has no successors,
    because there is nothing by which to compare.
    """
    needed = {old: reads for old in failed if (reads := _written(state, old, name)[1])}

    def took_over(ref: JobRef) -> bool:
        first, reads = _written(state, ref, name)
        is_in_time = first is not None and since <= first <= until
        return is_in_time and any(
            old != ref and reads.issuperset(sources) for old, sources in needed.items()
        )

    return [ref for ref in generations_of(state).writers(name) if took_over(ref)]


def _written(
    state: State, ref: JobRef, name: DatasetName
) -> tuple[int | None, frozenset[DatasetName]]:
    """Return the time of a task's first complete write of a dataset, and the last one's sources.

    The time is the start of that generation, in microseconds; None if no write was complete.
    Cached.
    """

    def derive(writing: list[Generation]) -> tuple[int | None, frozenset[DatasetName]]:
        first = next((g.order[0] for g in writing if g.is_complete), None)
        return first, frozenset(writing[-1].edges.sources_of(name) if writing else ())

    return generations_of(state).derived_of_writes(ref, name, "first write", derive)
