"""The data edges of the graph at a level, from the generations that count.

Which runs count is decided for tasks (see throughline.graph.generations) and serves every level, so
that the pipelines' edges are the tasks' edges rolled up, and the queries' edges the same ones in
detail. For whom they count is the owner at the level (see Levels.owner). A run of a coarser level
than the one looked at, a container, is shown only with what none of the runs below it accounts for.
Of the two runs that Spark reports for one CREATE TABLE AS SELECT, the outer one is left out where
queries are shown.

Without a level each job shows what its own events said, which is Marquez's graph.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from throughline.graph.generations import Edges, Generation, Generations
from throughline.graph.levels import Level
from throughline.identity import DatasetName
from throughline.projection import Run, RunKey, RunState, State, outcome, start_of
from throughline.projection.derived import parent_of
from throughline.spec import JobRef


@dataclass(slots=True)
class LevelGraph:
    """The graph of some generations at one level."""

    jobs: dict[JobRef, Edges] = field(default_factory=dict)
    readers: dict[DatasetName, set[JobRef]] = field(default_factory=dict)
    writers: dict[DatasetName, set[JobRef]] = field(default_factory=dict)
    runs: dict[JobRef, Run] = field(default_factory=dict)
    """Of each job the newest run that its edges come from, a completed one if there is any."""

    @classmethod
    def build(
        cls, known: Generations, level: Level | None, counting: Iterable[Generation]
    ) -> LevelGraph:
        """Build the graph at a level, or of what each job said itself."""
        graph = cls()
        for owner, edges in _rolled_up(known, level, counting):
            if edges.reads or edges.writes:
                graph._add(known.state, owner, edges)
        return graph

    def edges_of(self, ref: JobRef) -> Edges:
        """What a job reads and writes."""
        return self.jobs.get(ref) or Edges()

    def readers_of(self, name: DatasetName) -> set[JobRef]:
        """The jobs that read a dataset."""
        return self.readers.get(name) or set()

    def writers_of(self, name: DatasetName) -> set[JobRef]:
        """The jobs that write a dataset."""
        return self.writers.get(name) or set()

    def _add(self, state: State, owner: Run | JobRef, edges: Edges) -> None:
        ref = owner if isinstance(owner, JobRef) else owner.key.job
        self.jobs.setdefault(ref, Edges()).add(edges)
        for name in edges.reads:
            self.readers.setdefault(name, set()).add(ref)
        for name in edges.writes:
            self.writers.setdefault(name, set()).add(ref)
        if isinstance(owner, Run):
            held = self.runs.get(ref)
            if held is None or _rank(state, owner) > _rank(state, held):
                self.runs[ref] = owner


class Latest:
    """What the events of each job said last, which is Marquez's graph; found as it is asked for."""

    def __init__(self, known: Generations) -> None:
        self._known = known

    def edges_of(self, ref: JobRef) -> Edges:
        """What a job reads and writes."""
        found = Edges()
        if ref in self._known.state.jobs:
            for owner in self._known.owners(ref) or (ref,):
                found.add(self._of(owner).edges_of(ref))
        return found

    def readers_of(self, name: DatasetName) -> set[JobRef]:
        """The jobs that read a dataset."""
        owners = self._known.readers(name)
        return {ref for owner in owners for ref in self._of(owner).readers_of(name)}

    def writers_of(self, name: DatasetName) -> set[JobRef]:
        """The jobs that write a dataset."""
        owners = self._known.writers(name)
        return {ref for owner in owners for ref in self._of(owner).writers_of(name)}

    def _of(self, owner: JobRef) -> LevelGraph:
        def build(_: list[Generation]) -> LevelGraph:
            return LevelGraph.build(self._known, None, self._known.counting(owner))

        return self._known.derived(owner, "latest", build)


def _rank(state: State, run: Run) -> tuple[bool, int, RunKey]:
    return outcome(state, run).state is RunState.COMPLETED, start_of(run) or 0, run.key


def _rolled_up(
    known: Generations, level: Level | None, counting: Iterable[Generation]
) -> Iterator[tuple[Run | JobRef, Edges]]:
    counting = list(counting)
    current = [run for generation in counting for run in generation.runs]
    yield from ((g.job, g.edges) for g in counting if not g.runs)
    levels = known.levels
    if level is None:
        yield from ((run, known.own(run)) for run in current)
        return
    if level is Level.QUERY:
        current = _without_shells(known.state, current)
    below = _accounted_below(known, current)
    for run in current:
        edges = known.own(run)
        owner = levels.owner(run, level)
        if levels.of(owner.key.job) > level and run.key in below:
            edges = _left_over(edges, below[run.key])
        yield owner, edges


def _left_over(edges: Edges, lower: Edges) -> Edges:
    """What a container does beyond the runs below it.

    Where something is left on one side the other side stays whole: a step that reads a table by a
    query and writes an artifact itself would otherwise end the walk between the two.
    """
    reads, writes = edges.reads - lower.reads, edges.writes - lower.writes
    return Edges(edges.reads if writes else reads, edges.writes if reads else writes)


def _accounted_below(known: Generations, current: list[Run]) -> dict[RunKey, Edges]:
    """For every run with runs below it, the edges of those."""
    below: dict[RunKey, Edges] = defaultdict(Edges)
    for run in current:
        for above in known.levels.lineage(run)[1:]:
            below[above.key].add(known.own(run))
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
