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

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

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
from throughline.projection.derived import parent_of
from throughline.spec import JobRef


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


class Generations:
    """Every generation of a state, and how they feed one another."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.levels = Levels(state)
        self.own = {
            key: own_edges(state, run)
            for key, run in state.runs.items()
            if run.inputs or run.outputs
        }
        self._of = self._all()
        self._writers: dict[DatasetName, list[JobRef]] = defaultdict(list)
        for ref, generations in self._of.items():
            for name in {name for g in generations for name in g.edges.writes}:
                self._writers[name].append(ref)

    def current(self) -> list[Generation]:
        """What every job did last: Marquez's view."""
        return [g for generations in self._of.values() for g in _counting(generations)]

    @cached_property
    def present(self) -> list[Generation]:
        """What every job did last, and all that the present contents of any dataset come from."""
        living = [g for generations in self._of.values() for g in _living(generations)]
        return self.behind([*self.current(), *living])

    def writing(self, name: DatasetName) -> list[Generation]:
        """Those that count for the present contents of a dataset, before `sources` of them."""
        return self._writing(name, None)

    def writing_version(self, name: DatasetName, version: str) -> list[Generation]:
        """Those of which a run wrote one version of a dataset."""
        primary = self.state.identity.primary
        return [
            generation
            for ref in self._writers.get(name, ())
            for generation in self._of[ref]
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
                found[generation] = None
                open_ += self.sources(generation)
        return list(found)

    def after(self, roots: Iterable[Generation], living: list[Generation]) -> list[Generation]:
        """The roots and those of the living that they led to."""
        led: dict[Generation, list[Generation]] = defaultdict(list)
        for generation in living:
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

    def _writing(
        self, name: DatasetName, reader: Generation | None, *, is_cut: bool = False
    ) -> list[Generation]:
        """The generations of each job that counted for a dataset when the reader began.

        Where a job had none by then (its clock is wrong, or the reader met what nobody recorded)
        its first one counts, so that the walk does not end, unless `is_cut`.
        """
        found: list[Generation] = []
        for ref in self._writers.get(name, ()):
            writing = [g for g in self._of[ref] if name in g.edges.writes and g is not reader]
            before = [g for g in writing if reader is None or g.started <= reader.started]
            found += _counting(before or ([] if is_cut else writing[:1]))
        return found

    def _all(self) -> dict[JobRef, list[Generation]]:
        """The generations of every task, oldest first."""
        members: dict[RunKey, list[Run]] = defaultdict(list)
        for key in self.own:
            run = self.state.runs[key]
            members[self.levels.owner(run, Level.TASK).key].append(run)
        units: dict[JobRef, dict[RunKey, list[RunKey]]] = defaultdict(lambda: defaultdict(list))
        for key in members:
            parent = parent_of(self.state, self.state.runs[key])
            units[key.job][parent.key if parent else key].append(key)
        found: dict[JobRef, list[Generation]] = {}
        for ref, of_job in units.items():
            described = [self._describe(ref, members, heads) for heads in of_job.values()]
            found[ref] = sorted(described, key=lambda g: g.order)
        told = {key.job for key in self.own}
        for job in self.state.jobs.values():
            if job.declared is not None and job.ref not in told and job.ref not in found:
                found[job.ref] = [_declared(self.state, job)]
        return found

    def _describe(
        self, ref: JobRef, members: dict[RunKey, list[Run]], keys: list[RunKey]
    ) -> Generation:
        heads = [self.state.runs[key] for key in keys]
        runs = [run for key in keys for run in members[key]]
        outcomes = [outcome(self.state, head) for head in heads]
        edges = Edges()
        for run in runs:
            edges.add(self.own[run.key])
        started = min(moment for run in (*heads, *runs) if (moment := start_of(run)) is not None)
        return Generation(
            job=ref,
            order=(started, min(run.key for run in runs)),
            is_complete=all(ended is not None for _, ended in outcomes)
            and any(condition is RunState.COMPLETED for condition, _ in outcomes),
            edges=edges,
            kept=_kept(self.state, runs),
            runs=tuple(runs),
        )


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
