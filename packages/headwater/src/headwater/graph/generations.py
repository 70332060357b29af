"""Generations: the runs of a task that belong together, and the data flows between them.

- The runs of a task under one parent run are one generation: mapped and foreach elements and
  retries are merged. A run without a parent is a generation of its own. A generation reads and
  writes whatever its runs and all runs below them do. They are ordered by start, not by arrival.
- The newest finished generation is effective. It is the newest one that wrote something, or, for a
  task that never wrote, the newest one that read. A load that was skipped or found nothing to do
  removes no edge; a dataset that the task no longer reads disappears with the next finished run.
- Newer unfinished and failed generations are effective as well, because they may have changed data.
- Older generations with an output that no later finished one of the task wrote are effective too.

The contents of a dataset can be older: a table that is loaded in partitions still contains rows of
earlier generations, from files that the newest one did not read. `flows_into` therefore returns the
flows into a generation from all whose data it used: for each dataset that it read, from those that
were written before it ended (graph/times.py); for each whose rows its commits kept, from earlier.
Iceberg's commit report shows whether rows were kept, and the facet `subset` in which partitions
(graph/kept_rows.py); without them, a write is assumed to replace the dataset. The effective
generations and all that their data comes from are the present generations.
"""

from __future__ import annotations

from bisect import insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeVar

from headwater import deadline
from headwater.events import JobRef
from headwater.graph import folders, lifecycle
from headwater.graph.families import Families
from headwater.graph.generation import (
    Flow,
    Generation,
    History,
    declared_generation,
    effective,
    superseded,
)
from headwater.graph.kept_rows import Parts, kept_rows
from headwater.graph.levels import Level, Levels
from headwater.graph.placeholders import derivation, derived_dataset, handoff_job
from headwater.graph.present import Flows, Present
from headwater.graph.run_edges import (
    SIDES,
    Edges,
    Side,
    declared_edges,
    run_edges,
    side_by_side,
    states_lineage_of_other_jobs,
)
from headwater.graph.run_values import RunValues
from headwater.graph.slices import TaskRun, of_partitions_read, split
from headwater.graph.sql_changes import stated_changes, stated_changes_of
from headwater.graph.task_edges import Part, task_edges
from headwater.graph.times import NOW, Reading, Times, span_of
from headwater.identity import DatasetName
from headwater.projection import Run, RunKey, RunState, State, outcome, start_of
from headwater.projection.derived import descendants_of, parent_of, records_of

Answer = TypeVar("Answer")
_Derive = Callable[[list[Generation]], Answer]


class Generations(RunValues):
    """All generations of a state, and the data flows between them.

    Each is computed on request and cached until an event changes it, so the cost depends on the
    query and on the events since the last one. An event that changes the parents of runs or the
    level of a job clears the results of its family. One that removes an alias, changes edges
    without a run or changes explicit lineage between jobs clears all.
    """

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self.kept: dict[Any, Any] = {}  # values that the layers above store and update
        self._clear()

    def _clear(self) -> None:
        """Forget all results, at first or if an event may have changed any of them."""
        self.clear_runs()
        self._revision = self.state.revision
        self._shape = self.state.shape
        self.levels = Levels(self.state)
        self.times = Times(self.state, self.own)
        self._own: dict[RunKey, Edges] = {}
        self._owners: dict[JobRef, set[JobRef]] = {}
        self._using: dict[tuple[DatasetName, Side], list[JobRef]] = {}  # sorted
        self._runs_by_key: dict[JobRef, dict[RunKey, dict[RunKey, Run]]] = {}  # see _key_of
        self._by_key: dict[JobRef, dict[RunKey, Generation]] = defaultdict(dict)
        self._histories: dict[JobRef, History] = {}
        self._jobs: dict[JobRef, None] | None = None
        self._flows = Flows(lambda g: [*self.flows_into(g), *self._within(g)], self.times)
        self._changed: dict[JobRef, History | None] = {}  # tasks, with their state in `_flows`
        self._present: Present | None = None
        self.families = Families(self.state)

    def refresh(self) -> None:
        """Process the events since the last call; clear all results if too much changed."""
        state = self.state
        if state.revision == self._revision:
            return
        runs, moved = state.changed_runs.since(self._revision), state.moved.since(self._revision)
        placed = state.placed.since(self._revision)
        others = (states_lineage_of_other_jobs(state, state.runs[key]) for key in runs or ())
        if None in (runs, moved, placed) or state.shape != self._shape or any(others):
            self._clear()
            return
        self._present = None
        self._forget_derivations(self.times.first_writes.update(placed or (), runs or ()))
        if moved:
            self._invalidate_families(self.families.recompute(moved))
        for key in runs or ():
            self._invalidate_run(state.runs[key])
        self._revision = state.revision

    def _forget_users(self, *names: DatasetName) -> None:
        for name in names:
            for side in SIDES:
                self._using.pop((name, side), None)

    def _forget_derivations(self, names: Iterable[DatasetName]) -> None:
        """Clear the results about the users and derivations of datasets."""
        for name in names:
            self._forget_users(name)
            self._forget_history(derivation(name))
            if self._jobs is not None:
                self._jobs |= dict.fromkeys(folders.derivations_writing(self.state, name))

    def _invalidate_families(self, refs: Iterable[JobRef]) -> None:
        """Clear the results about all members of the families whose hierarchy of runs changed."""
        self._jobs = None
        for ref in refs:
            for cache in (self._owners, self._runs_by_key, self._by_key):
                cache.pop(ref, None)
            self._forget_history(ref)
            self.forget_runs(ref)
            job = self.state.jobs.get(ref)
            if job is None:  # a derivation
                continue
            self.levels.clear(job)
            for run in map(self.state.runs.__getitem__, job.runs):
                if self._has_data(run):
                    self._forget_users(*self.own(run).reads, *self.own(run).writes)

    def _invalidate_run(self, run: Run) -> None:
        """Clear the results that depend on a changed run, and index the datasets that it uses.

        Its outputs include those that are no edge, such as a dropped table: readers depend on
        these.
        """
        self._own.pop(run.key, None)
        # The end of a run also ends the runs below it that have no end event.
        changed = [run, *descendants_of(self.state, run)] if run.end else [run]
        for changed_run in changed:
            for above in self.levels.lineage(changed_run):
                self._by_key[above.key.job].pop(self._key_of(above), None)
                self._forget_history(above.key.job)
                self.forget_runs(above.key.job)
        if not self._has_data(run):
            return
        owner = self.levels.owner(run, Level.TASK)
        ref = owner.key.job
        if ref in self._runs_by_key:
            self._runs_by_key[ref].setdefault(self._key_of(owner), {})[run.key] = run
        if run.key.job in self._owners:
            self._owners[run.key.job].add(ref)
        if self._jobs is not None:
            self._jobs[ref] = None
        edges = self.own(run)
        written = edges.writes.union(map(self.state.identity.primary, run.outputs))
        for side, names in zip(SIDES, (edges.reads, written), strict=True):
            for name in names:
                if ref not in (users := self._using.get((name, side), [ref])):
                    insort(users, ref)

    def own(self, run: Run) -> Edges:
        """Return the edges that the events of a run report, without those of the runs below it."""
        edges = self._own.get(run.key)
        if edges is None:
            edges = self._own[run.key] = run_edges(self.state, run)
        return edges

    def owners(self, ref: JobRef) -> set[JobRef]:
        """Return the tasks of the runs of a job that read or wrote data (see Levels.owner)."""
        if ref not in self._owners:
            self._owners[ref] = {
                self.levels.owner(run, Level.TASK).key.job
                for run in map(self.state.runs.__getitem__, self.state.jobs[ref].runs)
                if self._has_data(run)
            }
        return self._owners[ref]

    def _has_data(self, run: Run) -> bool:
        """Return True if a run used data, changed tables, or passed data on."""
        has_data = run.has_data or bool(stated_changes(self.state, run))
        return has_data or (run.has_events and run.key.job in self.state.handoffs)

    def jobs(self) -> Iterable[JobRef]:
        """Return all tasks that have generations."""
        if self._jobs is None:
            found: dict[JobRef, None] = {}  # cached only when complete
            for run in self.state.runs.values():
                deadline.check()
                if self._has_data(run):
                    found[self.levels.owner(run, Level.TASK).key.job] = None
            self._jobs = found | dict.fromkeys(self._declared_refs())
        return self._jobs

    def _declared_refs(self) -> Iterator[JobRef]:
        """Yield the jobs and derivations that have edges without a run."""
        state = self.state
        for job in state.jobs.values():
            is_named = job.stated_by or job.ref in state.handoffs or job.ref in state.exposed
            if is_named or job.declared is not None:
                yield job.ref
        yield from folders.derivations(state)

    def readers(self, name: DatasetName) -> list[JobRef]:
        """Return the tasks that may have read a dataset at some time. Do not change the list."""
        return self.users(name, "reads")

    def writers(self, name: DatasetName) -> list[JobRef]:
        """Return the tasks that may have written a dataset at some time. Do not change the list."""
        return self.users(name, "writes")

    def history(self, ref: JobRef) -> list[Generation]:
        """Return the generations of a task, oldest first. Do not change the list."""
        return self._history(ref).oldest_first

    def history_of_writes(self, ref: JobRef, name: DatasetName) -> list[Generation]:
        """Return the generations of a task that wrote a dataset, oldest first. Do not change it."""
        return self._history(ref).by_output.get(name, [])

    def derived(self, ref: JobRef, name: str, derive: _Derive[Answer]) -> Answer:
        """Return a value computed from the generations of a task (oldest first), cached by name."""
        history = self._history(ref)
        if name not in history.derived:
            history.derived[name] = derive(history.oldest_first)
        answer: Answer = history.derived[name]
        return answer

    def derived_of_writes(
        self, ref: JobRef, dataset: DatasetName, name: str, derive: _Derive[Answer]
    ) -> Answer:
        """Return a value computed from the generations of a task that wrote a dataset, cached."""
        key = "\0".join((name, *dataset))
        return self.derived(ref, key, lambda _: derive(self.history_of_writes(ref, dataset)))

    def _forget_history(self, ref: JobRef) -> None:
        self._changed.setdefault(ref, self._histories.pop(ref, None))

    def effective(self, ref: JobRef) -> list[Generation]:
        """Return the effective generations of a task."""
        return self.derived(ref, "effective", effective)

    @property
    def present(self) -> Present:
        """The effective generations of all tasks, and those that their data comes from."""
        self._flows.update(self._changed, self._history)
        if self._present is None:
            self._present = Present(self, self._flows)
        return self._present

    def superseded(self, ref: JobRef) -> set[DatasetName]:
        """Return the datasets written by generations of a task that are not effective."""
        return self.derived(ref, "superseded", superseded)

    def present_in_family(self, ref: JobRef) -> dict[Generation, Edges]:
        """Return the present generations of all jobs in the family of a job, with their edges."""
        present = self.present
        every = (g for job in self.families.of(ref).jobs for g in present.of(job))
        return {generation: present.part_of(generation) for generation in every}

    def generation_of(self, run: Run) -> Generation | None:
        """Return the generation of a run; None if the run neither read nor wrote data."""
        owner = self.levels.owner(run, Level.TASK)
        ref, key = owner.key.job, self._key_of(owner)
        members = self._members(ref).get(key, {})
        return self._generation(ref, key, members) if run.key in members else None

    def flows_into(self, generation: Generation) -> list[Flow]:
        """Return the flows into a generation, from those that wrote what it read or kept."""
        return [
            Flow(source, name, is_kept, reading.until(source), reading.proves(source, name))
            for slice_ in generation.slices
            for is_kept, names in ((False, slice_.edges.reads), (True, slice_.kept))
            for name in names
            for reading in (self.reading(name, slice_, only_earlier=is_kept),)
            for source in self._written(name, reading, slice_)
            if not is_kept or source.left_rows(name)
        ]

    def _within(self, generation: Generation) -> Iterator[Flow]:
        """Yield the flows through datasets that one run of a generation wrote and another read.

        Only if some inputs do not feed all outputs, and a dataset was read after its write
        (`passes`).
        """
        whole = generation.original if generation.is_slice else generation
        edges = whole.edges
        for name in () if edges.is_cross_product else generation.edges.reads & edges.writes:
            if edges.targets_of(name) - {name} and self.times.passes(whole, name):
                end = self.times.of_reads(whole, name).end
                for source in of_partitions_read(whole.writing(name, ()), name, generation):
                    yield Flow(source, name, False, end, False)

    def flows(self, generation: Generation) -> list[Flow]:
        """Return the flows into a generation, with those between its own runs; cached."""
        self._flows.update(self._changed, self._history)
        return self._flows.into(generation)

    def users(self, name: DatasetName, side: Side) -> list[JobRef]:
        """Return the tasks that may have read or written a dataset, sorted. Do not change it.

        A rename that a SQL text states reads the former name and writes the new one.
        """
        if (name, side) not in self._using:
            state, found, keys = self.state, set[JobRef](), set[RunKey]()
            if (job := handoff_job(name)) is not None:
                named = {job} if side == "writes" else state.handoffs.get(job, set())
                found |= {owner for ref in named for owner in self.owners(ref) or (ref,)}
                found |= {*self.families.derivations(job)} if side == "reads" else set()
            for record in records_of(state, name):
                keys |= record.readers if side == "reads" else record.writers
                found |= record.declaring or set()
            kind = "MOVE" if side == "reads" else "RENAME"
            stated = stated_changes_of(state, name)
            keys |= {change.run for change in stated if change.kind == kind and change.run}
            found |= folders.derivations_of(state, name, side)
            found |= {self.levels.owner(state.runs[key], Level.TASK).key.job for key in keys}
            self._using[name, side] = sorted(found)
        return self._using[name, side]

    def writing(self, name: DatasetName) -> list[Generation]:
        """Return the newest finished generations that wrote a dataset, and all later ones."""
        return self._written(name, NOW, None)

    def contents(self, generation: Generation, name: DatasetName) -> list[Generation]:
        """Return a generation that wrote a dataset, and those whose partitions it kept in it."""
        if name not in generation.partial:
            return [generation]
        whole = generation.original
        reading = self.reading(name, whole, only_earlier=True)
        return [generation, *self._written(name, reading, whole, whole.parts[name])]

    def _written(
        self,
        name: DatasetName,
        reading: Reading,
        reader: Generation | None,
        replaced: Parts = frozenset(),
    ) -> list[Generation]:
        """Return the generations that wrote what a reader can depend on; see `graph.times`.

        `reader` is None for the current contents; `replaced` are partitions that it wrote itself.
        """
        found = [
            generation
            for ref in self.writers(name)
            if not (reader and folders.connects_files(self.state, ref, name, reader.job))
            for generation in self.times.counted(
                self.history_of_writes(ref, name), name, reading, reader, replaced
            )
        ]
        found = of_partitions_read(found, name, reader) if reader else found
        return self.times.with_rows(found, name, reading)

    def reading(
        self, name: DatasetName, reader: Generation, *, only_earlier: bool = False
    ) -> Reading:
        """Return what a reader, or with `only_earlier` a keeper of earlier rows, can depend on."""
        if only_earlier:
            began = self.times.of_writes(reader, name).start
            return Reading(began, began)
        versions = () if reader.is_view else self.times.versions_read(reader, name)
        by_version = partial(self.times.by_version, name=name)
        by_task = [
            self.derived_of_writes(ref, name, "by version", by_version)
            for ref in (self.writers(name) if versions else ())
        ]
        writers = [g for found in by_task for version in versions for g in found.get(version, ())]
        return self.times.reading(reader, name, writers)

    def _history(self, ref: JobRef) -> History:
        """Return the generations of a task."""
        if ref not in self._histories:
            found = self._declared(ref) or [
                self._generation(ref, key, runs) for key, runs in self._members(ref).items()
            ]
            self._histories[ref] = History(sorted(found, key=lambda g: g.order))
        return self._histories[ref]

    def _declared(self, ref: JobRef) -> list[Generation]:
        """Return the generation of a derivation, or of a job with declared edges and no runs."""
        if (derived := derived_dataset(ref)) is not None:
            return folders.derived_generations(self.state, derived)
        if self.owners(ref) or self._members(ref):
            return []
        edges = declared_edges(self.state, self.state.jobs[ref])
        return [declared_generation(ref, edges)] if edges.reads or edges.writes else []

    def _members(self, ref: JobRef) -> dict[RunKey, dict[RunKey, Run]]:
        """Return the runs with data that a task owns, by generation key and then own key."""
        if ref not in self._runs_by_key:
            runs_by_key: dict[RunKey, dict[RunKey, Run]] = defaultdict(dict)
            is_above = self.levels.of(ref) > Level.TASK  # it does not own the runs below it
            job = self.state.jobs.get(ref)  # None for a derivation
            for run in map(self.state.runs.__getitem__, job.runs if job else ()):
                for member in [run] if is_above else [run, *descendants_of(self.state, run)]:
                    if not self._has_data(member):
                        continue
                    owner = self.levels.owner(member, Level.TASK)
                    if owner.key.job == ref:
                        runs_by_key[self._key_of(owner)][member.key] = member
            self._runs_by_key[ref] = dict(runs_by_key)
        return self._runs_by_key[ref]

    def _key_of(self, head: Run) -> RunKey:
        """Return the key of a task run's generation: its parent's key, or its own without one."""
        parent = parent_of(self.state, head)
        return parent.key if parent else head.key

    def _generation(self, ref: JobRef, key: RunKey, members: dict[RunKey, Run]) -> Generation:
        """Return the generation of the runs of a task with one key (see _key_of); cached.

        `members` are its runs that used data, by key. Their owners at the level of tasks (`heads`)
        decide if it is complete: mapped instances and retries are several heads, which feed each
        other's outputs only through datasets.
        """
        if key in self._by_key[ref]:
            return self._by_key[ref][key]
        runs = list(members.values())
        heads: dict[RunKey, Run] = {}
        by_head: dict[RunKey, list[Part]] = defaultdict(list)
        for run in runs:
            head = self.levels.owner(run, Level.TASK)
            heads[head.key] = head
            by_head[head.key].append((run, self.own(run)))
        outcomes = [outcome(self.state, head) for head in heads.values()]
        task_runs = [
            TaskRun([run for run, _ in parts], task_edges(self.levels, parts))
            for parts in by_head.values()
        ]
        kept = kept_rows(self.state, runs)
        started = min(time for time in map(start_of, (*heads.values(), *runs)) if time is not None)
        edges = side_by_side([task_run.edges for task_run in task_runs])
        renamed = lifecycle.renamed_datasets(self.state, runs)
        generation = self._by_key[ref][key] = Generation(
            job=ref,
            order=(started, min(run.key for run in runs)),
            is_complete=all(ended is not None for _, ended in outcomes)
            and any(condition is RunState.COMPLETED for condition, _ in outcomes),
            edges=edges,
            kept=kept.unknown,
            runs=tuple(runs),
            partial=kept.partial,
            parts=kept.parts,
            ended=span_of(self.state, runs).end,
            only_created=lifecycle.created_datasets(self.state, runs),
            changed=lifecycle.changed_datasets(self.state, runs),
            views=lifecycle.created_views(self.state, runs),
            renamed=renamed if renamed.keys() >= edges.writes else {},
        )
        if generation.parts and not generation.queried_outputs:
            split(self.state, generation, task_runs, kept)
        return generation
