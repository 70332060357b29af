"""Families of jobs whose runs all report the same edges, so that two moments have equal ones.

Most jobs repeat what they did the day before. The state of a past moment is costly, but the present
state has all runs. If each run of a family reported the same, the edges of the family are the same
at any two moments after its first runs, whichever of its runs are effective: a graph of a family is
the union of the edges of its present generations, and at least one is present.

A *family* is a pipeline with its tasks and queries (graph/families.py). A *generation* is the runs
of a task under one parent run; the *present* ones are the effective ones, and those from which data
flows to an effective one. All of this holds only under conditions, see `_Check`. A family that does
not meet them is compared at both moments.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from math import inf
from typing import NamedTuple

from headwater import deadline
from headwater.events import ONLY_IN_TEXT, JobRef
from headwater.events.facets import JobType, LifecycleStateChange, PartitionSources, Sql, Subset
from headwater.graph.current import generations_of
from headwater.graph.levels import Level
from headwater.kept import LastUpdate, kept
from headwater.projection import Job, Run, RunKey, State, Use

_UNSTEADY = {LifecycleStateChange.KEY, Subset.KEY, PartitionSources.KEY}
_WRAPPER = "_as_select"
"""A part of the names of jobs whose runs a graph omits, depending on their times."""


class Steady(NamedTuple):
    """A family of jobs that are steady, except while they run."""

    jobs: tuple[JobRef, ...]
    since: float
    """The time (microseconds) at which each job had reported its edges."""
    starts: tuple[int, ...]
    """The starts of the times at which jobs of the family ran, in order."""
    ends: tuple[int, ...]

    def has_equal_edges(self, one: float, other: float) -> bool:
        """Return True if the family has the same edges at two moments (microseconds)."""
        return self.since <= min(one, other) and not (self._runs_at(one) or self._runs_at(other))

    def _runs_at(self, time: float) -> bool:
        position = bisect_right(self.starts, time)
        return position > 0 and time < self.ends[position - 1]


class Unsteady(NamedTuple):
    """A family of jobs whose edges must be compared."""

    jobs: tuple[JobRef, ...]


Family = Steady | Unsteady


class Families:
    """All families of a state, updated after events."""

    def __init__(self, state: State) -> None:
        """Start without families; `update` checks them."""
        self._state = state
        self._of: dict[JobRef, Family] = {}
        self._waiting: dict[JobRef, None] = {}
        self._last = LastUpdate(state)

    def update(self) -> None:
        """Check the families that are new or that events concern; a deadline may interrupt it."""
        state = self._state
        if self._last.is_needed:
            changes = self._last.changes(of_edges=True)
            if changes is None:
                self._of.clear()
                self._waiting = dict.fromkeys(state.jobs)
            else:
                self._waiting |= dict.fromkeys(changes.jobs)
            self._last.finish()
        families = generations_of(state).families
        while self._waiting:
            deadline.check()
            ref = next(iter(self._waiting))
            members = families.of(ref).jobs
            jobs = tuple(job for job in members if job in state.jobs)
            is_plain = len(jobs) == len(members)  # others are derivations of datasets from jobs
            family = _Check(state, jobs).family() if is_plain else Unsteady(jobs)
            for job in jobs:
                self._of[job] = family
                self._waiting.pop(job, None)
            self._waiting.pop(ref, None)

    def of(self, ref: JobRef) -> Family | None:
        """Return the family of a job; None for a derivation."""
        return self._of.get(ref)

    def __iter__(self) -> Iterator[Family]:
        """Yield each family once."""
        yield from {id(family): family for family in self._of.values()}.values()


def families_of(state: State) -> Families:
    """Return all families of a state, up to its newest event."""
    families = kept(state, Families)
    families.update()
    return families


class _UnsteadyError(Exception):
    """The runs of a family differ, or one of them has edges that depend on other families."""


class _Check:
    """The check if a family is steady.

    It is, if each of its jobs has runs, all with the same type, the same job as their parent, and
    the same inputs, outputs and SQL text. Runs that only read a part of the inputs may be among
    those of a task that writes. No job has edges that JobEvents, explicit lineage, exposures or
    other jobs state; no run was skipped, created, dropped or renamed a dataset, or wrote
    partitions; no run id is shared.

    If the edges of a task come from the runs below it, each of these must belong to every run of
    the family's pipeline.
    """

    def __init__(self, state: State, jobs: tuple[JobRef, ...]) -> None:
        self._state, self._jobs = state, jobs
        self._since: float = -inf
        self._spans: list[tuple[int, int]] = []
        self._data: dict[JobRef, list[Run]] = {}

    def family(self) -> Family:
        """Return the family."""
        try:
            for ref in self._jobs:
                self._check_job(self._state.jobs[ref])
            if self._is_nested():
                self._check_groups()
        except _UnsteadyError:
            return Unsteady(self._jobs)
        starts, ends = _joined(self._spans)
        return Steady(self._jobs, self._since, starts, ends)

    def _check_job(self, job: Job) -> None:
        state = self._state
        runs = [state.runs[key] for key in job.runs]
        if _has_stated_edges(state, job) or any(_is_special(state, run) for run in runs):
            raise _UnsteadyError
        with_events = [run for run in runs if run.has_events]
        types = {run.code.packed(JobType.KEY) for run in with_events}
        if len(types) > 1 or len({*map(_job_above, runs)}) > 1:
            raise _UnsteadyError
        self._spans += map(self._span, with_events)
        if data := [run for run in with_events if run.inputs or run.reported_outputs]:
            self._data[job.ref] = data
            self._check_data(data)
        elif with_events:
            self._since = max(self._since, min(run.last or 0 for run in with_events))

    def _span(self, run: Run) -> tuple[int, int]:
        """Return the time in which events about a run and its parent arrived."""
        first, last = run.first or 0, run.last or 0
        parent = self._state.runs.get(run.parent[1]) if run.parent else None
        if parent is not None and parent.first is not None and parent.last is not None:
            return min(first, parent.first), max(last, parent.last)
        return first, last

    def _check_data(self, runs: list[Run]) -> None:
        """Check the runs of a job that used datasets."""
        whole = next((run for run in runs if run.reported_outputs), runs[0])
        if any(_is_unsteady(run, use) for run in runs for use in run.reported_outputs.values()):
            raise _UnsteadyError
        since: float = inf
        for run in runs:
            if run is whole or _reports_same(run, whole) or self._has_same_edges(run, whole):
                since = min(since, run.last or inf)
            elif not self._reads_part(run, whole):
                raise _UnsteadyError
        self._since = max(self._since, since)

    def _has_same_edges(self, run: Run, whole: Run) -> bool:
        own = generations_of(self._state).own
        one, other = own(run), own(whole)
        return one.reads == other.reads and one.writes == other.writes

    def _reads_part(self, run: Run, whole: Run) -> bool:
        own = generations_of(self._state).own
        part, edges = own(run), own(whole)
        return bool(edges.writes) and not part.writes and part.reads <= edges.reads

    def _is_nested(self) -> bool:
        """Return True if the edges of a task come from several runs, or from those below it."""
        state, levels = self._state, generations_of(self._state).levels
        for ref in self._data:
            above = {*state.jobs[ref].parents, *(state.jobs[ref].root_hints or ())}
            if above and levels.of(ref) < Level.TASK:
                return True
            seen: set[JobRef] = set()
            while above:
                other = above.pop()
                if other in self._data:
                    return True
                if other not in seen and (job := state.jobs.get(other)):
                    seen.add(other)
                    above |= {*job.parents, *(job.root_hints or ())}
        return False

    def _check_groups(self) -> None:
        """Check that the same jobs used data in each run of the pipeline."""
        state = self._state
        groups: dict[RunKey, list[Run]] = defaultdict(list)
        for runs in self._data.values():
            whole = generations_of(state).own(runs[0])
            for run in runs:
                own = generations_of(state).own(run)
                if (own.reads, own.writes) != (whole.reads, whole.writes):
                    raise _UnsteadyError
                groups[_top(state, run)].append(run)
        if len({frozenset(run.key.job for run in group) for group in groups.values()}) > 1:
            raise _UnsteadyError
        for group in groups.values():
            first = min(run.first for run in group if run.first is not None)
            self._spans.append((first, max(run.last or 0 for run in group)))


def _has_stated_edges(state: State, job: Job) -> bool:
    """Return True if a job has edges without a run, or its runs may be omitted from a graph."""
    ref = job.ref
    is_named = job.declared is not None or job.stated_by or ref in state.exposed
    return bool(is_named) or ref in state.handoffs or _WRAPPER in ref.name


def _is_special(state: State, run: Run) -> bool:
    """Return True if the edges of a run are not simply its inputs and outputs."""
    is_shared = len(state.runs_by_id[run.key.run_id]) > 1
    return is_shared or bool(run.lineage) or run.is_skipped or run.key in state.table_changes


def _job_above(run: Run) -> JobRef | None:
    """Return the job that a run names as its parent; without events, that its children name."""
    register = run.parent or (None if run.has_events else run.root_hint)
    return register[1].job if register else None


def _top(state: State, run: Run) -> RunKey:
    """Return the key of the highest run above a run, by the references of the runs."""
    key, seen = run.key, set[RunKey]()
    while key not in seen:
        seen.add(key)
        current = state.runs[key]
        register = current.parent or (None if current.has_events else current.root_hint)
        if register is None:
            break
        key = register[1]
    return key


def _reports_same(run: Run, other: Run) -> bool:
    """Return True if two runs of a job reported the same datasets, SQL text and column lineage."""
    if run.inputs.keys() != other.inputs.keys():
        return False
    if run.reported_outputs.keys() != other.reported_outputs.keys():
        return False
    text = run.code.packed(Sql.KEY)
    if text != other.code.packed(Sql.KEY) or run.end is None or other.end is None:
        return False
    if run.end[1] is not other.end[1]:
        return False  # the text of a failed run is read differently
    for name, use in run.reported_outputs.items():
        columns = other.reported_outputs[name].dataset_facets.packed("columnLineage")
        if use.dataset_facets.packed("columnLineage") != columns:
            return False
    return not any(use.io_facets.has_any({ONLY_IN_TEXT}) for use in run.inputs.values())


def _is_unsteady(run: Run, use: Use) -> bool:
    """Return True if a run wrote a part of an output, or changed the output as a whole.

    An overwrite is no such change: a later one replaces it.
    """
    if not (use.dataset_facets.has_any(_UNSTEADY) or use.io_facets.has_any(_UNSTEADY)):
        return False
    change = use.dataset_facets.parsed(LifecycleStateChange)
    is_overwrite = change.lifecycleStateChange == "OVERWRITE" and not change.is_from_sql
    is_part = use.io_facets.has_any({Subset.KEY, PartitionSources.KEY})
    return is_part or not (is_overwrite or change.lifecycleStateChange is None)


def _joined(spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the starts and the ends of some spans, in order, with overlapping ones joined."""
    starts: list[int] = []
    ends: list[int] = []
    for start, end in sorted(spans):
        if start == end:
            continue
        if ends and start <= ends[-1]:
            ends[-1] = max(ends[-1], end)
        else:
            starts.append(start)
            ends.append(end)
    return tuple(starts), tuple(ends)
