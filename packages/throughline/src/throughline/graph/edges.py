"""The data edges of the graph at a level, from the generations that count.

Which runs count is decided for tasks (see throughline.graph.generations) and serves every level, so
that the pipelines' edges are the tasks' edges rolled up, and the queries' edges the same ones in
detail. For whom they count is the owner at the level (see Levels.owner). A run of a coarser level
than the one looked at, a container, is shown only with what none of the runs below it accounts for.
Of the two runs that Spark reports for one CREATE TABLE AS SELECT, the outer one is left out where
queries are shown.

Without a level each job shows what its own events said, which is Marquez's graph.

What a job passes to another without a dataset, and what a dataset is derived from without a job,
is a direct link between two jobs or two datasets.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

from throughline.graph.generations import Generation, Generations
from throughline.graph.levels import Level, Levels
from throughline.graph.nodes import Node
from throughline.graph.run_edges import Edges, derived_by, handed_by, side_by_side, united
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
    _from_jobs: list[tuple[DatasetName, Node]] = field(default_factory=list)
    _links: dict[str, dict[Node, set[Node]]] = field(default_factory=lambda: {"up": {}, "down": {}})

    @classmethod
    def build(
        cls,
        known: Generations,
        level: Level | None,
        counting: Iterable[Generation] | Mapping[Generation, Edges],
    ) -> LevelGraph:
        """Build the graph at a level, or of what each job said itself.

        Of a mapping, the edges of each generation are limited to its value.
        """
        graph = cls()
        owners: dict[RunKey | JobRef, Run | JobRef] = {}
        found: dict[RunKey | JobRef, Edges] = {}
        for owner, edges in _rolled_up(known, level, counting):
            if edges.reads or edges.writes:
                key = owner.key if isinstance(owner, Run) else owner
                owners[key] = owner
                found[key] = united(found.get(key), edges)
        parts: dict[JobRef, list[Edges]] = defaultdict(list)
        for key, owner in owners.items():
            ref = owner.key.job if isinstance(owner, Run) else owner
            if derived_by(ref) is None:
                parts[ref].append(found[key])
            else:
                graph._derive(found[key])
            if isinstance(owner, Run):
                graph._note_run(known.state, owner)
        for ref, edges_of_runs in parts.items():
            graph._add(ref, united(Edges(), side_by_side(edges_of_runs)))
        graph._link()
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

    def linked(self, node: Node, way: str) -> set[Node]:
        """The nodes that a direct link leads to, one step up or down."""
        return self._links[way].get(node, set())

    def links(self) -> Iterator[tuple[Node, Node]]:
        """Every direct link between two jobs or two datasets, in the direction of the data."""
        yield from ((above, node) for node, found in self._links["up"].items() for above in found)

    def edges(self) -> Iterator[tuple[Node, Node]]:
        """Every edge, in the direction of the data."""
        for ref, edges in self.jobs.items():
            job = Node.of_job(ref)
            yield from ((Node.of_dataset(name), job) for name in edges.reads)
            yield from ((job, Node.of_dataset(name)) for name in edges.writes)
        yield from self.links()

    def _connect(self, above: Node, below: Node) -> None:
        self._links["up"].setdefault(below, set()).add(above)
        self._links["down"].setdefault(above, set()).add(below)

    def _link(self) -> None:
        """Turn the handoffs between jobs into links."""
        for name, end in self._from_jobs:
            for ref in self.writers_of(name):
                self._connect(Node.of_job(ref), end)
        handoffs = [name for name in (*self.readers, *self.writers) if handed_by(name)]
        for name in handoffs:
            readers, writers = self.readers.pop(name, set()), self.writers.pop(name, set())
            for ref in readers:
                self.jobs[ref].reads.discard(name)
            for ref in writers:
                self.jobs[ref].writes.discard(name)
            for above, below in product(writers, readers - writers):
                self._connect(Node.of_job(above), Node.of_job(below))

    def _derive(self, edges: Edges) -> None:
        """Connect a derived dataset with what it comes from."""
        for end in map(Node.of_dataset, edges.writes):
            for name in edges.reads:
                if handed_by(name):
                    self._from_jobs.append((name, end))
                else:
                    self._connect(Node.of_dataset(name), end)

    def _add(self, ref: JobRef, edges: Edges) -> None:
        self.jobs[ref] = edges
        for name in edges.reads:
            self.readers.setdefault(name, set()).add(ref)
        for name in edges.writes:
            self.writers.setdefault(name, set()).add(ref)

    def _note_run(self, state: State, run: Run) -> None:
        held = self.runs.get(run.key.job)
        if held is None or _rank(state, run) > _rank(state, held):
            self.runs[run.key.job] = run


class Latest:
    """What the events of each job said last, and of each dataset the last that wrote it.

    This is Marquez's graph, in which a job's newest run alone would leave what the job wrote before
    without a producer. It is found as it is asked for, and has no direct links.
    """

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

    def linked(self, node: Node, way: str) -> set[Node]:
        """None: Marquez knows no edges between two jobs or two datasets."""
        return set()

    def _of(self, owner: JobRef) -> LevelGraph:
        def build(_: list[Generation]) -> LevelGraph:
            return LevelGraph.build(self._known, None, self._known.effective(owner))

        return self._known.derived(owner, "latest", build)


def _rank(state: State, run: Run) -> tuple[bool, int, RunKey]:
    return outcome(state, run).state is RunState.COMPLETED, start_of(run) or 0, run.key


def _rolled_up(
    known: Generations,
    level: Level | None,
    counting: Iterable[Generation] | Mapping[Generation, Edges],
) -> Iterator[tuple[Run | JobRef, Edges]]:
    parts = counting if isinstance(counting, Mapping) else {g: g.edges for g in counting}
    current = [run for generation in parts for run in generation.runs]
    own = _Own(known, parts)
    yield from ((g.job, part) for g, part in parts.items() if not g.runs)
    levels = known.levels
    if level is None:
        yield from ((run, own.of(run)) for run in current)
        return
    if level is Level.QUERY:
        current = _without_shells(known.state, current)
    below = _accounted_below(own, levels, current)
    for run in current:
        edges = own.of(run)
        owner = levels.owner(run, level)
        if levels.of(owner.key.job) > level and run.key in below:
            edges = _left_over(edges, below[run.key])
        yield owner, edges


class _Own:
    """The edges that each run itself told, within those of its generation that are asked for."""

    def __init__(self, known: Generations, parts: Mapping[Generation, Edges]) -> None:
        self._known = known
        self._limited = {
            run.key: known.own(run).within(part)
            for generation, part in parts.items()
            if part is not generation.edges
            for run in generation.runs
        }

    def of(self, run: Run) -> Edges:
        return self._limited.get(run.key) or self._known.own(run)


def _left_over(edges: Edges, lower: Edges) -> Edges:
    """What a container does beyond the runs below it.

    Where something is left on one side the other side stays whole: a step that reads a table by a
    query and writes an artifact itself would otherwise end the walk between the two.
    """
    reads, writes = edges.reads - lower.reads, edges.writes - lower.writes
    left = Edges(edges.reads if writes else reads, edges.writes if reads else writes)
    return edges.within(left)


def _accounted_below(own: _Own, levels: Levels, current: list[Run]) -> dict[RunKey, Edges]:
    """For every run with runs below it, the edges of those."""
    below: dict[RunKey, Edges] = defaultdict(Edges)
    for run in current:
        for above in levels.lineage(run)[1:]:
            below[above.key].add(own.of(run))
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
