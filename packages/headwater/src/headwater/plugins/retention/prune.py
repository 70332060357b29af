"""Decide which events of a log can be deleted, and delete them.

The current state does not change, nor does any past state as of or known at a time since the
cutoff. Only run events whose event time and arrival are before the cutoff can be deleted, and the
events of a tree of runs are only deleted together. A tree stays if

- a run in it is effective, or the contents of some dataset come from it, now or at the cutoff,
- it is one of the newest of a job, or of a job's writes of a dataset (freshness reads these),
- it reported the newest value of a facet of a job or dataset,
- it is the first or the last to report a fact, such as "the job reads the dataset",
- a run that stays names one of its runs as a dependency,
- a change of a schema is between it and another run, or appears only without it,
- it dropped, emptied, renamed or replaced a dataset, and this determines the rows that a run that
  stays could read,
- one of its events is still to be delivered, or arrived after the cutoff.

With a horizon, a tree before it is also deleted if current data comes from it only through
generations that read or kept rows of their own table, as an incremental load does. Answers then
state that sources were deleted (`lineage.provenance.deleted_sources`). The first run of such a load
stays.

Before anything is deleted, the graphs of the log with and without the events are compared.

A tree of runs is a run with all runs below and above it, a DAG run with its tasks; `top` is the id
that stands for it. A fact is what an event adds to the sets of a state.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import inf

from headwater.errors import EventError, LogError
from headwater.events import Dataset, JobRef, Logged, RunEvent, parse_entries, source_datasets
from headwater.events.facets import JobDependencies, Parent
from headwater.graph.generation import Generation
from headwater.graph.lifecycle import removals, removes_data
from headwater.graph.sql_changes import stated_changes
from headwater.identity import DatasetName, canonical_name, symlinks_of
from headwater.lineage.queries import edges_answer
from headwater.lineage.staleness import deciding_runs
from headwater.log import EventLog, read_logged
from headwater.plugins.retention._schemas import compared_runs
from headwater.plugins.retention._store import held, remove, run_ids
from headwater.plugins.retention._walk import Walk
from headwater.projection import RunKey, State, apply, start_of
from headwater.projection.derived import began_at, ended_at, parent_of, records_of
from headwater.projection.snapshots.state import gc_paused

NEWEST = 31  # run trees to keep per job; freshness uses as many starts
_MOST_ROUNDS = 20  # of keeping more runs before a horizon; then it is ignored

Fact = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """The deletable events by `seq`, and the ids of their runs; `newest` is the last `seq` read.

    Times are in microseconds.
    """

    cutoff: int
    seqs: tuple[int, ...]
    runs: frozenset[str]
    newest: int
    horizon: int | None = None
    """The horizon, if some runs are deleted only because they are before it."""


@dataclass(slots=True)
class _Reading:
    """Data that one pass over the log collects."""

    now: State = field(default_factory=State)
    old: State = field(default_factory=State)
    """The state at the cutoff: of the events that both happened and arrived before it."""
    seqs: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Old run events by run id."""
    needed: set[str] = field(default_factory=set)
    """Run ids that must stay."""
    run_of: dict[str, str] = field(default_factory=dict)
    """The run id of each old event, by its hash."""
    ends: dict[Fact, tuple[tuple[int, str], tuple[int, str]]] = field(default_factory=dict)
    """The (time, run id) of the first and the last old event that reports a fact."""
    tops: dict[str, str] = field(default_factory=dict)
    """A union-find over the ids of runs in one tree."""
    newest: int = 0

    def add(self, event: Logged, *, is_old: bool) -> None:
        """Apply an event.

        `is_old` is True if it happened and arrived before the cutoff.
        """
        apply(self.now, event)
        if is_old:
            apply(self.old, event)
        if not isinstance(event, RunEvent):
            return
        top = self.top(event.run_id)
        for run_id in run_ids(event):
            self.tops[self.top(run_id)] = top
        if not is_old:
            self.needed |= run_ids(event)
            return
        self.run_of[event.hash] = event.run_id
        at = event.time, event.run_id
        for fact in _facts(event):
            first, last = self.ends.get(fact, (at, at))
            self.ends[fact] = min(first, at), max(last, at)

    def top(self, run_id: str) -> str:
        """Return the id that represents the tree of a run."""
        while (above := self.tops.get(run_id, run_id)) != run_id:
            self.tops[run_id] = self.tops.get(above, above)
            run_id = above
        return run_id

    def trees(self, run_ids: Iterable[str]) -> set[str]:
        """Return the trees of runs."""
        return {self.top(run_id) for run_id in run_ids}


def plan(log: EventLog, cutoff: int, newest: int = NEWEST, *, horizon: int | None = None) -> Plan:
    """Return the events that can be deleted without changing an answer since the cutoff.

    With the time of a horizon, the provenance of loads that read or keep rows of their own table
    can become shorter.

    `cutoff` and `horizon` are in microseconds. `newest` is the number of run trees to keep per
    job, see `_newest`.
    """
    with gc_paused():
        reading = _read(log, cutoff)
        reading.needed |= {run_id for ends in reading.ends.values() for _, run_id in ends}
        for state in (reading.now, reading.old):
            reading.needed |= {*_newest(state, reading, newest), *deciding_runs(state)}
        reading.needed |= set(_reporting(reading))
        runs = unneeded = _deletable(reading, None)  # without a loss, whatever the horizon is
        if horizon is not None:
            runs = _deletable(reading, min(horizon, cutoff))
        seqs = tuple(sorted(seq for run in runs for seq in reading.seqs[run]))
        return Plan(cutoff, seqs, runs, reading.newest, horizon if runs - unneeded else None)


def _deletable(reading: _Reading, horizon: int | None) -> frozenset[str]:
    """Return the runs that can be deleted.

    The walks may find more runs that must stay, because others do. If they still do after some
    rounds, the horizon is ignored: without one, nothing is spared.
    """
    walks = [Walk(state, horizon) for state in (reading.now, reading.old)]
    for _ in range(_MOST_ROUNDS):
        kept = _kept(reading, walks)

        def stays(generation: Generation, kept: set[str] = kept) -> bool:
            runs = generation.runs
            return not runs or any(reading.top(run.key.run_id) in kept for run in runs)

        spared = [walk.spare(stays) for walk in walks]
        if not any(spared):
            return frozenset(run for run in reading.seqs if reading.top(run) not in kept)
    return _deletable(reading, None)


def _kept(reading: _Reading, walks: Iterable[Walk]) -> set[str]:
    """Return the trees of runs that stay.

    A run that stays can require others, so this repeats until nothing is added.
    """
    kept = reading.trees(reading.needed | {run for walk in walks for run in walk.runs()})
    kept |= reading.trees(_dependencies(reading, kept))
    while more := reading.trees({*_removals(reading, kept), *_schemas(reading, kept)}) - kept:
        kept |= more
        kept |= reading.trees(_dependencies(reading, kept))
    return kept


def prune(log: EventLog, found: Plan) -> None:
    """Delete the events of a plan.

    Raises:
        LogError: the graph would change, or an event of a deleted run arrived.
    """
    if not found.seqs:
        return
    deleted = frozenset(found.seqs)
    if _graph(log, found.newest) != _graph(log, found.newest, deleted):
        raise LogError("nothing was deleted: the graph would change; please report this bug")
    remove(log, found.seqs, set(found.runs), found.newest, found.cutoff, found.horizon)


def _read(log: EventLog, cutoff: int) -> _Reading:
    """Read the log once: both states, and what the old run events report."""
    reading = _Reading()
    delivered, letters = held(log)
    for seq, kind, received_at, body in log.rows():
        reading.newest = seq
        try:
            event = read_logged(kind, body)
        except EventError:
            continue  # `repair` handles damaged rows
        is_old = max(event.time, received_at) < cutoff
        reading.add(event, is_old=is_old)
        if is_old and isinstance(event, RunEvent):
            reading.seqs[event.run_id].append(seq)
            if seq > delivered or seq in letters:
                reading.needed.add(event.run_id)
    return reading


def _graph(log: EventLog, newest: int, without: frozenset[int] = frozenset()) -> list[object]:
    """Return the edges of all levels from the events up to `newest`, except the `without` ones.

    The graphs with and without the deleted events must be equal.
    """
    state = State()
    with gc_paused():
        for seq, kind, _, body in log.rows():
            if seq <= newest and seq not in without:
                try:
                    apply(state, read_logged(kind, body))
                except EventError:
                    continue
    return [list(_edges(state, level)) for level in ("query", "task", "pipeline")]


def _edges(state: State, level: str) -> Iterator[object]:
    """Yield all edges at a level, page by page."""
    for kind in ("data", "control", "direct"):
        cursor: str | None = None
        while True:
            page = edges_answer(state, level, kind, 1_000, cursor)
            yield from page["items"]
            if (cursor := page["next"]) is None:
                break


def _newest(state: State, reading: _Reading, count: int) -> Iterator[str]:
    """Yield runs of the newest trees of each job, and of each job's writes of a dataset.

    Runs with and without a parent are counted separately, because a job can have failed without a
    parent although it later completed below one. Runs with an end event are also counted alone.

    `count` is the number of trees per group.
    """
    groups: dict[Fact, dict[str, tuple[int, str]]] = defaultdict(dict)
    for run in state.runs.values():
        top, at = reading.top(run.key.run_id), (began_at(state, run) or 0, run.key.run_id)
        kind = run.key.job, parent_of(state, run) is None
        kinds = [kind] if run.end is None else [kind, (*kind, "ended")]
        for group in [*kinds, *((run.key.job, name) for name in run.outputs)]:
            groups[group][top] = max(at, groups[group].get(top, at))
    for starts in groups.values():
        yield from (run_id for _, run_id in sorted(starts.values())[-count:])


def _reporting(reading: _Reading) -> Iterator[str]:
    """Yield the runs that reported the newest facets of jobs and datasets."""
    for state in (reading.now, reading.old):
        books = [job.facets for job in state.jobs.values()]
        books += [record.facets for record in state.datasets.values()]
        for book in books:
            for stamp, _ in book.stamped().values():
                if stamp.hash in reading.run_of:
                    yield reading.run_of[stamp.hash]


def _dependencies(reading: _Reading, kept: set[str]) -> Iterator[str]:
    """Yield the runs that runs in kept trees name as dependencies."""
    for run in reading.now.runs.values():
        if reading.top(run.key.run_id) in kept:
            named = (*(run.upstream or ()), *(run.downstream or ()))
            yield from (reference.run_id for reference in named if reference.run_id)


def _removals(reading: _Reading, kept: set[str]) -> Iterator[str]:
    """Yield the runs whose removal of rows determines the rows that runs of kept trees could read.

    These determine the rows of each dataset now, and at the start and end of each of these runs.
    """
    for state in (reading.now, reading.old):
        names = {record.name for record in state.datasets.values() if record.lifecycle}
        stated = {
            name
            for key in state.table_changes
            for name, _ in stated_changes(state, state.runs[key])
        }
        for name in {*map(state.identity.primary, names), *stated}:
            found = removals(state, name)
            runs: set[RunKey | None] = set()
            for moment in {inf, *_moments(state, name, reading, kept)}:
                # the last removal before the moment, and the last one up to it
                for find in (bisect_left, bisect_right):
                    if position := find(found, moment, key=lambda removal: removal.time):
                        runs.add(found[position - 1].run)
            yield from (run.run_id for run in runs if run)


def _schemas(reading: _Reading, kept: set[str]) -> Iterator[str]:
    """Yield the runs that the reported schema changes depend on."""
    for state in (reading.now, reading.old):
        yield from compared_runs(state, lambda run_id: reading.top(run_id) in kept)


def _moments(state: State, name: DatasetName, reading: _Reading, kept: set[str]) -> Iterator[float]:
    """Yield the starts and ends of the runs of kept trees that read or wrote a dataset."""
    for record in records_of(state, name):
        for key in record.readers | record.writers:
            run = state.runs[key]
            use = run.outputs.get(record.name)
            only_removes = (
                use is not None and record.name not in run.inputs and removes_data(run, use)
            )
            if reading.top(key.run_id) in kept and not only_removes:
                yield start_of(run) or 0
                yield ended_at(state, run)


def _facts(event: RunEvent) -> Iterator[Fact]:
    """Yield the facts that an event adds to the sets of a state, without the run.

    A fact is a tuple of its kind and its parts. The first and the last run to report it stay.
    """
    job = event.job
    yield "job", job
    parent = Parent.parse(event.run_facets.get(Parent.KEY, {}))
    if parent.run:
        yield "parent", job, parent.run.job, parent.root and parent.root.job
    dependencies = JobDependencies.parse(event.run_facets.get(JobDependencies.KEY, {}))
    for side, references in (("up", dependencies.upstream), ("down", dependencies.downstream)):
        yield from ((side, job, reference.job) for reference in references)
    yield from (
        ("lineage", job, entry.target, *_sources(entry.datasets, entry.jobs))
        for entry in parse_entries(event.job_facets.get("lineage", {}))
    )
    for side, items in (("in", event.inputs), ("out", event.outputs)):
        for item in items:
            yield side, job, canonical_name(item.namespace, item.name)
            yield from _facts_of_dataset(job, item)


def _sources(datasets: frozenset[tuple[str, str]], jobs: frozenset[JobRef]) -> tuple[object, ...]:
    """Return the sources of a lineage entry as sorted tuples, so that equal ones are one fact."""
    return tuple(sorted(datasets)), tuple(sorted(jobs))


def _facts_of_dataset(job: JobRef, item: Dataset) -> Iterator[Fact]:
    """Yield the facts in a dataset of an event: its names, namespaces and source columns."""
    own = canonical_name(item.namespace, item.name)
    for name in (own, *symlinks_of(item)):
        yield "name", own, name
        yield "namespace", name.namespace
    for source in source_datasets(item.facets.get("columnLineage", {})):
        yield "column", job, canonical_name(*source)
