"""Marquez's graphs: lineage and column lineage around a node, and the runs upstream of a run.

- latest edges: the inputs and outputs of the last runs of each job, as Marquez has them
- tree: the nodes upstream or downstream of a root by the flows of data, as in `/api/v2/tree`
- legacy: the transformation of a whole column, in the form of the facet before version 1.2
- EVERY_ROW: the target of columns that decide all rows, such as those of a filter
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Annotated, TypeVar

from fastapi import APIRouter, Query

from headwater import deadline, memory
from headwater.errors import LargeAnswerError, NotFoundError
from headwater.events import EVERY_ROW, Legacy
from headwater.events.column_lineage import objects
from headwater.graph import Node, node_id
from headwater.graph.column_graph import Column, ColumnGraph
from headwater.graph.current import (
    column_graph_of,
    generations_of,
    graph_of,
    level_of,
    once_an_event,
)
from headwater.graph.effective import Graph
from headwater.graph.generations import Generations
from headwater.graph.levels import Level
from headwater.graph.nodes import name_of
from headwater.graph.walk import reach, reached
from headwater.http.routes import Remembered, encoded, get
from headwater.identity import DatasetName
from headwater.lineage.columns import check_column
from headwater.lineage.neighborhood import at_level
from headwater.lineage.walked_graph import graph_of_walk, walked_from
from headwater.lookup import find_field, find_node
from headwater.plugins.marquez import models as marquez
from headwater.plugins.marquez._latest import Latest, latest_of
from headwater.plugins.marquez._service import Converter, run_of
from headwater.plugins.marquez._versions import Versions, dataset_facets
from headwater.projection import Run, RunKey, State
from headwater.query.parameters import Depth

router = APIRouter(prefix="/api/v1", route_class=Remembered)

Item = TypeVar("Item")
_MOST_BYTES = 16 * 1024**2  # of an answer; Marquez's nodes have all facets of jobs and datasets
_converter_of = once_an_event(Converter)

NodeId = Annotated[
    str,
    Query(alias="nodeId", description="`dataset:NAMESPACE:NAME` or `job:NAMESPACE:NAME`."),
]


@get(router, "/lineage")
def get_lineage(
    state: State,
    node: NodeId,
    depth: Depth = 20,
    level: Annotated[
        str | None, Query(description="pipeline, task or query; without it as in Marquez.")
    ] = None,
) -> marquez.Graph:
    """Return the jobs connected to the node by at most `depth` datasets, and their datasets.

    `level` is an extension. With it, the graph is that of `/api/v2/tree` in both directions, with
    at most `depth` jobs on each side. Without it, every job is a node, as in Marquez; the datasets
    upstream and downstream of the node are those of `/api/v2/tree`. If the response would be larger
    than 16 MB, the status is 413.
    """
    root = _root(state, node)
    graph: Graph | _Around
    if level:
        graph = graph_of(state, level_of(level))
        nodes = _nodes_at(state, root, depth, level_of(level))
    else:
        graph = _Around(generations_of(state), root)
        nodes = _nodes_around(graph, root, depth)
    convert = _converter_of(state)
    shown = deadline.watched(sorted(nodes | {root}))
    return {"graph": list(_bounded(_shown(convert, graph, other, nodes) for other in shown))}


def _bounded(nodes: Iterable[marquez.MarquezGraphNode]) -> Iterator[marquez.MarquezGraphNode]:
    """Yield nodes. Raises LargeAnswerError if they are larger than allowed."""
    size = 0
    for node in nodes:
        size += len(encoded(node))
        if size > _MOST_BYTES:
            raise LargeAnswerError(
                f"the response would be larger than {_MOST_BYTES >> 20} MB: request a smaller depth"
                " or use /api/v2/graph or /api/v2/tree, whose nodes have no facets"
            )
        yield node


@get(router, "/column-lineage")
def get_column_lineage(
    state: State,
    node: Annotated[
        str,
        Query(alias="nodeId", description="The same, or `datasetField:NAMESPACE:NAME:FIELD`."),
    ],
    depth: Depth = 20,
    with_downstream: Annotated[
        bool, Query(alias="withDownstream", description="Include downstream columns.")
    ] = False,
) -> marquez.ColumnGraph:
    """Return the upstream columns of a dataset, a field or a job's outputs.

    `inEdges` lead from a column to its sources, as in Marquez.
    """
    graph = column_graph_of(state)
    found = _around(graph, _columns(state, graph, node), depth, downstream=with_downstream)
    ordered = {column: place for place, column in enumerate(sorted(found))}
    sources = {column: _sources(graph, column) for column in ordered}
    inputs = {
        column: sorted(ordered.keys() & sources[column].keys(), key=ordered.__getitem__)
        for column in ordered
    }
    outputs: dict[Column, list[Column]] = defaultdict(list)
    for column in ordered:
        for source in inputs[column]:
            outputs[source].append(column)
    columns = _Columns(state)
    nodes = [
        columns.node(column, sources[column], inputs[column], outputs[column])
        for column in ordered
        if inputs[column] or outputs[column]
    ]
    return {"graph": nodes}


@get(router, "/runlineage/upstream")
def get_upstream_runs(
    state: State,
    run_id: Annotated[str, Query(alias="runId", description="The id of a run.")],
    depth: Depth = 20,
) -> marquez.UpstreamRuns:
    """Return a run and the runs that wrote the versions it read, nearest first."""
    start = run_of(state, run_id)
    convert = Converter(state)
    visited, level, shown = {start.key}, [start], []
    for left in range(depth, -1, -1):  # one level of runs per step; no further one at 0
        above: dict[RunKey, Run] = {}
        for run in level:
            line, writers = _upstream_run(state, convert, run)
            shown.append(line)
            above |= {writer.key: writer for writer in writers if writer.key not in visited}
        visited |= above.keys()
        level = list(above.values()) if left else []
    return {"runs": shown}


def _upstream_run(
    state: State, convert: Converter, run: Run
) -> tuple[marquez.UpstreamRun, list[Run]]:
    """Return a run with what it read, and the runs that wrote that.

    The writers are those of the versions that it read; unknown writers are left out.
    """
    deadline.check()
    whole = convert.run(run)
    inputs: list[marquez.UpstreamInput] = []
    writers: list[Run] = []
    for name, use in sorted(run.inputs.items()):
        version, writer = convert.versions.read(run, name, use)
        producer = writer.key.run_id if writer else None
        primary = name_of(state.identity.primary(name))
        inputs.append({**primary, "version": version, "producedByRunId": producer})
        writers += [writer] if writer else []
    job_version = whole["jobVersion"]["version"] if whole["jobVersion"] else None
    line: marquez.UpstreamRun = {
        "job": {**name_of(run.key.job), "version": job_version},
        "run": {
            "id": run.key.run_id,
            "start": whole["startedAt"],
            "end": whole["endedAt"],
            "status": whole["state"],
        },
        "inputs": inputs,
    }
    return line, writers


class _Columns:
    """The columns of one answer; facts about their datasets are cached."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._versions = Versions(state)
        self._datasets: dict[DatasetName, tuple[str, dict[str, str]]] = {}

    def node(
        self,
        column: Column,
        sources: dict[Column, Legacy],
        inputs: list[Column],
        outputs: list[Column],
    ) -> marquez.MarquezColumnNode:
        """Return a column as a node of the graph.

        `sources` are the columns that it depends on, with how. `inputs` and `outputs` are the
        columns of the answer that it has edges to.
        """
        memory.charge(1_024 * (1 + len(inputs) + len(outputs)))
        own = _field_id(column)
        types = self._of_dataset(column.dataset)[1]
        data: marquez.ColumnData = {
            **self._field(column, sources[inputs[0]] if inputs else Legacy()),
            "fieldType": types.get(column.field, ""),
            "inputFields": [self._field(source, sources[source]) for source in inputs],
        }
        return {
            "id": own,
            "type": "DATASET_FIELD",
            "data": data,
            "inEdges": [{"origin": own, "destination": _field_id(source)} for source in inputs],
            "outEdges": [{"origin": own, "destination": _field_id(target)} for target in outputs],
        }

    def _field(self, column: Column, legacy: Legacy) -> marquez.VersionedField:
        """Return a column with its transformation, in Marquez's form."""
        return {
            "namespace": column.dataset.namespace,
            "dataset": column.dataset.name,
            "datasetVersion": self._of_dataset(column.dataset)[0],
            "field": column.field,
            "transformationDescription": legacy.description,
            "transformationType": legacy.type,
        }

    def _of_dataset(self, name: DatasetName) -> tuple[str, dict[str, str]]:
        """Return the version of a dataset, and the types of its columns."""
        if name not in self._datasets:
            schema = dataset_facets(self._state, name, {"schema"}).get("schema", {})
            fields = objects(schema.get("fields"))
            types = {str(field.get("name")): str(field.get("type") or "") for field in fields}
            self._datasets[name] = self._versions.current(name), types
        return self._datasets[name]


def _field_id(column: Column) -> str:
    """Return Marquez's id of a column."""
    return f"datasetField:{column.dataset.namespace}:{column.dataset.name}:{column.field}"


def _columns(state: State, graph: ColumnGraph, node: str) -> set[Column]:
    """Return the columns that a node id stands for: a field, or all of a dataset.

    Of a job, these are the columns of its outputs. Raises NotFoundError if nothing has the id.
    """
    if node.startswith("datasetField:"):
        dataset, field = find_field(state, node)
        column = Column(dataset.dataset_name, field)
        if not (_sources(graph, column) or _targets(graph, column)):
            check_column(generations_of(state), dataset, field)
        return {column}
    root = _root(state, node)
    names = {root.dataset_name}
    if root.type == "job":
        names = latest_of(state).edges_of(root.job_ref).writes
    return {
        Column(name, field)
        for name in names
        for field in graph.edges_into(name).keys() | graph.edges_from(name).keys()
        if field != EVERY_ROW
    }


def _sources(graph: ColumnGraph, column: Column) -> dict[Column, Legacy]:
    """Return the columns that one depends on; like Marquez, without those that affect every row."""
    deadline.check()
    edges = graph.edges_into(column.dataset).get(column.field, ())
    return {edge.source: edge.legacy for edge in edges}


def _targets(graph: ColumnGraph, column: Column) -> set[Column]:
    """Return the columns that depend on one, without EVERY_ROW, which stands for every row."""
    edges = graph.edges_from(column.dataset).get(column.field, ())
    return {edge.target for edge in edges if edge.target.field != EVERY_ROW}


def _around(
    graph: ColumnGraph, starts: set[Column], depth: int, *, downstream: bool
) -> set[Column]:
    """Return the columns within `depth` steps up and `depth` - 1 steps down, like Marquez."""
    found = _within(partial(_sources, graph), starts, depth)
    return found | _within(partial(_targets, graph), starts, depth - 1) if downstream else found


def _within(nearest: Callable[[Item], Iterable[Item]], starts: set[Item], depth: int) -> set[Item]:
    """Return what is at most `depth` steps from the starts.

    `nearest` returns the neighbors of an item. A depth of 0 returns the starts.
    """
    found, newest = set(starts), starts
    for _ in range(depth):
        newest = {other for item in newest for other in nearest(item)} - found
        if not newest:
            break
        found |= newest
    return found


def _root(state: State, node: str) -> Node:
    """Return the requested node; a `#VERSION` after a dataset is ignored."""
    try:
        return find_node(state, node)
    except NotFoundError:
        unversioned, mark, _ = node.rpartition("#")
        if not mark:
            raise
        return find_node(state, unversioned)


def _nodes_at(state: State, root: Node, depth: int, level: Level) -> set[Node]:
    """Return the nodes of the upstream and downstream trees of a node."""
    generations, found = generations_of(state), set[Node]()
    steps = 2 * depth  # a job and a dataset
    for way in ("up", "down"):
        graph = walked_from(generations, root, way, level)
        for start in at_level(generations, graph, root, level):
            found |= reach(graph, start, way, steps).keys()
    return found


class _Around:
    """The latest edges of all jobs, and the edges of the trees upstream and downstream of a root.

    With the latest edges alone, data that was written after a reader ended, or removed before it
    started, would be upstream of the reader, and data that a stream read earlier would be missing.
    Nodes upstream or downstream of the root therefore have the edges of that tree.

    It has the methods of a `Graph` that this module uses.
    """

    def __init__(self, generations: Generations, root: Node) -> None:
        """Walk from a root in both directions, at the level of tasks."""
        self._latest = Latest(generations)
        self._sides = {
            way: graph_of_walk(generations, reached(generations, root, way, Level.TASK), way, None)
            for way in ("up", "down")
        }
        self._above, self._below = (
            set(reach(graph, root, way, -1)) for way, graph in self._sides.items()
        )

    def ends(self, node: Node) -> tuple[set[Node], set[Node]]:
        """Return the nodes directly before a node and those directly after it."""
        graphs: list[Graph | Latest] = [self._latest, *self._sides.values()]
        parts = [_ends(graph, node) for graph in graphs]
        before = {other for part, _ in parts for other in part if self._has_edge(other, node)}
        after = {other for _, part in parts for other in part if self._has_edge(node, other)}
        return before, after

    def _has_edge(self, source: Node, target: Node) -> bool:
        """Return True if an edge is in the tree of each side of the root that it would extend."""
        is_above = target not in self._above or source in _ends(self._sides["up"], target)[0]
        is_below = source not in self._below or target in _ends(self._sides["down"], source)[1]
        return is_above and is_below

    def linked(self, node: Node, way: str) -> set[Node]:
        """Return an empty set: Marquez has no direct links."""
        return set()


def _nodes_around(graph: _Around, root: Node, depth: int) -> set[Node]:
    """Return the jobs connected to the root by at most `depth` datasets, and their datasets.

    From a job, each dataset and the job behind it are two steps; the last step adds the datasets of
    the last jobs. A dataset as the root needs one more step to its jobs.
    """
    steps = 2 * depth + (1 if root.type == "job" else 2)
    return _within(lambda node: set().union(*graph.ends(node)), {root}, steps)


def _ends(graph: Graph | Latest, node: Node) -> tuple[set[Node], set[Node]]:
    """Return the nodes directly before a node and those directly after it."""
    deadline.check()
    if node.type == "job":
        edges = graph.edges_of(node.job_ref)
        return set(map(Node.of_dataset, edges.reads)), set(map(Node.of_dataset, edges.writes))
    writers, readers = graph.writers_of(node.dataset_name), graph.readers_of(node.dataset_name)
    return set(map(Node.of_job, writers)), set(map(Node.of_job, readers))


def _shown(
    convert: Converter, graph: Graph | _Around, node: Node, nodes: set[Node]
) -> marquez.MarquezGraphNode:
    """Return a node of the answer; only edges to other `nodes` are shown."""
    own = node_id(node)
    memory.charge()
    ends = graph.ends(node) if isinstance(graph, _Around) else _ends(graph, node)
    before, after = (
        [node_id(other) for other in sorted((others | graph.linked(node, way)) & nodes)]
        for others, way in zip(ends, ("up", "down"), strict=True)
    )
    return {
        "id": own,
        "type": "JOB" if node.type == "job" else "DATASET",
        "data": convert.node(node),
        "inEdges": [{"origin": other, "destination": own} for other in before],
        "outEdges": [{"origin": own, "destination": other} for other in after],
    }
