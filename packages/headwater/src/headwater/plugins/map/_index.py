"""An index of all nodes by group, for the roll-up map: counts, edges between groups, due times.

A query first adds the changes since the previous one, so that its cost does not depend on the
number of nodes. `headwater.health.states` determines the state of a node; the index only selects
the nodes that can have a problem.

The path of a group leads to it from a grouping: ("platform", "hive", "hive://lake shop") is the
schema `shop`. A node is in the groups of its paths and in all groups above them: a dataset by
platform and schema, a task by owner or domain and pipeline.
"""

from __future__ import annotations

import heapq
from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import product
from math import inf

from headwater import deadline
from headwater.events import JobRef
from headwater.events.facets import Tags
from headwater.filter_values import platform_value
from headwater.graph.current import generations_of, graph_of
from headwater.graph.effective import EffectiveGraph
from headwater.graph.generations import Generations
from headwater.graph.levels import Level
from headwater.graph.nodes import Node, facets_of, node_id
from headwater.graph.placeholders import is_job
from headwater.health.blocked import possibly_blocked
from headwater.health.failing import checked_nodes, failing_jobs
from headwater.health.models import HealthState
from headwater.health.overdue import overdue_after
from headwater.health.states import state_of
from headwater.identity import DatasetName
from headwater.kept import LastUpdate, everything, exists
from headwater.node_facets import is_file, owners_of
from headwater.nodes.rows import place_by_name
from headwater.projection import State
from headwater.runs.summary import newest_run

Path = tuple[str, ...]
"""A grouping (platform, owner or domain) and the keys of groups, the outermost first."""

PROBLEMS: tuple[HealthState, ...] = ("failed", "failed_checks", "blocked", "late")
_MOST_PAIRS = 10_000
"""Maximum number of pairs of groups that one job connects; a job with more adds no edges."""


class Group:
    """The nodes of a group, and the groups in it."""

    def __init__(self) -> None:
        self.count = 0
        self.groups: set[str] = set()
        self.members: list[tuple[tuple[int | str, ...], Node]] = []
        """The nodes directly in the group, by name."""
        self.edges: Counter[tuple[str, str]] = Counter()
        """The number of jobs that pass data between two groups in it, by their keys."""


class MapIndex:
    """The groups of a state, as of the revision of the last update.

    Call `update` before reading `groups`, `paths` or `problems`.
    """

    def __init__(self, state: State) -> None:
        """Create an empty index; the first update adds all nodes."""
        self._state = state
        self._last = LastUpdate(state)
        self.groups: dict[Path, Group] = defaultdict(Group)
        self.paths: dict[Node, list[Path]] = {}
        self._edges: dict[JobRef, list[tuple[Path, str, str]]] = {}
        """The edges that each job adds: the group with both ends, and the keys of the two ends."""
        self._due: dict[Node, float] = {}
        """The time after which a node is overdue, in microseconds."""
        self._next: list[tuple[float, Node]] = []
        """The due times as a heap; entries that differ from `_due` are outdated."""
        self._overdue: set[Node] = set()
        """The nodes that were due before the time of the last query."""
        self._waiting: dict[Node, None] = {}
        """Changed nodes, which the next update puts into their groups."""
        self._unlinked: dict[JobRef, None] = {}
        """Jobs whose edges the next update sets, after all nodes are in their groups."""
        self.pipelines: dict[str, Node] = {}
        """By their ids, including former ones."""

    def update(self) -> None:
        """Add the changes since the last update; if a deadline ends it, the next one continues."""
        state = self._state
        if self._last.is_needed:
            changes = self._last.changes()
            is_new = not self.paths
            if changes is None:
                self._waiting |= dict.fromkeys(self.paths)
            names, jobs = changes or everything(state)
            primaries = {n for name in names for n in (name, *state.identity.datasets(name))}
            changed_jobs = set(jobs)
            graph = graph_of(state, Level.TASK)
            if not is_new and changes is not None:
                primaries, changed_jobs = _touched(
                    generations_of(state), graph, primaries, changed_jobs
                )
            self._waiting |= dict.fromkeys(map(Node.of_dataset, primaries))
            self._waiting |= dict.fromkeys(map(Node.of_job, changed_jobs))
            self._last.finish()
        self._put_all()
        for ref in deadline.watched(list(self._unlinked)):
            self._link(ref)
            del self._unlinked[ref]

    def _put_all(self) -> None:
        """Put the waiting nodes into their groups.

        Many nodes are sorted at the end, because inserting each at its place is slower.
        """
        is_bulk = len(self._waiting) > len(self.paths)  # such as the first update
        unsorted: dict[Path, Group] = {}
        for node in deadline.watched(list(self._waiting)):
            for path in self._put(node, is_sorted=not is_bulk):
                unsorted[path] = self.groups[path]
            if node.type == "job":
                self._unlinked[node.job_ref] = None
            del self._waiting[node]
        for group in unsorted.values() if is_bulk else ():
            group.members.sort()

    def _put(self, node: Node, *, is_sorted: bool) -> list[Path]:
        """Put a node into its groups; return their paths.

        With `is_sorted`, the members of a group stay sorted; else the caller sorts them.
        """
        state = self._state
        paths = list(dict.fromkeys(self._paths_of(node))) if exists(state, node) else []
        before = self.paths.get(node, [])
        member = place_by_name(state, node), node
        if before != paths:
            self._count(before, -1)
            self._count(paths, 1)
            for path in before:
                self.groups[path].members.remove(member)
            for path in paths:
                members = self.groups[path].members
                insort(members, member) if is_sorted else members.append(member)
        if paths:
            self.paths[node] = paths
        else:
            self.paths.pop(node, None)
        self._set_due(node)
        return paths

    def _paths_of(self, node: Node) -> Iterator[Path]:
        """Yield the paths of the groups that a node belongs in; none for a query of a task."""
        state = self._state
        if node.type == "dataset":
            yield "platform", platform_value(state, node), schema_of(state, node)
            return
        run = newest_run(state, node.job_ref)
        levels = generations_of(state).levels
        pipeline = node
        if run is not None:
            if levels.owner(run, Level.TASK).key.job != node.job_ref:
                return  # a query of a task
            pipeline = Node.of_job(levels.owner(run, Level.PIPELINE).key.job)
        if levels.of(node.job_ref) is Level.PIPELINE and state.jobs[node.job_ref].children:
            return  # its tasks stand for it
        self.pipelines[node_id(pipeline)] = pipeline
        owners = owners_of(state, node) or owners_of(state, pipeline) or [""]
        domains = _domains(state, node) or _domains(state, pipeline) or [""]
        for owner in owners:
            yield "owner", owner, node_id(pipeline)
        for domain in domains:
            yield "domain", domain, node_id(pipeline)

    def _count(self, paths: list[Path], change: int) -> None:
        """Add `change` to the counts of all groups on some paths.

        A group without nodes is removed from the list of its parent, and a new one is added.
        """
        for path in groups_of(paths):
            group = self.groups[path]
            group.count += change
            if len(path) > 1:
                groups = self.groups[path[:-1]].groups
                (groups.add if group.count else groups.discard)(path[-1])

    def _set_due(self, node: Node) -> None:
        """Store when a node is due, or that it has no schedule."""
        state = self._state
        self._overdue.discard(node)
        due = overdue_after(state, node)  # it can be late only after this
        if due == inf:
            self._due.pop(node, None)
        elif self._due.get(node) != due or due < state.now:  # `problems` popped an overdue one
            self._due[node] = due
            heapq.heappush(self._next, (due, node))

    def _link(self, ref: JobRef) -> None:
        """Set the edges between groups that a job causes.

        The former edges of the job are removed first.
        """
        for parent, above, below in self._edges.pop(ref, ()):
            edges = self.groups[parent].edges
            edges[above, below] -= 1
            if not edges[above, below]:
                del edges[above, below]
        if ref not in self._state.jobs:
            return
        graph = graph_of(self._state, Level.TASK)
        edges_of = graph.edges_of(ref)
        pairs = dict.fromkeys(self._pairs(map(Node.of_dataset, edges_of.reads), edges_of.writes))
        readers = {
            Node.of_job(other)
            for name in edges_of.writes
            for other in graph.readers_of(name)
            if other != ref
        }
        pairs |= dict.fromkeys(self._job_pairs(Node.of_job(ref), readers))
        for parent, above, below in pairs:
            self.groups[parent].edges[above, below] += 1
        if pairs:
            self._edges[ref] = list(pairs)

    def _pairs(
        self, above: Iterable[Node], below: Iterable[DatasetName]
    ) -> Iterator[tuple[Path, str, str]]:
        """Yield the edges between groups of datasets, which a job has read and written.

        A job that would connect too many pairs yields none. Each edge is the group that contains
        both ends, and their keys in it. All nodes must have their paths (`_put_all`).
        """
        sources = {path for node in above for path in self.paths.get(node, ())}
        targets = {path for name in below for path in self.paths.get(Node.of_dataset(name), ())}
        if len(sources) * len(targets) <= _MOST_PAIRS:
            yield from _differences(product(sources, targets))

    def _job_pairs(self, job: Node, readers: Iterable[Node]) -> Iterator[tuple[Path, str, str]]:
        """Yield the edges between the groups of a job and of the readers of its outputs."""
        targets = {path for node in readers for path in self.paths.get(node, ())}
        yield from _differences(product(self.paths.get(job, ()), targets))

    def problems(self) -> dict[Node, HealthState]:
        """Return the nodes with a problem and their states."""
        state = self._state
        while self._next and self._next[0][0] < state.now:
            due, node = heapq.heappop(self._next)
            if self._due.get(node) == due:
                self._overdue.add(node)
        # A task is late with its pipeline, so all jobs of an overdue one's family are candidates.
        families = generations_of(state).families
        late = {
            Node.of_job(ref)
            for node in self._overdue
            if node.type == "job"
            for ref in families.of(node.job_ref).jobs
        }
        candidates = {
            *checked_nodes(state),
            *map(Node.of_job, failing_jobs(state)),
            *possibly_blocked(state),
            *self._overdue,
            *late,
        }
        states = {node: state_of(state, node) for node in deadline.watched(candidates)}
        return {node: found for node, found in states.items() if found in PROBLEMS}


def groups_of(paths: Iterable[Path]) -> set[Path]:
    """Return the paths of all groups that contain a node with some paths."""
    return {path[:length] for path in paths for length in range(1, len(path) + 1)}


def _touched(
    generations: Generations, graph: EffectiveGraph, names: set[DatasetName], jobs: set[JobRef]
) -> tuple[set[DatasetName], set[JobRef]]:
    """Return changed datasets and jobs, and those next to them.

    A dataset has owners and a due time of its writers, and the edges of a job depend on the readers
    of its outputs. So these change with the others.
    """
    written = {name for ref in jobs for name in graph.edges_of(ref).writes}
    read = {name for ref in jobs for name in graph.edges_of(ref).reads}
    near = {ref for name in names for ref in graph.readers_of(name)}
    # All former writers: their edges depend on what replaced their rows, and on who read them.
    every = (ref for name in names | written | read for ref in generations.writers(name))
    above = set(filter(is_job, every))
    return names | written, jobs | near | above


def _differences(pairs: Iterable[tuple[Path, Path]]) -> Iterator[tuple[Path, str, str]]:
    """Yield the innermost group that contains both of two paths, and the two groups in it.

    Each is a path and the keys of two groups directly in it.
    """
    for above, below in pairs:
        for place, (one, other) in enumerate(zip(above, below, strict=False)):
            if one != other:
                if place:  # otherwise of different groupings
                    yield above[:place], one, other
                break


def schema_of(state: State, node: Node) -> str:
    """Return the namespace of a dataset, and its schema or folder after a space."""
    separator = "/" if "/" in node.name or is_file(state, node) else "."
    schema = node.name.rstrip("/").rpartition(separator)[0]
    return f"{node.namespace} {schema}"


def _domains(state: State, node: Node) -> list[str]:
    """Return the values of a node's tags `domain`, sorted."""
    tags = (tag for book in facets_of(state, node) for tag in book.parsed(Tags).tags)
    return sorted({tag.value for tag in tags if tag.key.casefold() == "domain"})
