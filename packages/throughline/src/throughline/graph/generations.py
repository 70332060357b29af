"""Generations: the runs of a task that belong together, and which of them count.

- The runs of one task under one parent run are one generation: mapped and foreach elements and
  retries are united. A run without a parent is a generation of its own. What a generation reads and
  writes is what its runs and all runs below them do.
- The newest finished generation counts. It is the newest one that wrote something, or, for a task
  that never wrote, the newest one that read: a load that was skipped, or that only looked and found
  nothing to do, takes no edge away, while a dataset that it stopped reading is gone with the next
  finished run.
- Unfinished and failed generations that are newer count as well: what they touched, they touched.
- Generations are ordered by when they started, not by when they were heard of.

That is what jobs did last. What a dataset holds at present can be older: a table that is
loaded slice by slice still holds what earlier generations wrote, from files that the newest one
never saw. `sources` therefore leads from a generation to those whose work it used: for each dataset
that it read, the ones that counted when it began, and for each dataset of which its commits kept
rows, the ones before it. Iceberg's commit report says whether rows were kept; without one a write
is taken to replace the dataset.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from throughline import deadline
from throughline.graph.levels import Level, Levels
from throughline.identity import DatasetName
from throughline.projection import (
    Job,
    Run,
    RunKey,
    RunState,
    State,
    outcome,
    start_of,
    version_of,
)
from throughline.projection.derived import descendants_of, parent_of
from throughline.spec import JobRef

Answer = TypeVar("Answer")


@dataclass(slots=True)
class Edges:
    """What one job reads and writes; datasets under their shown names."""

    reads: set[DatasetName] = field(default_factory=set)
    writes: set[DatasetName] = field(default_factory=set)

    def add(self, other: Edges) -> None:
        """Unite with the edges of another run."""
        self.reads |= other.reads
        self.writes |= other.writes


@dataclass(frozen=True, slots=True, eq=False)
class Generation:
    """Runs of one task that belong together; none, for what a JobEvent declares."""

    job: JobRef
    order: tuple[int, RunKey | None]
    is_complete: bool
    edges: Edges
    kept: frozenset[DatasetName]
    runs: tuple[Run, ...]

    @property
    def started(self) -> int:
        """When the first of its runs began."""
        return self.order[0]


@dataclass(slots=True)
class _OfJob:
    """What is known of one job's generations, until one of them changes."""

    oldest_first: list[Generation]
    writing: dict[DatasetName, list[Generation]] = field(default_factory=dict)
    derived: dict[str, Any] = field(default_factory=dict)


class Generations:
    """Every generation of a state, and how they feed one another.

    Each is found when somebody asks for it and kept until an event changes it, so that the work
    grows with the question and with what happened since the last one. An event that puts known runs
    in another place, gives a job another level or joins names has all found anew.
    """

    def __init__(self, state: State) -> None:
        self.state = state
        self._forget()

    def _forget(self) -> None:
        self._revision = self.state.revision
        self._shape = self.state.shape
        self.state.touched.clear()
        self.levels = Levels(self.state)
        self._own: dict[RunKey, Edges] = {}
        self._owners: dict[JobRef, set[JobRef]] = {}
        self._using: dict[tuple[str, DatasetName], set[JobRef]] = {}
        self._units: dict[JobRef, dict[RunKey, dict[RunKey, Run]]] = {}
        self._described: dict[tuple[JobRef, RunKey], Generation] = {}
        self._of: dict[JobRef, _OfJob] = {}
        self._jobs: dict[JobRef, None] | None = None
        self._present: list[Generation] | None = None

    def refresh(self) -> None:
        """Take in the events that were applied to the state since."""
        state = self.state
        if state.shape != self._shape:
            self._forget()
        elif state.revision != self._revision:
            for key in state.touched:
                self._renew(state.runs[key])
            state.touched.clear()
            self._present = None
            self._revision = state.revision

    def _renew(self, run: Run) -> None:
        """An event told something of a run: forget what followed from it, note what is new."""
        self._own.pop(run.key, None)
        # The end of a run is also that of the runs below it that never told theirs.
        changed = [run, *descendants_of(self.state, run)] if run.end else [run]
        for each in changed:
            for above in self.levels.lineage(each):
                self._described.pop((above.key.job, self._unit_of(above)), None)
                self._of.pop(above.key.job, None)
        if not (run.inputs or run.outputs):
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
        """What the events of a run itself said."""
        edges = self._own.get(run.key)
        if edges is None:
            edges = self._own[run.key] = own_edges(self.state, run)
        return edges

    def owners(self, ref: JobRef) -> set[JobRef]:
        """The tasks that answer for the runs of a job which read or wrote something."""
        if ref not in self._owners:
            self._owners[ref] = {
                self.levels.owner(run, Level.TASK).key.job
                for run in map(self.state.runs.__getitem__, self.state.jobs[ref].runs)
                if run.inputs or run.outputs
            }
        return self._owners[ref]

    def reading(self, run: Run) -> set[DatasetName]:
        """What a run read; of what only the column lineage names, more than it read perhaps."""
        primary = self.state.identity.primary
        return self.own(run).reads | {primary(name) for name in run.in_columns or ()}

    def jobs(self) -> Iterable[JobRef]:
        """All tasks that have generations."""
        if self._jobs is None:
            found: dict[JobRef, None] = {}  # not kept unless it is whole: a check may end it
            for run in self.state.runs.values():
                deadline.check()
                if run.inputs or run.outputs:
                    found[self.levels.owner(run, Level.TASK).key.job] = None
            told = (job.ref for job in self.state.jobs.values() if job.declared is not None)
            self._jobs = found | dict.fromkeys(told)
        return self._jobs

    def readers(self, name: DatasetName) -> list[JobRef]:
        """The tasks that may have read a dataset at some time."""
        return self._users("reading", name)

    def writers(self, name: DatasetName) -> list[JobRef]:
        """The tasks that may have written a dataset at some time."""
        return self._users("writing", name)

    def counting(self, ref: JobRef) -> list[Generation]:
        """What a job did last: its newest finished generation, and the unfinished ones after it."""
        return self.derived(ref, "counting", _counting)

    def derived(
        self, ref: JobRef, name: str, derive: Callable[[list[Generation]], Answer]
    ) -> Answer:
        """What follows from the generations of one task (oldest first), found once for them."""
        of_job = self._of_job(ref)
        if name not in of_job.derived:
            of_job.derived[name] = derive(of_job.oldest_first)
        answer: Answer = of_job.derived[name]
        return answer

    def current(self) -> list[Generation]:
        """What every job did last: Marquez's view."""
        return [g for ref in self.jobs() for g in self.counting(ref)]

    @property
    def present(self) -> list[Generation]:
        """What every job did last, and all that the present contents of any dataset come from."""
        if self._present is None:
            living = [g for ref in self.jobs() for g in self.derived(ref, "living", _living)]
            self._present = self.behind([*self.current(), *living])
        return self._present

    def generation_of(self, run: Run) -> Generation | None:
        """The one that a run is part of; none if it neither read nor wrote."""
        owner = self.levels.owner(run, Level.TASK)
        ref, unit = owner.key.job, self._unit_of(owner)
        members = self._members(ref).get(unit, {})
        return self._describe(ref, unit, members) if run.key in members else None

    def writing(self, name: DatasetName) -> list[Generation]:
        """Those that count for the present contents of a dataset, before `sources` of them."""
        return self._writing(name, None)

    def writing_version(self, name: DatasetName, version: str) -> list[Generation]:
        """Those of which a run wrote one version of a dataset."""
        primary = self.state.identity.primary
        return [
            generation
            for ref in self.writers(name)
            for generation in self._of_job(ref).oldest_first
            if any(
                primary(spelled) == name and version_of(run, use) == version
                for run in generation.runs
                for spelled, use in run.outputs.items()
            )
        ]

    def sources(self, generation: Generation) -> list[Generation]:
        """Those that wrote what a generation read or kept."""
        found = [g for name in generation.edges.reads for g in self._writing(name, generation)]
        for name in generation.kept:
            found += self._writing(name, generation, is_cut=True)
        return found

    def behind(self, roots: Iterable[Generation]) -> list[Generation]:
        """The roots and all that led to them."""
        found: dict[Generation, None] = {}
        open_ = list(roots)
        while open_:
            generation = open_.pop()
            if generation not in found:
                deadline.check()
                found[generation] = None
                open_ += self.sources(generation)
        return list(found)

    def after(self, roots: Iterable[Generation], living: list[Generation]) -> list[Generation]:
        """The roots and those of the living that they led to."""
        led: dict[Generation, list[Generation]] = defaultdict(list)
        for generation in living:
            deadline.check()
            for source in self.sources(generation):
                led[source].append(generation)
        found: dict[Generation, None] = {}
        open_ = list(roots)
        while open_:
            generation = open_.pop()
            if generation not in found:
                found[generation] = None
                open_ += led[generation]
        return list(found)

    def _users(self, side: str, name: DatasetName) -> list[JobRef]:
        if (side, name) not in self._using:
            state, found = self.state, set[JobRef]()
            for spelled in state.identity.names(name):
                record = state.datasets.get(spelled)
                keys: set[RunKey] = set()
                if record is not None:
                    keys = record.readers if side == "reading" else record.writers
                    found |= record.declaring or set()
                if side == "reading":
                    keys = keys | state.in_columns.get(spelled, set())
                runs = map(state.runs.__getitem__, keys)
                found |= {self.levels.owner(run, Level.TASK).key.job for run in runs}
            self._using[side, name] = found
        return sorted(self._using[side, name])

    def _writing(
        self, name: DatasetName, reader: Generation | None, *, is_cut: bool = False
    ) -> list[Generation]:
        """The generations of each job that counted for a dataset when the reader began.

        Where a job had none by then (its clock is wrong, or the reader met what nobody recorded)
        its first one counts, so that the walk does not end, unless `is_cut`.
        """
        found: list[Generation] = []
        for ref in self.writers(name):
            of_job = self._of_job(ref)
            writing = of_job.writing.get(name)
            if writing is None:
                writing = [g for g in of_job.oldest_first if name in g.edges.writes]
                of_job.writing[name] = writing
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

    def _of_job(self, ref: JobRef) -> _OfJob:
        """The generations of a task, oldest first."""
        held = self._of.get(ref)
        if held is None:
            members = self._members(ref)
            found = [self._describe(ref, unit, runs) for unit, runs in members.items()]
            job = self.state.jobs[ref]
            if not found and job.declared is not None and not self.owners(ref):
                found = [_declared(self.state, job)]
            found.sort(key=lambda g: g.order)
            held = self._of[ref] = _OfJob(found)
        return held

    def _members(self, ref: JobRef) -> dict[RunKey, dict[RunKey, Run]]:
        """The runs that a task answers for and that read or wrote something, unit by unit."""
        if ref not in self._units:
            units: dict[RunKey, dict[RunKey, Run]] = defaultdict(dict)
            is_above = self.levels.of(ref) > Level.TASK  # it answers for nothing below it
            for key in self.state.jobs[ref].runs:
                run = self.state.runs[key]
                for each in [run] if is_above else [run, *descendants_of(self.state, run)]:
                    if not (each.inputs or each.outputs):
                        continue
                    owner = self.levels.owner(each, Level.TASK)
                    if owner.key.job == ref:
                        units[self._unit_of(owner)][each.key] = each
            self._units[ref] = dict(units)
        return self._units[ref]

    def _unit_of(self, head: Run) -> RunKey:
        """What the runs of one task are united under: their parent, or each is alone."""
        parent = parent_of(self.state, head)
        return parent.key if parent else head.key

    def _describe(self, ref: JobRef, unit: RunKey, members: dict[RunKey, Run]) -> Generation:
        if (ref, unit) in self._described:
            return self._described[ref, unit]
        runs = list(members.values())
        heads = {head.key: head for run in runs if (head := self.levels.owner(run, Level.TASK))}
        outcomes = [outcome(self.state, head) for head in heads.values()]
        edges = Edges()
        for run in runs:
            edges.add(self.own(run))
        times = map(start_of, (*heads.values(), *runs))
        started = min(moment for moment in times if moment is not None)
        generation = self._described[ref, unit] = Generation(
            job=ref,
            order=(started, min(run.key for run in runs)),
            is_complete=all(ended is not None for _, ended in outcomes)
            and any(condition is RunState.COMPLETED for condition, _ in outcomes),
            edges=edges,
            kept=_kept(self.state, runs),
            runs=tuple(runs),
        )
        return generation


def own_edges(state: State, run: Run) -> Edges:
    """What the events of a run itself said."""
    primary = state.identity.primary
    return Edges({primary(name) for name in run.inputs}, {primary(name) for name in run.outputs})


def _declared(state: State, job: Job) -> Generation:
    """What a JobEvent declares, which holds as long as no run says what the job really does."""
    primary = state.identity.primary
    inputs, outputs = (job.declared.inputs, job.declared.outputs) if job.declared else ((), ())
    edges = Edges({primary(name) for name in inputs}, {primary(name) for name in outputs})
    return Generation(job.ref, (0, None), True, edges, frozenset(), ())


def _counting(oldest_first: list[Generation]) -> list[Generation]:
    complete = [g for g in reversed(oldest_first) if g.is_complete]
    base = next((g for g in complete if g.edges.writes), complete[0] if complete else None)
    if base is None:
        return oldest_first
    newer = oldest_first[oldest_first.index(base) + 1 :]
    return [base, *(g for g in newer if not g.is_complete)]


def _living(oldest_first: list[Generation]) -> list[Generation]:
    """Those that wrote a dataset which no later finished one has written again.

    One job can serve many datasets, a run each (a flow that is started for one service, then for
    another): the last run alone would leave the others without an origin.
    """
    settled: set[DatasetName] = set()
    found = []
    for generation in reversed(oldest_first):
        if generation.edges.writes - settled:
            found.append(generation)
        if generation.is_complete:
            settled |= generation.edges.writes
    return found


def _kept(state: State, runs: list[Run]) -> frozenset[DatasetName]:
    """The datasets that hold more rows after the last commit of the runs than the runs added."""
    added: dict[DatasetName, float] = defaultdict(float)
    total: dict[DatasetName, tuple[int, float]] = {}
    for run in runs:
        for spelled, use in run.outputs.items():
            metrics = use.facets.get("icebergCommitReport").get("commitMetrics")
            if not isinstance(metrics, dict):
                continue
            name = state.identity.primary(spelled)
            added[name] += _count(metrics.get("addedRecords"))
            last = (start_of(run) or 0, _count(metrics.get("totalRecords")))
            total[name] = max(last, total.get(name, last))
    return frozenset(name for name, (_, rows) in total.items() if rows > added[name])


def _count(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
