"""The graph around a node: summaries of its nodes, and the edges between them.

With `datasets`, a step leads from a dataset to the next datasets, and `left` counts the jobs that
such edges replace. Sides of nodes that are not shown cannot be expanded and are ignored.

`way` is `up` for upstream and `down` for downstream. `next_to` is a function that returns the nodes
one step from a node in such a direction.

The *owner* of a run at a level (pipelines, tasks or queries) is the run of that level that it is
part of. A node is *used* if a present generation uses it. A *generation* is the runs of a task
under one parent run; it is *present* if it is effective, or if data flows from it to an effective
one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from functools import partial
from typing import Annotated, Literal

from headwater import deadline, memory
from headwater.errors import ConfigError
from headwater.graph.column_graph import Column, ColumnGraph
from headwater.graph.current import generations_of, graph_of, level_of
from headwater.graph.effective import Graph, PipelineGraph
from headwater.graph.generations import Generations
from headwater.graph.levels import Level
from headwater.graph.nodes import Node, fields_of, node_id
from headwater.graph.walk import Place, has_stated_sources, neighbors, parts_of, places_next, reach
from headwater.health.states import health_of
from headwater.lineage import models
from headwater.lineage._evidence import grade_of_edge
from headwater.lineage.control import control_edges
from headwater.lineage.walked_graph import walked_from
from headwater.lookup import find_node
from headwater.nodes.summary import node_summary
from headwater.partial import PartialState, Way
from headwater.projection import State
from headwater.query.parameters import Depth, Grade, LevelName, Name
from headwater.query.registry import Times, query
from headwater.runs.summary import newest_run

_WAYS: tuple[Way, Way] = ("up", "down")
_OTHER = {"up": "down", "down": "up"}


@query("graph", Times.THEN)
def graph_answer(
    state: State,
    node: Name,
    up: Depth = 1,
    down: Depth = 1,
    level: LevelName = "task",
    *,
    grown: Annotated[
        list[str] | None, "Sides of shown nodes to expand by one step, in order: up:ID or down:ID."
    ] = None,
    datasets: Annotated[bool, "Show datasets only; an edge replaces the job between two."] = False,
    columns: Annotated[bool, "Include the columns of datasets and their lineage."] = False,
) -> models.GraphAnswer:
    """Return the graph around a node, with a summary of each node."""
    root, chosen = find_node(state, node), level_of(level)
    generations, graph = generations_of(state), graph_around(state, root, chosen)
    roots = at_level(generations, graph, root, chosen)
    # With `datasets`, a step leads over the jobs between two datasets, unless they are roots.
    over = partial(_datasets_next, frozenset(roots)) if datasets else None
    step = over or neighbors
    shown, beyond = set(roots), {}
    for way, depth in zip(_WAYS, (up, down), strict=True):
        if isinstance(state, PartialState):  # loads the events of the walk at once
            state.will_walk(way, *root)
        walked = walked_from(generations, root, way, chosen)
        # All nodes upstream or downstream are counted (`beyond`), those within `depth` shown.
        far = [reach(walked, start, way, -1, over) for start in roots]
        shown |= {node for steps in far for node, count in steps.items() if count <= depth}
        beyond[way] = len({node for steps in far for node in steps}.difference(roots))
    next_to = partial(step, graph)
    shown |= _expanded(next_to, shown, grown or ())
    near = [node.job_ref for node in shown if node.type == "job"]
    pairs = () if datasets else control_edges(generations, chosen, near)
    control = {(Node.of_job(a), Node.of_job(b)) for a, b in pairs}
    # The other ends of control edges are shown as well, marked as `isControlOnly`.
    control_ends = {node for pair in control if shown.intersection(pair) for node in pair}
    nodes = sorted(shown | control_ends)

    def grade(start: Node, end: Node) -> Grade | None:
        if chosen is not Level.TASK or start.type == end.type:
            return None
        return grade_of_edge(generations, graph_of(state, Level.TASK), start, end)

    return {
        "node": node_id(root),
        "level": level,
        "roots": [node_id(start) for start in roots],
        "reach": {"up": beyond["up"], "down": beyond["down"]},
        "nodes": [
            {
                **node_summary(generations, item),
                "up": len(next_to(item, "up")),
                "down": len(next_to(item, "down")),
                "isControlOnly": item not in shown,
                "pipeline": node_id(above) if above else None,
                "pipelineHealth": health_of(state, above) if above else None,
                "fields": [
                    {"name": name, "type": field.type}
                    for name, field in (fields_of(state, item) if columns else {}).items()
                ],
            }
            for item, above in ((item, _pipeline(generations, item)) for item in nodes)
        ],
        "edges": [
            *(_edge(a, b, "data", grade(a, b)) for a in nodes for b in next_to(a, "down")
              if b in shown and a in shown),
            *(_edge(a, b, "control") for a, b in sorted(control) if {a, b} & shown),
        ],
        "sources": _sources(graph, shown, next_to),
        "left": {"jobs": len(_jobs_between(graph, shown)) if datasets else 0},
        "columns": _columns(generations, shown) if columns else [],
    }  # fmt: skip


def _expanded(
    next_to: Callable[[Node, str], list[Node]], shown: set[Node], grown: Iterable[str]
) -> set[Node]:
    """Return the shown nodes and their neighbors on the sides in `grown`; ignore other nodes.

    Raises:
        ConfigError: a side has no direction.

    `grown` has texts such as `up:job:NAMESPACE:NAME`, in the order in which a user opened the
    sides: a side may belong to a node that an earlier one added.
    """
    nodes = {node_id(node): node for node in shown}
    for side in grown:
        way, _, opened = side.partition(":")
        if way not in _WAYS:
            raise ConfigError(f"grown: received {side!r}, expected up: or down: and a node's id")
        if opened in nodes:
            nodes |= {node_id(node): node for node in next_to(nodes[opened], way)}
    return set(nodes.values())


def _datasets_next(kept: Set[Node], graph: Graph, node: Node, way: str) -> list[Node]:
    """Return the datasets one step away, skipping the jobs between them unless these are kept.

    `kept` has the roots of the graph, which are shown even if they are jobs.
    """
    found: set[Node] = set()
    seen: set[Node] = set()
    open_ = neighbors(graph, node, way)
    for other in deadline.popped(open_):
        if other.type == "dataset" or other in kept:
            found.add(other)
        elif other not in seen:
            seen.add(other)
            open_ += _over(graph, node, other, way)
    return sorted(found - {node})


def _over(graph: Graph, node: Node, job: Node, way: str) -> Iterable[Node]:
    """Return the neighbors of a job in a direction, if a walk reached the job from `node`.

    If `node` is a dataset next to the job, they are limited to the datasets that depend on it, or
    on which it depends.
    """
    is_next = node.type == "dataset" and node in neighbors(graph, job, _OTHER[way])
    return [place.node for place in places_next(graph, Place(job, node if is_next else None), way)]


def _sources(
    graph: Graph, shown: set[Node], next_to: Callable[[Node, str], list[Node]]
) -> list[models.JobSources]:
    """Return the sources of the outputs of jobs with stated sources, grouped by these sources.

    A node that is linked directly to a job feeds all of its outputs, or is fed by all inputs.
    """
    found: list[models.JobSources] = []
    for job in sorted(node for node in shown if has_stated_sources(graph, node)):
        edges = graph.edges_of(job.job_ref)
        above, below = (
            [node_id(node) for node in next_to(job, way) if node in shown] for way in _WAYS
        )
        reads = {node_id(Node.of_dataset(name)): name for name in edges.reads}
        writes = {node_id(Node.of_dataset(name)): name for name in edges.writes}
        outputs: dict[tuple[str, ...], list[str]] = {}
        for end in below:
            fed = edges.sources_of(writes[end]) if end in writes else edges.reads
            inputs = tuple(start for start in above if start not in reads or reads[start] in fed)
            outputs.setdefault(inputs, []).append(end)
        for inputs, ends in outputs.items():
            found.append({"job": node_id(job), "inputs": list(inputs), "outputs": ends})
    return found


def _jobs_between(graph: Graph, shown: set[Node]) -> set[Node]:
    """Return the hidden jobs that write one shown dataset from another.

    They are behind the edges between datasets when jobs are not shown.
    """
    return {
        job
        for node in shown
        for job in neighbors(graph, node, "down")
        if job not in shown and shown.intersection(neighbors(graph, job, "down")) - {node}
    }


def at_level(generations: Generations, graph: Graph, root: Node, level: Level) -> list[Node]:
    """Return the nodes that represent a node at a level.

    These are itself, the parts of a job that is coarser than the level, or the owner of a finer
    job. A dataset and a job without runs represent themselves.
    """
    if root.type == "dataset" or graph.has_job(root.job_ref):
        return [root]
    if parts := parts_of(generations, graph, root, level):
        return parts
    run = newest_run(generations.state, root.job_ref)
    owner = Node.of_job(generations.levels.owner(run, level).key.job) if run else root
    return [owner]


def _pipeline(generations: Generations, node: Node) -> Node | None:
    """Return the pipeline that a job is part of; None if there is none, or for a dataset."""
    run = newest_run(generations.state, node.job_ref) if node.type == "job" else None
    if run is None:
        return None
    owner = Node.of_job(generations.levels.owner(run, Level.PIPELINE).key.job)
    return None if owner == node else owner


def _edge(
    start: Node, end: Node, kind: Literal["data", "control"], grade: Grade | None = None
) -> models.GraphEdge:
    """Return an edge as part of an answer; only data edges of tasks have a grade."""
    memory.charge(512)
    return {"from": node_id(start), "to": node_id(end), "kind": kind, "grade": grade}


def _columns(generations: Generations, shown: set[Node]) -> list[models.GraphColumnEdge]:
    """Return the column edges between shown datasets; edges to all rows have no target field.

    An edge counts as direct if at least one of the runs that report it passes the value on.
    """
    names = {node.dataset_name for node in shown if node.type == "dataset"}
    graph = ColumnGraph.present(generations)
    found: dict[tuple[Column, Column, str], bool] = {}
    into = (edges for name in names for edges in graph.edges_into(name).values())
    for edge in (edge for edges in into for edge in edges):
        if edge.source.dataset in names and edge.source != edge.target:
            key = edge.target, edge.source, edge.label
            memory.charge(0 if key in found else 1_024)
            found[key] = found.get(key, False) or edge.is_direct
    return [
        {"from": _end(source), "to": _end(target), "how": how, "isDirect": is_direct}
        for (target, source, how), is_direct in sorted(found.items())
    ]


def _end(column: Column) -> models.ColumnEnd:
    return {"id": node_id(Node.of_dataset(column.dataset)), "field": column.field or None}


def graph_around(state: State, node: Node, level: Level) -> Graph:
    """Return the graph at a level; between pipelines, without datasets inside one pipeline.

    The node stays in the graph between pipelines even if it is such a dataset.
    """
    graph = graph_of(state, level)
    if level is Level.PIPELINE:
        return PipelineGraph(graph, node, generations_of(state).present.is_used)
    return graph
