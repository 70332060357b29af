"""The roll-up map: groups of nodes with counts and problems, level by level.

The path of a group has the grouping and the keys of the groups to it, such as ("platform", "hive").
An item of the answer is a group or, at the innermost level, a dataset or task: a leaf.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from functools import partial
from itertools import islice
from operator import itemgetter
from typing import Annotated, Literal

from annotated_types import Ge, Le

from headwater.errors import NotFoundError
from headwater.graph.current import graph_of, once_an_event
from headwater.graph.levels import Level
from headwater.graph.nodes import Node, node_id, node_ref
from headwater.graph.walk import neighbors
from headwater.health.models import HealthState, NodeHealth
from headwater.health.states import health_of
from headwater.kept import kept
from headwater.node_facets import platform_of
from headwater.nodes.rows import place_by_name
from headwater.plugins.map._index import Group, MapIndex, Path, groups_of
from headwater.projection import State
from headwater.query.models import Answer, NodeRef
from headwater.query.pages import Place, cursor_of, cut, place_of
from headwater.query.parameters import Cursor
from headwater.query.registry import query

_MINUTE = 60_000_000  # microseconds
MapGrouping = Literal["platform", "owner", "domain"]
MapKind = Literal["platform", "schema", "owner", "domain", "pipeline", "dataset", "task"]
_KINDS: dict[str, tuple[MapKind, MapKind, MapKind]] = {
    "platform": ("platform", "schema", "dataset"),
    "owner": ("owner", "pipeline", "task"),
    "domain": ("domain", "pipeline", "task"),
}


class ProblemCounts(Answer):
    """The number of nodes with a problem, by state."""

    failed: int
    failed_checks: int
    blocked: int
    late: int


class MapItem(Answer):
    """A group, or a dataset or task."""

    key: str
    """The last part of its path."""
    kind: MapKind
    label: str
    """Empty for a group without a platform, schema, owner or domain."""
    about: str | None
    """The namespace of a schema, a pipeline, a dataset or a task."""
    platform: str | None
    """The reported platform of a pipeline, a dataset or a task."""
    node: NodeRef | None
    """The pipeline, dataset or task."""
    count: int
    """Number of datasets or tasks."""
    problems: ProblemCounts
    """A node without a known problem may be healthy or unknown."""
    health: NodeHealth | None
    """The state of a pipeline's own newest run, of a dataset or of a task."""


class MapEdge(Answer):
    """A flow of data between two listed items, by their keys."""

    upstream: str
    downstream: str
    jobs: int
    """Number of jobs that pass data on; 1 between two datasets or tasks."""


class MapAnswer(Answer):
    """One page of the items in a group, those with problems first."""

    by: MapGrouping
    path: list[str]
    count: int
    """Number of datasets or tasks in the group."""
    problems: ProblemCounts
    items: list[MapItem]
    next: str | None
    total: int
    """Number of items in the group."""
    edges: list[MapEdge]


@query("map")
def map_answer(
    state: State,
    by: Annotated[MapGrouping, "Group datasets by platform, or tasks by owner or domain."] = (
        "platform"
    ),
    path: Annotated[
        list[str] | None,
        "Keys of the groups to open, from the outermost to the innermost; none by default.",
    ] = None,
    limit: Annotated[int, Ge(1), Le(200), "Maximum number of items."] = 50,
    cursor: Cursor = None,
) -> MapAnswer:
    """Return the groups or nodes of one level, with their problems and the edges between them.

    By platform, the levels are platforms, schemas or folders, and datasets. By owner or domain (the
    tag `domain`), they are owners or domains, pipelines, and tasks. A pipeline with tasks of two
    owners is in both groups.
    """
    index = kept(state, MapIndex)
    index.update()
    where = _resolved(index, (by, *(path or ())))
    group = index.groups.get(where, Group())
    if len(where) > len(_KINDS[by]) or not (group.count or len(where) == 1):
        raise NotFoundError(f"path: there is no group {' / '.join(where[1:])!r} by {by}")
    problems = _problems(state)
    about = ("map", *where)
    if len(where) < len(_KINDS[by]):
        keys, following = cut(about, group.groups, partial(_place, problems, where), limit, cursor)
        items = [_group_item(state, index, problems, (*where, key)) for key in keys]
        shown = frozenset(keys)
        pairs = ((pair, jobs) for pair, jobs in group.edges.items() if shown.issuperset(pair))
    else:
        nodes, following = _members(state, problems, group, where, limit, cursor)
        items = [_leaf(state, problems, node, where) for node in nodes]
        pairs = ((pair, 1) for pair in _pairs_of(state, nodes))
    return {
        "by": by,
        "path": list(where[1:]),
        "count": group.count,
        "problems": _counts(problems.counts[where]),
        "items": items,
        "next": following,
        "total": len(group.groups) or len(group.members),
        "edges": [
            {"upstream": above, "downstream": below, "jobs": jobs}
            for (above, below), jobs in sorted(pairs)
        ],
    }


def _resolved(index: MapIndex, path: Path) -> Path:
    """Return a path with the keys of groups in place of labels that only one group has.

    A user may pass labels. A part that names no group stays, and the query then raises an error.
    """
    found: Path = path[:1]
    for part in path[1:]:
        inside = index.groups[found].groups if found in index.groups else ()
        alike = [] if part in inside else [key for key in inside if _label(index, key) == part]
        found = (*found, alike[0] if len(alike) == 1 else part)
    return found


def _label(index: MapIndex, key: str) -> str:
    """Return the name of a pipeline, or a key without its namespace."""
    pipeline = index.pipelines.get(key)
    return pipeline.name if pipeline else key.partition(" ")[2] or key


class _Problems:
    """The problems of a state by group."""

    def __init__(self, index: MapIndex) -> None:
        """Count the problems of an updated index."""
        self.counts: dict[Path, Counter[HealthState]] = defaultdict(Counter)
        self.nodes: dict[Path, dict[Node, HealthState]] = defaultdict(dict)
        for node, found in index.problems().items():
            paths = index.paths.get(node, ())
            for group in groups_of(paths):
                self.counts[group][found] += 1
            for path in paths:
                self.nodes[path][node] = found


def _problems(state: State) -> _Problems:
    """Return the problems of a state by group; computed once per minute and event.

    Nodes become late as time passes, so the present state needs a new result each minute.
    """
    minute, by_minute = state.now // _MINUTE, _problems_by_minute(state)
    if minute not in by_minute:
        by_minute.clear()
        by_minute[minute] = _Problems(kept(state, MapIndex))
    return by_minute[minute]


@once_an_event
def _problems_by_minute(state: State) -> dict[int, _Problems]:
    """Return the cache of problems, which has only the current minute."""
    del state
    return {}


def _place(problems: _Problems, where: Path, key: str) -> Place:
    """Return the sort key of a group: groups with problems first, then by key."""
    return int(not problems.counts[*where, key]), key.casefold(), key


def _members(
    state: State, problems: _Problems, group: Group, where: Path, limit: int, cursor: str | None
) -> tuple[list[Node], str | None]:
    """Return the next nodes of a group, those with problems first.

    `where` is the path of the group. The second value is the cursor of the next page.
    """
    # Sort keys begin with 0 for a node with a problem, and 1 for any other one.
    about, wrong = ("map", *where), problems.nodes[where]
    last = None if cursor is None else place_of(about, cursor)
    first = sorted((place_by_name(state, node), node) for node in wrong)
    found = [((0, *place), node) for place, node in first if last is None or (0, *place) > last]
    start = 0
    if last is not None and last[:1] == (1,):
        start = bisect_right(group.members, last[1:], key=itemgetter(0))
    for place, node in islice(group.members, start, None):
        if len(found) > limit:
            break
        if node not in wrong:
            found.append(((1, *place), node))
    more = cursor_of(about, found[limit - 1][0]) if len(found) > limit else None
    return [node for _, node in found[:limit]], more


def _group_item(state: State, index: MapIndex, problems: _Problems, path: Path) -> MapItem:
    """Return a group as part of the answer, given its path."""
    by, key = path[0], path[-1]
    kind = _KINDS[by][len(path) - 2]
    pipeline = index.pipelines[key] if kind == "pipeline" else None
    namespace, _, schema = key.partition(" ") if kind == "schema" else ("", "", key)
    return {
        "key": key,
        "kind": kind,
        "label": pipeline.name if pipeline else schema,
        "about": pipeline.namespace if pipeline else namespace or None,
        "platform": platform_of(state, pipeline) if pipeline else None,
        "node": node_ref(pipeline) if pipeline else None,
        "count": index.groups[path].count,
        "problems": _counts(problems.counts[path]),
        "health": health_of(state, pipeline) if pipeline else None,
    }


def _leaf(state: State, problems: _Problems, node: Node, where: Path) -> MapItem:
    """Return a dataset or task as part of the answer; `where` is the path of its group."""
    found = problems.nodes[where].get(node)
    return {
        "key": node_id(node),
        "kind": "dataset" if node.type == "dataset" else "task",
        "label": node.name,
        "about": node.namespace,
        "platform": platform_of(state, node),
        "node": node_ref(node),
        "count": 1,
        "problems": _counts(Counter([found] if found else [])),
        "health": health_of(state, node),
    }


def _counts(counter: Counter[HealthState]) -> ProblemCounts:
    """Return the numbers of problems, with 0 for states without any."""
    return {
        "failed": counter["failed"],
        "failed_checks": counter["failed_checks"],
        "blocked": counter["blocked"],
        "late": counter["late"],
    }


def _pairs_of(state: State, nodes: list[Node]) -> set[tuple[str, str]]:
    """Return the ids of pairs of datasets, or of tasks, with one node of the other type between."""
    graph, shown = graph_of(state, Level.TASK), frozenset(nodes)
    return {
        (node_id(above), node_id(node))
        for node in nodes
        for between in neighbors(graph, node, "up")
        for above in (between, *neighbors(graph, between, "up"))
        if above in shown and above != node
    }
