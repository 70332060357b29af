"""Reasons why a dataset may have an unknown reader.

A reader that sends no events cannot be detected. A dataset is therefore unused only if everything
that may read it reports: reads in its namespace were reported during the whole time, its former
readers or others of their producer still report, and no job near it lacks inputs or datasets.

- this time: that of the window, such as the last 30 days
- reporter: the namespace and the integration of a job (`_reads.reporter_of`), its producer
- near: in a pipeline that writes or read the dataset
- generation: the runs of a task under one parent run
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from headwater import deadline
from headwater.datasets.not_run import is_test
from headwater.datasets.removal import is_gone
from headwater.events import JobRef, shown_time
from headwater.events.facets import Airflow, JobType
from headwater.filter_values import is_exposure
from headwater.graph.current import generations_of, once_an_event
from headwater.graph.generation import Generation
from headwater.graph.levels import Level
from headwater.graph.nodes import Node, name_of
from headwater.graph.placeholders import is_job
from headwater.identity import DatasetName, is_location
from headwater.lineage.hidden_uses import (
    jobs_with_table_in_text,
    readers_of_folders,
    views_of_folders,
)
from headwater.lineage.orphans import likely_partner
from headwater.plugins.unused._reads import Use, Uses, reporter_of, uses_of
from headwater.plugins.unused.models import ReasonKind, UnknownReason
from headwater.projection import State
from headwater.projection.derived import began_at
from headwater.runs.summary import newest_run
from headwater.text import counted

_WITHOUT_DATA = ("EmptyOperator", "DummyOperator")
"""Operators of Airflow that do nothing."""


@dataclass
class Window:
    """The time in which a dataset was not read, and the jobs of this time that report too little.

    Times are in microseconds; events before `deleted_before` were deleted.

    Call `is_used` for each dataset, and `reasons` for those that are not used.
    """

    state: State
    since: int
    deleted_before: int

    @cached_property
    def uses(self) -> Uses:
        """The readers of all datasets."""
        return uses_of(self.state)

    def is_used(self, name: DatasetName) -> bool:
        """Return True if a dataset, or a view of it, was read in this time or is exposed."""
        open_, seen = [name], {name}
        while open_:
            dataset = open_.pop()
            uses = self.uses.by_dataset.get(dataset, {})
            if any(use.last >= self.since for use in uses.values()):
                return True
            declared = self.uses.declared.get(dataset, ())
            if any(is_exposure(self.state, Node.of_job(ref)) for ref in declared):
                return True
            views = self.uses.views.get(dataset, set()) - seen
            open_ += views
            seen |= views
        return False

    @cached_property
    def _without_inputs(self) -> dict[str, set[JobRef]]:
        """Jobs that wrote without inputs in this time, by the namespaces of what they wrote."""
        found: dict[str, set[JobRef]] = defaultdict(set)
        for ref, writes in _writes_without_inputs(self.state).items():
            for write in writes:
                if write.started >= self.since:
                    for namespace in write.namespaces:
                        found[namespace].add(ref)
        return found

    def reasons(self, name: DatasetName, first_write: float) -> Iterator[UnknownReason]:
        """Yield the reasons why a dataset that seems unused may have a reader.

        `first_write` is the time (microseconds) of its first write. Without a reason, it is unused.
        """
        yield from self._about_time(first_write)
        yield from self._about_reports(name)
        yield from self._about_readers(self.uses.by_dataset.get(name, {}))
        declared = self.uses.declared.get(name, set())
        yield from _reason("declared", declared, "declares to read it, without runs",
                           "declare to read it, without runs")  # fmt: skip
        generations = generations_of(self.state)
        around = (view for view, _ in views_of_folders(generations, name))
        # views of the dataset or of a folder with it; a derived file or folder is no view
        views = [
            view
            for view in {*self.uses.views.get(name, ()), *around}
            if not (is_location(view) or is_gone(self.state, view))
        ]
        if views:
            listed = ", ".join(sorted(view.name for view in views)[:3])
            message = f"Views show it, and queries of views may not be reported: {listed}"
            yield {"kind": "view", "message": message, "jobs": []}
        folders = {
            ref for ref, other in readers_of_folders(generations, name) if self._reads(ref, other)
        }
        yield from _reason("folder", folders, "reads a folder that contains it, or a part of it",
                           "read folders that contain it, or parts of it")  # fmt: skip
        texts = {ref for ref in jobs_with_table_in_text(generations, name) if self._ran(ref)}
        yield from _reason("sql_text", texts, "names it in its SQL text and did not list it",
                           "name it in their SQL texts and did not list it")  # fmt: skip
        if partner := likely_partner(self.state, name):
            read = partner.read
            message = f"It may be read under another name: {read.name} in {read.namespace}"
            yield {"kind": "other_name", "message": message, "jobs": []}
        writing = self._without_inputs.get(name.namespace, set())
        yield from _reason("no_inputs", writing, "wrote to its namespace and reported no inputs",
                           "wrote to its namespace and reported no inputs")  # fmt: skip
        yield from _reason("no_datasets", self._silent_near(name),
                           "of a pipeline that uses it reported no datasets",
                           "of pipelines that use it reported no datasets")  # fmt: skip

    def _about_time(self, first_write: float) -> Iterator[UnknownReason]:
        """Yield the reasons why the time is too short to tell: a new dataset, or missing events."""
        if first_write > self.since:
            message = f"It was first written {_day(first_write)}, within this time"
            yield {"kind": "new", "message": message, "jobs": []}
        first = _first_event(self.state)
        if first > self.since:
            message = f"Events were reported only since {_day(first)}"
            yield {"kind": "short_log", "message": message, "jobs": []}
        if self.deleted_before > self.since:
            message = f"Events before {_day(self.deleted_before)} were deleted"
            yield {"kind": "deleted", "message": message, "jobs": []}

    def _about_reports(self, name: DatasetName) -> Iterator[UnknownReason]:
        """Yield a reason unless reads in the namespace were reported during the whole time."""
        place = f"in {name.namespace}"
        if name.namespace not in self.uses.namespaces:
            message = f"No read of any dataset {place} was ever reported"
        else:
            first, last = self.uses.namespaces[name.namespace]
            if last < self.since:
                message = f"No read of any dataset {place} was reported since {_day(last)}"
            elif first > self.since >= _first_event(self.state):  # else see `_about_time`
                message = f"Reads of datasets {place} were reported only since {_day(first)}"
            else:
                return
        yield {"kind": "no_reports", "message": message, "jobs": []}

    def _about_readers(self, readers: dict[JobRef, Use]) -> Iterator[UnknownReason]:
        """Yield the reasons about former readers that may still read the dataset.

        `readers` has their reads by task. A reader that completed with inputs reports, and does not
        read the dataset any more. One that ran otherwise is incomplete. One that did not run is
        silent if no job of its reporter read anything in this time; otherwise it was retired.
        """
        incomplete, silent = set(), set()
        for ref in readers:
            if self._reported_inputs(ref):
                continue
            if self._ran(ref):
                incomplete.add(ref)
            elif self.uses.reporters[reporter_of(self.state, ref)] < self.since:
                silent.add(ref)
        yield from _reason("reader_incomplete", incomplete,
                           "read it before, and completed no run with inputs since",
                           "read it before, and completed no runs with inputs since")  # fmt: skip
        yield from _reason("reader_silent", silent,
                           "read it before, and no job of its namespace and integration"
                           " reported a read since",
                           "read it before, and no job of their namespaces and integrations"
                           " reported a read since")  # fmt: skip

    def _reported_inputs(self, ref: JobRef) -> bool:
        """Return True if a task completed and reported inputs in this time."""
        generations = generations_of(self.state)
        return any(
            generation.is_complete and generation.edges.reads
            for generation in _newest_first(generations.history(ref))
            if generation.started >= self.since
        )

    def _ran(self, ref: JobRef) -> bool:
        """Return True if the newest run of a job began in this time."""
        run = newest_run(self.state, ref)
        return run is not None and (began_at(self.state, run) or 0) >= self.since

    def _reads(self, ref: JobRef, name: DatasetName) -> bool:
        """Return True if a job reads a dataset, and did in this time or has no runs."""
        use = self.uses.by_dataset.get(self.state.identity.primary(name), {}).get(ref)
        return use.last >= self.since if use else not self.state.jobs[ref].runs

    def _silent_near(self, name: DatasetName) -> set[JobRef]:
        """Return the tasks without datasets in the pipelines that write or read a dataset."""
        generations = generations_of(self.state)
        users = {*generations.writers(name), *self.uses.by_dataset.get(name, ())}
        pipelines = {pipeline for ref in users for pipeline in _pipelines_of(self.state, ref)}
        silent = _silent_tasks(self.state)
        return {ref for pipeline in pipelines for ref in silent.get(pipeline, ()) if self._ran(ref)}


def _newest_first(generations: list[Generation]) -> Iterable[Generation]:
    """Return the generations of a task, which are oldest first, in the opposite order."""
    return deadline.watched(reversed(generations))


def _reason(
    kind: ReasonKind, jobs: Iterable[JobRef], one: str, many: str
) -> Iterator[UnknownReason]:
    """Yield a reason about some jobs; none without jobs.

    `one` and `many` are the rest of the sentence for one or more jobs.
    """
    refs = sorted(jobs)
    if refs:
        message = f"{counted(len(refs), 'job')} {one if len(refs) == 1 else many}"
        yield {"kind": kind, "message": message, "jobs": [name_of(ref) for ref in refs]}


def _day(time: float) -> str:
    """Return the day of a time in microseconds."""
    return (shown_time(int(time)) or "")[:10]


@once_an_event
def _first_event(state: State) -> int:
    """Return the time (microseconds) of the first event about a job; now if there is none."""
    jobs = (job.first for job in state.jobs.values() if job.first is not None)
    return min(jobs, default=state.now)


class _Write(NamedTuple):
    """A completed write without inputs: its start (microseconds) and where it wrote."""

    started: int
    namespaces: frozenset[str]


@once_an_event
def _writes_without_inputs(state: State) -> dict[JobRef, list[_Write]]:
    """Return the completed runs that wrote data and reported no inputs, by task."""
    generations = generations_of(state)
    found: dict[JobRef, list[_Write]] = {}
    for ref in deadline.watched(list(generations.jobs())):
        if not is_job(ref) or is_test(state, ref) or _is_seed(state, ref):
            continue
        if writes := generations.derived(ref, "writes without inputs", _without_inputs):
            found[ref] = writes
    return found


def _without_inputs(oldest_first: list[Generation]) -> list[_Write]:
    """Return the completed generations of a task that wrote data and reported no inputs."""
    return [
        _Write(generation.started, frozenset(name.namespace for name in written))
        for generation in deadline.watched(oldest_first)
        if generation.is_complete and generation.runs and not generation.edges.reads
        if (written := generation.edges.writes - generation.only_created)
    ]


def _is_seed(state: State, ref: JobRef) -> bool:
    """Return True for a seed of dbt, which has no inputs."""
    kind = state.jobs[ref].facets.parsed(JobType)
    return kind.integration == "DBT" and kind.jobType == "SEED"


def _pipelines_of(state: State, ref: JobRef) -> set[JobRef]:
    """Return the pipelines of the runs of a task."""
    levels, job = generations_of(state).levels, state.jobs.get(ref)
    runs = map(state.runs.__getitem__, job.runs if job else ())
    return {levels.owner(run, Level.PIPELINE).key.job for run in deadline.watched(runs)}


@once_an_event
def _silent_tasks(state: State) -> dict[JobRef, set[JobRef]]:
    """Return the tasks that never reported a dataset, by pipeline."""
    found: dict[JobRef, set[JobRef]] = defaultdict(set)
    for job in deadline.watched(list(state.jobs.values())):
        has_data = any(state.runs[key].has_data for key in job.runs)
        if has_data or job.children or _needs_no_data(state, job.ref):
            continue
        for pipeline in _pipelines_of(state, job.ref) - {job.ref}:
            found[pipeline].add(job.ref)
    return found


def _needs_no_data(state: State, ref: JobRef) -> bool:
    """Return True for tests, the ends of a flow, empty operators, and jobs without events.

    That such a job reports no dataset is no sign of a missing report.
    """
    run = newest_run(state, ref)
    if run is None or not run.has_events or is_test(state, ref):
        return True
    kind, name = state.jobs[ref].facets.parsed(JobType), ref.name.rpartition(".")[2]
    is_end = kind.integration == "METAFLOW" and kind.jobType == "STEP" and name in ("start", "end")
    operator = run.facets.parsed(Airflow).operator or ""
    return is_end or operator.endswith(_WITHOUT_DATA)
