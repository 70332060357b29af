"""Recovery of failed runs: another job wrote the data, or a failed stream runs again.

The states of nodes and gates use this one rule. A failed run has recovered if a successor wrote the
dataset: a job that wrote it for the first time after the failure, and reads all that the failed job
read for it. A failed run that reported neither a version nor rows has also recovered once its own
job wrote the dataset, even if the job keeps earlier rows. Other jobs that write the dataset may
write other rows. A failed stream has recovered as soon as it runs again, because it never
completes. A later run of the pipeline without the task proves nothing: the task may have been left
out, as by `dbt run --select`.

A *generation* is the runs of a task under one parent run; the *owner* of a run is the run of the
task that it is part of. `derived_of_writes` caches a value of the generations of a task that wrote
a dataset, oldest first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from math import inf

from headwater import deadline
from headwater.datasets.writes import failed_writes_of, has_written, newest_write
from headwater.events import JobRef
from headwater.graph.current import generations_of
from headwater.graph.generation import Generation
from headwater.graph.levels import Level
from headwater.health.failing import running_stream
from headwater.identity import DatasetName
from headwater.projection import Run, RunKey, RunState, State, outcome
from headwater.projection.derived import began_at, ended_at, parent_of
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
    if _is_attempt_repeated(state, run, name, until):
        return True
    return bool(successors(state, name, [failed], failed_since(state, run), until))


def _is_attempt_repeated(state: State, run: Run, name: DatasetName, until: float) -> bool:
    """Return True if a run failed without a version or rows, and its job wrote the dataset since.

    `until` is the time by which the job must have completed. Runs under the same parent run are
    left out: they may be other elements of a mapped task, and `was_repeated` handles retries.
    """
    generations = generations_of(state)
    task = generations.levels.owner(run, Level.TASK)
    attempts = {item.run.key: item.at for item in failed_writes_of(generations, name)}
    if (at := attempts.get(task.key)) is None:
        return False

    def has_repeated(writer: Run) -> bool:
        own = generations.levels.owner(writer, Level.TASK)
        is_later = (began_at(state, own) or 0) >= at and ended_at(state, own) <= until
        above = parent_of(state, own)
        is_sibling = own is task or (above is not None and above is parent_of(state, task))
        is_complete = outcome(state, own).state is RunState.COMPLETED
        return is_complete and is_later and not is_sibling

    return any(
        has_repeated(writer)
        for generation in deadline.watched(generations.history_of_writes(task.key.job, name))
        for writer in generation.runs
        if name in generations.own(writer).writes
    )


def _kept_failures(state: State, name: DatasetName) -> Iterator[Run]:
    """Yield the failed runs whose rows a dataset has because later runs read and kept them.

    These failed runs reported a version or rows of it. The walk goes from the present writers of
    the dataset upstream, through this dataset only.
    """
    generations = generations_of(state)

    def failed(writing: list[Generation]) -> list[Run]:
        return [
            run
            for generation in writing
            for run in generation.runs
            if is_failed(state, run)
            for spelled, use in run.outputs.items()
            if state.identity.primary(spelled) == name and has_written(state, run, use)
        ]

    found = (
        generations.derived_of_writes(ref, name, "failed", failed)
        for ref in generations.writers(name)
    )
    runs = {run.key: run for part in found for run in part}
    open_ = list(generations.writing(name)) if runs else []
    seen = set(open_)
    for generation in deadline.popped(open_):
        yield from (runs[run.key] for run in generation.runs if run.key in runs)
        flows = generations.flows_into(generation)
        above = {flow.source for flow in flows if flow.dataset == name} - seen
        seen |= above
        open_ += above


def unrepeated_write(state: State, name: DatasetName) -> Run | None:
    """Return a failed run of which the dataset has rows, or may have; None if there is none.

    It is the newest run that wrote the dataset or should have, or one whose rows no later run
    replaced. A later run of its job, such as a retry, that completed without writing the dataset
    does not change what the failed run left.
    """
    generations = generations_of(state)
    newest = newest_write(generations, name)

    def defining(writing: list[Generation]) -> set[RunKey]:
        return {run.key for g in writing if name in g.only_created for run in g.runs}

    definitions = {
        key
        for ref in generations.writers(name)
        for key in generations.derived_of_writes(ref, name, "definitions", defining)
    }
    failed = failed_writes_of(generations, name)
    attempts = [(item.at, item.run) for item in failed if item.run.key not in definitions]
    runs = [*attempts, *([(newest[0].at, newest[0].run)] if newest else [])]
    _, run = max(runs, key=lambda item: (item[0], item[1].key), default=(0, None))
    if run is not None and is_failed(state, run) and not is_recovered(state, run, name):
        return run
    present = (
        run
        for g in generations.writing(name)
        for run in g.runs
        if name in generations.own(run).writes
    )
    left = (
        run
        for run in (*present, *_kept_failures(state, name))
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
