"""The rhythms of the jobs that write a dataset.

Each pipeline that writes a dataset has a rhythm of its own, so that a dataset is late if one of
them is, whether or not the others are. Tasks that share a pipeline, and pipelines that share a
task, count together: a branch or a renamed task of a pipeline may write instead of another one.
Only if no current writer has a rhythm of its own, such as jobs with a date in their names, do the
intervals between all writes count.

A pipeline no longer counts once other jobs took it over (`successors`), or once another job wrote
the dataset after the pipeline had stopped. The writes of jobs that run on request, and runs that
only emptied, created or altered the dataset, never count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from math import inf

from headwater import deadline
from headwater.events import JobRef
from headwater.events.facets import LifecycleStateChange
from headwater.graph.current import generations_of
from headwater.graph.generation import Generation
from headwater.graph.lifecycle import removes_data
from headwater.health._schedule import Start, start_of_run, states_schedule
from headwater.health.freshness import (
    LEAST_RUNS,
    PLACE,
    Rhythm,
    has_reason,
    is_ad_hoc,
    rhythm_of_starts,
)
from headwater.health.recovery import successors
from headwater.identity import DatasetName
from headwater.projection import Run, RunKey, State, Use
from headwater.projection.derived import ancestry_of, records_of

_CHANGES = frozenset((LifecycleStateChange.KEY,))


class _Write:
    """A write of a dataset by a run, with the start that counts for its rhythm."""

    __slots__ = ("jobs", "root", "start")

    def __init__(self, run: Run, above: Sequence[Run], start: Start) -> None:
        self.root: RunKey = (above[-1] if above else run).key
        self.jobs = (run.key.job, *(member.key.job for member in above))
        """The job of the run and those above it, up to that of the root run."""
        self.start = start


class Writers:
    """Tasks that write a dataset on one schedule, with these writes."""

    def __init__(self, tasks: tuple[JobRef, ...], writes: list[_Write]) -> None:
        """Create it; there is at least one write."""
        self.tasks = tasks
        self.writes = writes

    @cached_property
    def jobs(self) -> frozenset[JobRef]:
        """The tasks, their queries and the jobs above them."""
        return frozenset((*self.tasks, *(job for write in self.writes for job in write.jobs)))

    @cached_property
    def last(self) -> int:
        """The last start, in microseconds."""
        return max(write.start.at for write in self.writes)

    @cached_property
    def rhythm(self) -> Rhythm | None:
        """The rhythm, or None without evidence of one. Runs under one root run are one start."""
        first: dict[RunKey, Start] = {}
        for write in self.writes:
            first[write.root] = min(write.start, first.get(write.root, write.start), key=PLACE)
        return rhythm_of_starts(first.values())

    @property
    def newest(self) -> JobRef:
        """The job of the root run of the newest write."""
        return max(self.writes, key=lambda write: write.start.place).root.job


def rhythm_of_writes(
    state: State, name: DatasetName, *, needs_reason: bool = True
) -> Rhythm | None:
    """Return the rhythm by which a dataset is late; None if there is no evidence of one.

    If there are several, it is that of the job that is latest, else that of one that has stopped,
    else that of the job that is due next. With `needs_reason`, jobs that others replaced, and those
    that wait for assets that were not written, do not count. Without it, the rhythm is the one
    whose limit passes first.
    """
    found = rhythms_of_writers(state, name, needs_reason=needs_reason)
    if not needs_reason:
        return min(found, key=_limit, default=None)
    now = state.now
    late = [rhythm for rhythm in found if rhythm.is_late(now)]
    if late:
        return max(late, key=lambda rhythm: (now - rhythm.due) / max(1, rhythm.every))
    stopped = [rhythm for rhythm in found if rhythm.is_stopped(now)]
    return min(stopped or found, key=lambda rhythm: rhythm.due, default=None)


def rhythms_of_writers(
    state: State, name: DatasetName, *, needs_reason: bool = True
) -> list[Rhythm]:
    """Return the rhythms of the jobs that keep writing a dataset.

    Each names its jobs. If there is only one group of jobs, or if all are considered together, no
    pipeline is named.
    """
    current = _current(_groups(_counted(state, _parts(state, name))))
    scheduled = [
        writers
        for writers in current
        if writers.rhythm is not None
        and not (needs_reason and _were_replaced(state, name, writers, writers.rhythm))
    ]
    found = scheduled or ([_merged(current)] if current else [])
    is_named = len(current) > 1 and bool(scheduled)
    return [
        rhythm._replace(job=writers.newest if is_named else None, jobs=writers.jobs)
        for writers in found
        if (rhythm := writers.rhythm) is not None
        and not (needs_reason and _has_no_reason(state, writers, rhythm))
    ]


def overdue_writes_after(state: State, name: DatasetName) -> float:
    """Return the time, in microseconds, after which a dataset is late, unless another rule applies.

    It is infinite without evidence of a schedule. For nearly all datasets, it is determined without
    generations, so this is much faster than `rhythm_of_writes`, which has the same limit.
    """
    keys = {key for record in records_of(state, name) for key in record.writers}
    if not may_have_rhythm(state, keys):
        return inf
    runs = [state.runs[key] for key in keys]
    uses = (use for run in runs for use in _uses(state, run, name))
    if any(use.dataset_facets.has_any(_CHANGES) for use in uses):
        # Only generations show which runs created, emptied or changed the dataset as a whole.
        rhythm = rhythm_of_writes(state, name, needs_reason=False)
        return _limit(rhythm) if rhythm else inf
    by_job: dict[JobRef, list[_Write]] = {}
    for write in _writes(state, runs, name):
        by_job.setdefault(write.jobs[0], []).append(write)
    parts = (Writers((ref,), writes) for ref, writes in by_job.items())
    current = _current(_groups(_counted(state, parts)))
    rhythms = [writers.rhythm for writers in current if writers.rhythm]
    if not rhythms and current and (rhythm := _merged(current).rhythm):
        rhythms = [rhythm]
    return min(map(_limit, rhythms), default=inf)


def may_have_rhythm(state: State, keys: Collection[RunKey]) -> bool:
    """Return False if runs are too few for a rhythm, and no schedule was reported with one."""
    return len(keys) >= LEAST_RUNS or any(
        states_schedule(part) for key in keys for part in ancestry_of(state, state.runs[key])
    )


def _limit(rhythm: Rhythm) -> int:
    """Return the time, in microseconds, after which a rhythm is late."""
    return rhythm.last + rhythm.limit


def _parts(state: State, name: DatasetName) -> Iterator[Writers]:
    """Yield the tasks that wrote rows of a dataset, each with its writes."""
    generations = generations_of(state)
    for ref in generations.writers(name):

        def derive(writing: list[Generation], ref: JobRef = ref) -> Writers:
            with_rows = (item for item in writing if name not in item.only_created)
            runs = (run for generation in with_rows for run in generation.runs)
            return Writers((ref,), list(_writes(state, runs, name)))

        yield generations.derived_of_writes(ref, name, "write starts", derive)


def _counted(state: State, parts: Iterable[Writers]) -> Iterator[Writers]:
    """Yield tasks without the writes under jobs that run on request; none without other writes."""
    for part in parts:
        on_request = {ref for ref in part.jobs if is_ad_hoc(state, ref)}
        if on_request:
            writes = [write for write in part.writes if on_request.isdisjoint(write.jobs)]
            part = Writers(part.tasks, writes)
        if part.writes:
            yield part


def _groups(parts: Iterable[Writers]) -> list[Writers]:
    """Return the tasks in groups: those that share a job, such as their pipeline, are together."""
    group_of: dict[JobRef, list[Writers]] = {}
    for part in parts:
        near = {id(group): group for job in part.jobs if (group := group_of.get(job))}
        first, *others = near.values() or ([],)
        added = [part, *(member for group in others for member in group)]
        first += added
        group_of.update((job, first) for member in added for job in member.jobs)
    return [_merged(group) for group in {id(group): group for group in group_of.values()}.values()]


def _merged(parts: list[Writers]) -> Writers:
    """Return tasks as one group; there is at least one."""
    if len(parts) == 1:
        return parts[0]
    tasks = tuple(dict.fromkeys(task for part in parts for task in part.tasks))
    return Writers(tasks, [write for part in parts for write in part.writes])


def _current(groups: list[Writers]) -> list[Writers]:
    """Return the groups, except stopped ones after whose stop another one wrote the dataset."""
    *_, before, newest = 0, 0, *sorted(writers.last for writers in groups)

    def is_retired(writers: Writers) -> bool:
        of_others = before if writers.last == newest else newest
        return writers.rhythm is not None and writers.rhythm.is_stopped(of_others)

    return [writers for writers in groups if not is_retired(writers)]


def _were_replaced(state: State, name: DatasetName, writers: Writers, rhythm: Rhythm) -> bool:
    """Return True if a group is overdue, and other jobs took over the dataset since it last wrote.

    The tasks that it ran last are compared with the others.
    """
    if state.now - rhythm.last <= rhythm.limit:
        return False
    root = max(writers.writes, key=lambda write: write.start.place).root
    newest = {job for write in writers.writes if write.root == root for job in write.jobs}
    tasks = newest.intersection(writers.tasks)
    return any(ref not in writers.jobs for ref in successors(state, name, tasks, rhythm.last))


def _has_no_reason(state: State, writers: Writers, rhythm: Rhythm) -> bool:
    """Return True if a group is overdue, but none of its tasks had a reason to start."""
    is_overdue = state.now - rhythm.last > rhythm.limit
    return is_overdue and not any(has_reason(state, ref, rhythm) for ref in writers.tasks)


def _writes(state: State, runs: Iterable[Run], name: DatasetName) -> Iterator[_Write]:
    """Yield the writes of a dataset by some runs, without those that only removed its rows."""
    for run in deadline.watched(runs):
        if not all(removes_data(run, use) for use in _uses(state, run, name)):
            _, *above = ancestry_of(state, run)
            if start := start_of_run(state, run, above[-1] if above else run):
                yield _Write(run, above, start)


def _uses(state: State, run: Run, name: DatasetName) -> Iterator[Use]:
    """Yield the reports of a run about an output, one for each of its names."""
    outputs = run.outputs
    yield from (outputs[alias] for alias in state.identity.names(name) if alias in outputs)
