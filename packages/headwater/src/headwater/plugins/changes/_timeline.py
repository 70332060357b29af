"""Runs around a node over time, and the changes of the graph there.

- scope: the jobs and datasets within some steps of the node; all readers or writers of an inner
  dataset are in it, but not those of one at the border
- step: what one generation (the runs of a task under one parent run) changed, see `_steps`
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

from annotated_types import Ge, Le

from headwater import deadline
from headwater.datasets.schemas import drift
from headwater.errors import ConfigError
from headwater.events import JobRef, parse_time, shown_time, to_micros
from headwater.events.facets import ErrorMessage
from headwater.graph.current import generations_of, graph_of, level_of
from headwater.graph.edges import DataEdge
from headwater.graph.effective import Graph
from headwater.graph.generations import Generations
from headwater.graph.levels import Level
from headwater.graph.nodes import Node, node_id, typed_name
from headwater.graph.walk import reach
from headwater.identity import DatasetName
from headwater.lineage.neighborhood import at_level, graph_around
from headwater.lookup import find_node
from headwater.plugins.changes._steps import Step, steps_of
from headwater.plugins.changes.models import ChangeKind, GraphChange, RunCounts, TimelineAnswer
from headwater.projection import Run, RunKey, RunState, State, outcome
from headwater.projection.derived import began_at, descendants_of, records_of
from headwater.query.parameters import Depth, LevelName, Limit, Name
from headwater.query.registry import micros_of, query
from headwater.runs.summary import code_of, condition_of


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the graph, of a schema or of code, or a failed run; times in microseconds.

    The difference between the states at `before` and at `at` shows the change.

    `detail` are texts: the error, the changed fields, or the two commits. `other` is the dataset of
    an edge, or the job that first used a new dataset.
    """

    kind: ChangeKind
    node: Node
    before: int
    """A time before the change."""
    at: int
    """A time at which all of the change had been reported."""
    run_id: str | None = None
    detail: Sequence[str] = ()
    other: Node | None = None
    edge: DataEdge | None = None
    is_gone: bool = False
    """True for an edge that was removed."""


_GROUPS = {
    RunState.COMPLETED: "completed",
    RunState.FAILED: "failed",
    RunState.ABORTED: "failed",
    RunState.LOST: "lost",
}

_BAD = (RunState.FAILED, RunState.ABORTED, RunState.LOST)


@dataclass(slots=True)
class Scope:
    """The nodes of a timeline; all readers or writers of `inner` nodes are in it.

    An item of `inner` has the side of its edges that are in the scope, and the dataset.
    """

    jobs: set[JobRef] = field(default_factory=set)
    datasets: set[DatasetName] = field(default_factory=set)
    inner: set[tuple[str, DatasetName]] = field(default_factory=set)

    @classmethod
    def of(cls, roots: Iterable[Node], graph: Graph, up: int, down: int) -> Scope:
        """Return the nodes within some steps of the roots on each side.

        `up` and `down` are steps. A dataset within fewer steps is inner: the next step is in it
        too.
        """
        found = cls()
        for way, depth, users in (("up", up, "writes"), ("down", down, "reads")):
            for root in roots:
                for node, count in reach(graph, root, way, depth).items():
                    found._add(node, users if count < depth else None)
        return found

    def _add(self, node: Node, users: str | None) -> None:
        """Add a node; `users` is the side of an inner dataset, and None at the border."""
        if node.type == "job":
            self.jobs.add(node.job_ref)
            return
        name = node.dataset_name
        self.datasets.add(name)
        if users:
            self.inner.add((users, name))

    def has(self, edge: DataEdge) -> bool:
        """Return True if a current or former edge belongs to the scope."""
        return edge.job in self.jobs or (edge.direction, edge.dataset) in self.inner


class Span(NamedTuple):
    """A time span in microseconds, divided into equal parts."""

    begin: int
    end: int
    parts: int

    @property
    def width(self) -> int:
        """Return the length of a part in microseconds, rounded up."""
        return max(1, -(-(self.end - self.begin) // self.parts))


@query("timeline")
def timeline_answer(
    state: State,
    node: Name,
    up: Depth = 1,
    down: Depth = 1,
    level: LevelName = "task",
    from_: Annotated[str | None, "Start time; by default that of the first run."] = None,
    to: Annotated[str | None, "End time; by default now."] = None,
    parts: Annotated[int, Ge(1), Le(500), "Number of intervals to count runs in."] = 60,
    limit: Limit = 200,
) -> TimelineAnswer:
    """Return the runs around a node over time, and the changes of the graph there, newest first."""
    root, chosen = find_node(state, node), level_of(level)
    generations, around = generations_of(state), graph_around(state, root, chosen)
    span = _span(state, from_, to, parts)
    scope = Scope.of(at_level(generations, around, root, chosen), around, up, down)
    runs = [run for ref in sorted(scope.jobs) for run in _runs_of(state, ref)]
    found = [
        *_of_graph(generations, graph_of(state, chosen), scope, chosen),
        *_of_schemas(state, scope.datasets),
        *_of_failures(state, runs),
    ]
    begins = [begin for run in runs if (begin := began_at(state, run))]
    first = min([*begins, *(change.at for change in found)], default=span.end)
    span = span._replace(begin=min(max(span.begin, first), span.end))  # no empty parts before it
    within = [change for change in found if span.begin <= change.at <= span.end]
    within.sort(key=lambda change: (change.at, change.node, change.kind), reverse=True)
    named = {end for change in within[:limit] for end in (change.node, change.other) if end}
    return {
        "node": node_id(root),
        "level": level,
        "from": shown_time(span.begin),
        "to": shown_time(span.end),
        "runs": _counted(state, runs, span),
        "changes": [_shown(change) for change in within[:limit]],
        "nodes": {node_id(end): typed_name(end) for end in sorted(named)},
        "isMore": len(within) > limit,
    }


def _span(state: State, from_: str | None, to: str | None, parts: int) -> Span:
    """Return the span that the parameters of the query give.

    Raises ConfigError if it is invalid.
    """
    begin = 0 if from_ is None else micros_of(from_, "from")
    now = state.now or max((run.last or 0 for run in state.runs.values()), default=0)
    end = now if to is None else micros_of(to, "to")
    if begin > end:
        raise ConfigError(f"from: received {from_!r}, expected a time before {to or 'now'}")
    return Span(begin, end, parts)


def _shown(change: Change) -> GraphChange:
    """Return a change as part of the answer."""
    return {
        "kind": change.kind,
        "isGone": change.is_gone,
        "at": shown_time(change.at),
        "before": shown_time(change.before),
        "node": node_id(change.node),
        "other": node_id(change.other) if change.other else None,
        "runId": change.run_id,
        "detail": list(change.detail),
    }


def _counted(state: State, runs: list[Run], span: Span) -> list[RunCounts]:
    """Return the number of runs by state in each part of the span that has any, oldest first.

    A run counts in the part in which it began.
    """
    parts: dict[int, Counter[str]] = {}
    ends: dict[int, int] = {}
    for run in deadline.watched(runs):
        begin = began_at(state, run)
        if begin is None or not span.begin <= begin <= span.end:
            continue
        part = min((begin - span.begin) // span.width, span.parts - 1)
        group = _GROUPS.get(condition_of(state, run), "running")
        parts.setdefault(part, Counter())[group] += 1
        end = min(span.begin + (part + 1) * span.width, span.end)
        # `at` of a part: a state as of that time has the ends of all its runs
        ends[part] = max(ends.get(part, end), outcome(state, run).ended or end)
    return [
        {
            "from": shown_time(span.begin + part * span.width),
            "to": shown_time(min(span.begin + (part + 1) * span.width, span.end)),
            "at": shown_time(ends[part]),
            "completed": parts[part]["completed"],
            "failed": parts[part]["failed"],
            "lost": parts[part]["lost"],
            "running": parts[part]["running"],
        }
        for part in sorted(parts)
    ]


def _runs_of(state: State, ref: JobRef) -> list[Run]:
    """Return the runs of a job, including those that only other runs refer to."""
    job = state.jobs.get(ref)
    runs = (state.runs[key] for key in job.runs) if job else ()
    return [run for run in deadline.watched(runs) if run.has_events or run.children]


def _of_failures(state: State, runs: Iterable[Run]) -> Iterator[Change]:
    """Yield a change for each run that failed, was aborted or has no end event."""
    for run in deadline.watched(runs):
        if condition_of(state, run) not in _BAD:
            continue
        ended = outcome(state, run).ended or run.last or began_at(state, run) or 0
        members = (run, *descendants_of(state, run))
        messages = (member.facets.parsed(ErrorMessage).message for member in members)
        message = next(filter(None, messages), None)
        yield Change(
            "failed",
            Node.of_job(run.key.job),
            (began_at(state, run) or ended) - 1,
            ended,
            run.key.run_id,
            [message] if message else (),
        )


def _of_schemas(state: State, names: Iterable[DatasetName]) -> Iterator[Change]:
    """Yield the changes of the schemas of datasets, with `+`, `−` and `→` in their details."""
    for name in names:
        for change in drift(state, name):
            at = to_micros(parse_time(change["at"]))
            fields = [f"+ {field['name']}: {field['type']}" for field in change["added"]]
            fields += [f"− {field['name']}: {field['type']}" for field in change["removed"]]
            fields += [f"{f['name']}: {f['from']} → {f['to']}" for f in change["changed"]]
            yield Change("schema", Node.of_dataset(name), at - 1, at, change["runId"], fields)


def _of_graph(
    generations: Generations, graph: Graph, scope: Scope, level: Level
) -> Iterator[Change]:
    """Yield the changes by the generations of the tasks of a scope, ordered by start.

    A removed edge is left out if the graph still shows it.
    """
    tasks = {ref for job in scope.jobs for ref in _tasks_of(generations, job)}
    for direction, name in scope.inner:
        tasks |= set(
            generations.writers(name) if direction == "writes" else generations.readers(name)
        )
    steps = [step for ref in sorted(tasks) for step in steps_of(generations, ref, level)]
    steps.sort(key=lambda step: (step.began, step.ended))
    history = _GraphHistory(generations.state, graph, scope, level)
    found = [change for step in deadline.watched(steps) for change in history.take(step)]
    yield from (change for change in found if not history.is_still_there(change))


class _GraphHistory:
    """The edges, runs and code of a graph, updated generation by generation.

    Pass all steps to `take` in the order of their starts before calling `is_still_there`.
    """

    def __init__(self, state: State, graph: Graph, scope: Scope, level: Level) -> None:
        self._state, self._graph, self._scope, self._level = state, graph, scope, level
        self._count: Counter[DataEdge] = Counter()
        self._first: dict[JobRef, RunKey] = {}
        self._code: dict[JobRef, str] = {}
        self._reported: set[DatasetName] = set()

    def take(self, step: Step) -> Iterator[Change]:
        """Yield the changes that a generation made."""
        times = (step.began - 1, step.ended)
        new = {ref for ref in step.runs if ref not in self._first}
        for ref in sorted(step.runs):
            run = step.runs[ref]
            self._first.setdefault(ref, run.key)
            if ref in self._scope.jobs:
                if ref in new:
                    yield Change("node", Node.of_job(ref), *times, run.key.run_id)
                yield from self._code_of(ref, run, times)
        for edge in sorted(step.added):
            self._count[edge] += 1  # tasks of one pipeline may have the same edge
            if self._count[edge] == 1 and self._is_shown(edge):
                yield from self._added(edge, step, is_first=edge.job in new)
        for edge in sorted(step.removed):
            self._count[edge] -= 1
            if not self._count[edge] and self._is_shown(edge):
                yield self._edge(edge, step, is_gone=True)

    def is_still_there(self, change: Change) -> bool:
        """Return True if a removed edge is still in the graph, because its data is still used."""
        edge = change.edge
        if not change.is_gone or edge is None or self._count[edge]:
            return False
        edges = self._graph.edges_of(edge.job)
        return edge.dataset in (edges.reads if edge.direction == "reads" else edges.writes)

    def _added(self, edge: DataEdge, step: Step, *, is_first: bool) -> Iterator[Change]:
        """Yield a new dataset as a node; yield an edge unless the job itself is new."""
        name, run = edge.dataset, step.runs.get(edge.job)
        # new: no event named it before this generation began
        if name not in self._reported and _first_received(self._state, name) >= step.began:
            self._reported.add(name)
            yield Change(
                "node",
                Node.of_dataset(name),
                step.began - 1,
                step.ended,
                run.key.run_id if run else None,
                other=Node.of_job(edge.job),
            )
        elif not is_first and (run is None or run.key != self._first.get(edge.job)):
            yield self._edge(edge, step, is_gone=False)

    def _edge(self, edge: DataEdge, step: Step, *, is_gone: bool) -> Change:
        """Return the change of an edge that a step added or removed."""
        run = step.runs.get(edge.job)
        return Change(
            "input" if edge.direction == "reads" else "output",
            Node.of_job(edge.job),
            step.began - 1,
            step.ended,
            run.key.run_id if run else None,
            other=Node.of_dataset(edge.dataset),
            edge=edge,
            is_gone=is_gone,
        )

    def _code_of(self, ref: JobRef, run: Run, times: tuple[int, int]) -> Iterator[Change]:
        """Yield a change if a run's commit differs from the last one known of its job.

        `times` are those of the change: before it and after it, in microseconds.
        """
        version, before = code_of(run).get("version"), self._code.get(ref)
        if version is not None:
            self._code[ref] = version
            if before not in (None, version):
                yield Change("code", Node.of_job(ref), *times, run.key.run_id, [before, version])

    def _is_shown(self, edge: DataEdge) -> bool:
        """Return True if an edge is in the scope and, for pipelines, not inside one."""
        if not self._scope.has(edge):
            return False
        if self._level is not Level.PIPELINE or edge.dataset in self._scope.datasets:
            return True
        graph, own = self._graph, {edge.job}  # datasets inside a pipeline are not shown
        return not graph.readers_of(edge.dataset) == graph.writers_of(edge.dataset) == own


def _first_received(state: State, name: DatasetName) -> int:
    """Return the time (microseconds) of the first event that mentions a dataset."""
    return min((record.first for record in records_of(state, name)), default=0)


def _tasks_of(generations: Generations, ref: JobRef) -> set[JobRef]:
    """Return the tasks that own the runs of a job and the runs below them."""
    state, found = generations.state, set[JobRef]()
    for run in _runs_of(state, ref):
        for member in (run, *descendants_of(state, run)):
            if member.has_data:
                found.add(generations.levels.owner(member, Level.TASK).key.job)
    return found
