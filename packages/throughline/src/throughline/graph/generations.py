"""Generations: the runs of a task that belong together, and the effective ones.

- The runs of one task under one parent run are one generation: mapped and foreach elements and
  retries are united. A run without a parent is a generation of its own. A generation reads and
  writes whatever its runs and all runs below them do.
- The newest finished generation is effective. It is the newest one that wrote something, or, for a
  task that never wrote, the newest one that read. A load that was skipped or found nothing to do
  removes no edge; a dataset that the task no longer reads disappears with the next finished run.
- Newer unfinished and failed generations are effective as well, because they may have changed data.
- Generations are ordered by their start, not by the arrival of their events.

Effective generations are the last actions of each job. The contents of a dataset can be older: a
table that is loaded in partitions still contains rows of earlier generations, from files that the
newest one did not read. `flows_into` therefore leads from those whose data a generation used:
for each dataset that it read, the ones that were effective when it started, and for each dataset
whose rows its commits kept, the ones before it. Iceberg's commit report says whether rows were
kept; without one, a write is assumed to replace the dataset.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from throughline import deadline
from throughline.events import JobRef
from throughline.graph.families import Families
from throughline.graph.generation import Flow, Generation, History, effective, latest, static
from throughline.graph.levels import Level, Levels
from throughline.graph.present import Present
from throughline.graph.run_edges import (
    Edges,
    declared_edges,
    derivation,
    derived_by,
    derived_edges,
    handed_by,
    kept_datasets,
    run_edges,
    side_by_side,
    states_other_jobs,
    united,
)
from throughline.identity import DatasetName
from throughline.projection import Run, RunKey, RunState, State, outcome, start_of, versions_of
from throughline.projection.derived import descendants_of, parent_of, records_of

Answer = TypeVar("Answer")


Walked = dict[Generation, Edges]
"""The generations on a walk, each with those of its edges that belong to the walk."""


class Generations:
    """All generations of a state, and the data flow between them.

    Each is computed on request and cached until an event changes it, so the cost depends on the
    query and on the events since the last one. An event that moves known runs or changes the level
    of a job clears the results of its family. One that removes an alias, changes edges without a
    run or changes explicit lineage between jobs clears all.
    """

    def __init__(self, state: State) -> None:
        self.state = state
        self._forget()

    def _forget(self) -> None:
        self._revision = self.state.revision
        self._shape = self.state.shape
        self.state.touched.clear()
        self.state.moved.clear()
        self.levels = Levels(self.state)
        self._own: dict[RunKey, Edges] = {}
        self._owners: dict[JobRef, set[JobRef]] = {}
        self._using: dict[tuple[str, DatasetName], set[JobRef]] = {}
        self._units: dict[JobRef, dict[RunKey, dict[RunKey, Run]]] = {}
        self._described: dict[JobRef, dict[RunKey, Generation]] = defaultdict(dict)
        self._histories: dict[JobRef, History] = {}
        self._of_runs: dict[JobRef, dict[str, Any]] = {}
        self._jobs: dict[JobRef, None] | None = None
        self._present: Present | None = None
        self._changed: set[JobRef] = set()
        self.families = Families(self.state)

    def refresh(self) -> None:
        """Process the events that were applied to the state since the last call."""
        state = self.state
        others = (states_other_jobs(state, state.runs[key]) for key in state.touched)
        if state.shape != self._shape or any(others):
            self._forget()
        elif state.revision != self._revision:
            if state.moved:
                self._move(self.families.renew(state.moved))
                state.moved.clear()
            for key in state.touched:
                self._renew(state.runs[key])
            state.touched.clear()
            self._revision = state.revision

    def _move(self, refs: Iterable[JobRef]) -> None:
        """Clear the results that depend on the hierarchy of some families, whose runs moved."""
        self._jobs = None
        for ref in refs:
            self._changed.add(ref)
            for cache in (self._owners, self._units, self._described, self._histories):
                cache.pop(ref, None)
            self._of_runs.pop(ref, None)
            job = self.state.jobs.get(ref)
            if job is None:  # a derivation
                continue
            self.levels.forget(job)
            for run in map(self.state.runs.__getitem__, job.runs):
                if self._has_data(run):
                    for name in self.reading(run) | self.own(run).writes:
                        self._using.pop(("reading", name), None)
                        self._using.pop(("writing", name), None)

    def _renew(self, run: Run) -> None:
        """Clear the results that depend on a run after an event, and index its new uses."""
        self._own.pop(run.key, None)
        # The end of a run also ends the runs below it that have no end event.
        changed = [run, *descendants_of(self.state, run)] if run.end else [run]
        for changed_run in changed:
            lineage = self.levels.lineage(changed_run)
            self.families.note(above.key.job for above in lineage)
            for above in lineage:
                self._described[above.key.job].pop(self._unit_of(above), None)
                self._histories.pop(above.key.job, None)
                self._of_runs.pop(above.key.job, None)
                self._changed.add(above.key.job)
        if not self._has_data(run):
            return
        owner = self.levels.owner(run, Level.TASK)
        ref = owner.key.job
        if ref in self._units:
            self._units[ref].setdefault(self._unit_of(owner), {})[run.key] = run
        if run.key.job in self._owners:
            self._owners[run.key.job].add(ref)
        if self._jobs is not None:
            self._jobs[ref] = None
        edges = self.own(run)
        sides = ("reading", self.reading(run)), ("writing", edges.writes)
        for side, names in sides:
            for name in names:
                if (side, name) in self._using:
                    self._using[side, name].add(ref)

    def own(self, run: Run) -> Edges:
        """Return the edges that the events of a run itself report."""
        edges = self._own.get(run.key)
        if edges is None:
            edges = self._own[run.key] = run_edges(self.state, run)
        return edges

    def owners(self, ref: JobRef) -> set[JobRef]:
        """Return the tasks that own the runs of a job which read or wrote data."""
        if ref not in self._owners:
            self._owners[ref] = {
                self.levels.owner(run, Level.TASK).key.job
                for run in map(self.state.runs.__getitem__, self.state.jobs[ref].runs)
                if self._has_data(run)
            }
        return self._owners[ref]

    def _has_data(self, run: Run) -> bool:
        return run.has_data or (run.has_events and run.key.job in self.state.handoffs)

    def reading(self, run: Run) -> set[DatasetName]:
        """Return the datasets that a run read, including those named only in column lineage."""
        primary = self.state.identity.primary
        return self.own(run).reads | {primary(name) for name in run.in_columns or ()}

    def jobs(self) -> Iterable[JobRef]:
        """Return all tasks that have generations."""
        if self._jobs is None:
            found: dict[JobRef, None] = {}  # cached only when complete
            for run in self.state.runs.values():
                deadline.check()
                if self._has_data(run):
                    found[self.levels.owner(run, Level.TASK).key.job] = None
            self._jobs = found | dict.fromkeys(self._static_refs())
        return self._jobs

    def _static_refs(self) -> Iterator[JobRef]:
        """Yield the jobs and derivations that have edges without a run."""
        state = self.state
        for job in state.jobs.values():
            if job.declared is not None or job.stated_by or job.ref in state.handoffs:
                yield job.ref
        derived = (
            record.name for record in state.datasets.values() if record.derivation is not None
        )
        yield from (derivation(state.identity.primary(name)) for name in derived)

    def readers(self, name: DatasetName) -> list[JobRef]:
        """Return the tasks that may have read a dataset at some time."""
        return self._users("reading", name)

    def writers(self, name: DatasetName) -> list[JobRef]:
        """Return the tasks that may have written a dataset at some time."""
        return self._users("writing", name)

    def latest(self, ref: JobRef) -> list[Generation]:
        """Return the newest finished generation of a job, and the unfinished ones after it."""
        return self.derived(ref, "latest generations", latest)

    def derived(
        self, ref: JobRef, name: str, derive: Callable[[list[Generation]], Answer]
    ) -> Answer:
        """Return a value computed from the generations of a task (oldest first), cached by name."""
        history = self._history(ref)
        if name not in history.derived:
            history.derived[name] = derive(history.oldest_first)
        answer: Answer = history.derived[name]
        return answer

    def of_runs(self, ref: JobRef, name: str, derive: Callable[[list[Run]], Answer]) -> Answer:
        """Return a value computed from the runs of a job and from those below them, cached by name.

        It must depend neither on the time nor on the facets of jobs and datasets.
        """
        cached = self._of_runs.setdefault(ref, {})
        if name not in cached:
            job = self.state.jobs.get(ref)
            runs = map(self.state.runs.__getitem__, job.runs if job else ())
            cached[name] = derive(list(deadline.watched(runs)))
        answer: Answer = cached[name]
        return answer

    def effective(self, ref: JobRef) -> list[Generation]:
        """Return the latest generations of a job, and older ones whose data was not replaced."""
        return self.derived(ref, "effective", effective)

    @property
    def present(self) -> Present:
        """Return the effective generations of all jobs, and those that their data comes from."""
        present, changed = self._present, self._changed
        if present is None:
            present, changed = Present(self.flows_into), set(self.jobs())
        if changed:
            self._present = None  # an update that a deadline interrupts is not used
            present.update({ref: self._history(ref) for ref in changed})
            self._present, self._changed = present, set()
        return present

    def present_near(self, ref: JobRef) -> list[Generation]:
        """Return the present generations of the family of a job."""
        present = self.present
        return [g for job in self.families.of(ref).jobs for g in present.of(job)]

    def generation_of(self, run: Run) -> Generation | None:
        """Return the generation of a run; None if the run neither read nor wrote."""
        owner = self.levels.owner(run, Level.TASK)
        ref, unit = owner.key.job, self._unit_of(owner)
        members = self._members(ref).get(unit, {})
        return self._describe(ref, unit, members) if run.key in members else None

    def writing_version(self, name: DatasetName, version: str) -> list[Generation]:
        """Return the generations with a run that wrote a version of a dataset."""
        primary = self.state.identity.primary
        return [
            generation
            for ref in self.writers(name)
            for generation in self._history(ref).oldest_first
            if any(
                primary(spelled) == name and version in versions_of(run, use)
                for run in generation.runs
                for spelled, use in run.outputs.items()
            )
        ]

    def flows_into(self, generation: Generation) -> list[Flow]:
        """Return what a generation read or kept, with the generations that wrote it."""
        found = [
            Flow(source, name, False)
            for name in generation.edges.reads
            for source in self.writing(name, generation)
        ]
        for name in generation.kept:
            kept_by = self.writing(name, generation, is_cut=True)
            found += (Flow(source, name, True) for source in kept_by)
        return found

    def sources(self, generation: Generation) -> list[Generation]:
        """Return the generations that wrote the data which a generation read or kept."""
        return [flow.source for flow in self.flows_into(generation)]

    def upstream_of(self, roots: Iterable[Generation], target: DatasetName | None = None) -> Walked:
        """Return the roots and everything upstream of them, or of one dataset that the roots wrote.

        Where events state which input feeds which output, only the edges on the way count.
        """
        found: Walked = {}
        open_ = [(root, target) for root in roots]
        while open_:
            generation, name = open_.pop()
            part = found.get(generation)
            if part is generation.edges:
                continue
            deadline.check()
            edges, kept = generation.edges, generation.kept
            if name is None or edges.is_product:
                found[generation] = edges
                reads = edges.reads - part.reads if part else edges.reads
            else:
                part = found.setdefault(generation, Edges(stated=edges.stated, free=edges.free))
                if name in part.writes:
                    continue
                reads, kept = edges.sources_of(name) - part.reads, kept & {name}
                part.reads |= reads
                part.writes.add(name)
            open_ += ((source, read) for read in reads for source in self.writing(read, generation))
            for name in kept:
                kept_by = self.writing(name, generation, is_cut=True)
                open_ += ((source, name) for source in kept_by)
        return found

    def downstream_of(
        self, roots: Iterable[Generation], source: DatasetName | None = None
    ) -> Walked:
        """Return the roots and the present generations downstream of them, or of a dataset read."""
        present = self.present
        found: Walked = {}
        open_ = [(root, source, False) for root in roots]
        while open_:
            generation, via, is_kept = open_.pop()
            part = found.get(generation)
            if part is generation.edges:
                continue
            edges = generation.edges
            if via is None or edges.is_product:
                found[generation] = edges
                writes = edges.writes - part.writes if part else edges.writes
            else:
                part = found.setdefault(generation, Edges(stated=edges.stated, free=edges.free))
                writes = ({via} if is_kept else edges.targets_of(via)) - part.writes
                part.reads |= set() if is_kept else {via}
                part.writes |= writes
            open_ += (
                (consumer, flow.dataset, flow.is_kept)
                for consumer, flow in present.flows_from(generation)
                if flow.dataset in writes
            )
        return found

    def _users(self, side: str, name: DatasetName) -> list[JobRef]:
        if (side, name) not in self._using:
            state, found = self.state, set[JobRef]()
            if (job := handed_by(name)) is not None:
                named = {job} if side == "writing" else state.handoffs.get(job, set())
                found |= {owner for ref in named for owner in self.owners(ref) or (ref,)}
            keys: set[RunKey] = set()
            for record in records_of(state, name):
                keys |= record.readers if side == "reading" else record.writers
                found |= record.declaring or set()
                if side == "writing" and record.derivation is not None:
                    found.add(derivation(name))
            for spelled in state.identity.names(name) if side == "reading" else ():
                keys |= state.in_columns.get(spelled, set())
                derived = state.derived_from.get(spelled, ())
                found |= {derivation(state.identity.primary(dependent)) for dependent in derived}
            runs = map(state.runs.__getitem__, keys)
            found |= {self.levels.owner(run, Level.TASK).key.job for run in runs}
            self._using[side, name] = found
        return sorted(self._using[side, name])

    def writing(
        self, name: DatasetName, reader: Generation | None = None, *, is_cut: bool = False
    ) -> list[Generation]:
        """Return each job's generations that wrote the contents of a dataset, without `sources`.

        With a reader, those that were effective at its start. If a job had none by then (because of
        a wrong clock or an unrecorded write), its first one counts, so that the walk does not end,
        unless `is_cut`.
        """
        found: list[Generation] = []
        for ref in self.writers(name):
            writing = self._history(ref).writing(name)
            end = len(writing)
            if reader is not None:
                end = bisect_right(writing, reader.started, key=lambda g: g.started)
            counted = []
            for generation in reversed(writing[:end]):
                if generation is not reader:
                    counted.append(generation)
                    if generation.is_complete:
                        break
            if not counted and not is_cut:
                counted = [g for g in writing[:2] if g is not reader][:1]
            found += counted
        return found

    def _history(self, ref: JobRef) -> History:
        """Return the generations of a task."""
        history = self._histories.get(ref)
        if history is None:
            found = self._without_runs(ref) or [
                self._describe(ref, unit, runs) for unit, runs in self._members(ref).items()
            ]
            found.sort(key=lambda g: g.order)
            history = self._histories[ref] = History(found)
        return history

    def _without_runs(self, ref: JobRef) -> list[Generation]:
        """Return the generation of a derivation, or of a job with declared edges and no runs."""
        derived = derived_by(ref)
        if derived is not None:
            return [static(ref, derived_edges(self.state, derived))]
        if self.owners(ref) or self._members(ref):
            return []
        edges = declared_edges(self.state, self.state.jobs[ref])
        return [static(ref, edges)] if edges.reads or edges.writes else []

    def _members(self, ref: JobRef) -> dict[RunKey, dict[RunKey, Run]]:
        """Return the runs that a task owns and that read or wrote data, by unit."""
        if ref not in self._units:
            units: dict[RunKey, dict[RunKey, Run]] = defaultdict(dict)
            is_above = self.levels.of(ref) > Level.TASK  # it does not own the runs below it
            for key in self.state.jobs[ref].runs:
                run = self.state.runs[key]
                for member in [run] if is_above else [run, *descendants_of(self.state, run)]:
                    if not self._has_data(member):
                        continue
                    owner = self.levels.owner(member, Level.TASK)
                    if owner.key.job == ref:
                        units[self._unit_of(owner)][member.key] = member
            self._units[ref] = dict(units)
        return self._units[ref]

    def _unit_of(self, head: Run) -> RunKey:
        """Return the key that unites runs of one task: the parent's, or the run's own."""
        parent = parent_of(self.state, head)
        return parent.key if parent else head.key

    def _describe(self, ref: JobRef, unit: RunKey, members: dict[RunKey, Run]) -> Generation:
        if unit in self._described[ref]:
            return self._described[ref][unit]
        runs = list(members.values())
        heads: dict[RunKey, Run] = {}
        by_head: dict[RunKey, Edges] = {}
        for run in runs:
            head = self.levels.owner(run, Level.TASK)
            heads[head.key] = head
            by_head[head.key] = united(by_head.get(head.key), self.own(run))
        outcomes = [outcome(self.state, head) for head in heads.values()]
        times = map(start_of, (*heads.values(), *runs))
        started = min(moment for moment in times if moment is not None)
        generation = self._described[ref][unit] = Generation(
            job=ref,
            order=(started, min(run.key for run in runs)),
            is_complete=all(ended is not None for _, ended in outcomes)
            and any(condition is RunState.COMPLETED for condition, _ in outcomes),
            edges=side_by_side(list(by_head.values())),
            kept=kept_datasets(self.state, runs),
            runs=tuple(runs),
        )
        return generation
