"""The data edges of the graph at a level: which runs count, and for whom they count.

Which runs count (the current runs) is decided once, for tasks, and serves every level, so that the
pipelines' edges are the tasks' edges rolled up, and the queries' edges the same ones in detail:

- The runs of one task under one parent run are one generation: mapped and foreach elements and
  retries are united. A run without a parent is a generation of its own. What a generation reads and
  writes is what its runs and all runs below them do.
- The newest finished generation counts. It is the newest one that wrote something, or, for a task
  that never wrote, the newest one that read: a load that was skipped, or that only looked and found
  nothing to do, takes no edge away, while a dataset that it stopped reading is gone with the next
  finished run.
- Unfinished and failed generations that are newer count as well: what they touched, they touched.
- Generations are ordered by when they started, not by when they were heard of.

For whom they count is the owner at the level (see Levels.owner). A run of a coarser level than the
one looked at, a container, is shown only with what none of the runs below it accounts for.
Of the two runs that Spark reports for one CREATE TABLE AS SELECT, the outer one is left out where
queries are shown.

Without a level each job shows what its own events said, which is Marquez's graph.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from throughline.graph.levels import Level, Levels
from throughline.identity import DatasetName
from throughline.projection import Job, Run, RunKey, RunState, State, outcome, start_of
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


@dataclass(slots=True)
class LevelGraph:
    """The whole graph at one level."""

    jobs: dict[JobRef, Edges] = field(default_factory=dict)
    readers: dict[DatasetName, set[JobRef]] = field(default_factory=dict)
    writers: dict[DatasetName, set[JobRef]] = field(default_factory=dict)

    @classmethod
    def build(cls, state: State, level: Level | None) -> LevelGraph:
        """Build the graph at a level, or of what each job said itself."""
        graph = cls()
        for ref, edges in _rolled_up(state, level).items():
            if not (edges.reads or edges.writes):
                continue
            graph.jobs[ref] = edges
            for name in edges.reads:
                graph.readers.setdefault(name, set()).add(ref)
            for name in edges.writes:
                graph.writers.setdefault(name, set()).add(ref)
        return graph


class _Generation(NamedTuple):
    started: int
    is_complete: bool
    reads: bool
    writes: bool
    runs: list[Run]


def _rolled_up(state: State, level: Level | None) -> dict[JobRef, Edges]:
    levels = Levels(state)
    own = {key: _own(state, run) for key, run in state.runs.items() if run.inputs or run.outputs}
    current = [run for run in _current_runs(state, levels, own) if run.key in own]
    result: dict[JobRef, Edges] = defaultdict(Edges)
    if level is None:
        for run in current:
            result[run.key.job].add(own[run.key])
    else:
        if level is Level.QUERY:
            current = _without_shells(state, current)
        below = _accounted_below(levels, own, current)
        for run in current:
            owner = levels.owner(run, level)
            edges = own[run.key]
            if levels.of(owner.key.job) > level and run.key in below:
                edges = _left_over(edges, below[run.key])
            result[owner.key.job].add(edges)
    for job in state.jobs.values():
        if job.declared is not None:
            _add_declared(state, job, result)
    return result


def _left_over(edges: Edges, lower: Edges) -> Edges:
    """What a container does beyond the runs below it.

    Where something is left on one side the other side stays whole: a step that reads a table by a
    query and writes an artifact itself would otherwise end the walk between the two.
    """
    reads, writes = edges.reads - lower.reads, edges.writes - lower.writes
    return Edges(edges.reads if writes else reads, edges.writes if reads else writes)


def _own(state: State, run: Run) -> Edges:
    primary = state.identity.primary
    return Edges({primary(name) for name in run.inputs}, {primary(name) for name in run.outputs})


def _add_declared(state: State, job: Job, result: dict[JobRef, Edges]) -> None:
    """What a JobEvent declares holds as long as no run says what the job really does."""
    declared = job.declared
    if declared is not None and job.ref not in result:
        primary = state.identity.primary
        result[job.ref].add(
            Edges({primary(n) for n in declared.inputs}, {primary(n) for n in declared.outputs})
        )


def _current_runs(state: State, levels: Levels, own: dict[RunKey, Edges]) -> list[Run]:
    members: dict[RunKey, list[Run]] = defaultdict(list)
    for key in own:
        run = state.runs[key]
        members[levels.owner(run, Level.TASK).key].append(run)
    units: dict[JobRef, dict[RunKey, list[RunKey]]] = defaultdict(lambda: defaultdict(list))
    for key in members:
        parent = parent_of(state, state.runs[key])
        units[key.job][parent.key if parent else key].append(key)
    current: list[Run] = []
    for generations in units.values():
        described = [_describe(state, own, members, keys) for keys in generations.values()]
        for generation in _counting(described):
            current += generation.runs
    return current


def _describe(
    state: State, own: dict[RunKey, Edges], members: dict[RunKey, list[Run]], keys: list[RunKey]
) -> _Generation:
    heads = [state.runs[key] for key in keys]
    runs = [run for key in keys for run in members[key]]
    outcomes = [outcome(state, head) for head in heads]
    return _Generation(
        started=min(moment for run in (*heads, *runs) if (moment := start_of(run)) is not None),
        is_complete=all(ended is not None for _, ended in outcomes)
        and any(condition is RunState.COMPLETED for condition, _ in outcomes),
        reads=any(own[run.key].reads for run in runs),
        writes=any(own[run.key].writes for run in runs),
        runs=runs,
    )


def _counting(generations: list[_Generation]) -> list[_Generation]:
    newest_first = sorted(
        generations, key=lambda g: (g.started, min(run.key for run in g.runs)), reverse=True
    )
    complete = [generation for generation in newest_first if generation.is_complete]
    base = next((g for g in complete if g.writes), complete[0] if complete else None)
    if base is None:
        return newest_first
    counting = [base]
    for generation in newest_first:
        if generation is base:
            break
        if not generation.is_complete:
            counting.append(generation)
    return counting


def _accounted_below(
    levels: Levels, own: dict[RunKey, Edges], current: list[Run]
) -> dict[RunKey, Edges]:
    """For every run with runs below it, the edges of those."""
    below: dict[RunKey, Edges] = defaultdict(Edges)
    for run in current:
        for above in levels.lineage(run)[1:]:
            below[above.key].add(own[run.key])
    return below


def _without_shells(state: State, runs: list[Run]) -> list[Run]:
    """Leave out a run `..._as_select` that only wraps a sibling's write of the same dataset."""
    siblings: dict[RunKey | None, list[Run]] = defaultdict(list)
    for run in runs:
        parent = parent_of(state, run)
        siblings[parent.key if parent else None].append(run)
    return [
        run
        for parent, group in siblings.items()
        for run in group
        if parent is None
        or "_as_select" not in run.key.job.name
        or not any(_wraps(state, run, other) for other in group if other is not run)
    ]


def _wraps(state: State, outer: Run, inner: Run) -> bool:
    if "_as_select" in inner.key.job.name or None in (outer.first, outer.last, inner.first):
        return False
    begins, starts, ends = outer.first or 0, inner.first or 0, outer.last or 0
    primary = state.identity.primary
    written = {primary(name) for name in inner.outputs}
    return begins <= starts <= ends and {primary(name) for name in outer.outputs} <= written
