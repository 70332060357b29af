"""Queries of lineage: trees, graphs, columns, impact, paths, provenance and tags."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

from throughline.graph.current import generations_of, graph_of, level_of
from throughline.graph.edges import DataEdge, control_edges
from throughline.graph.generations import Generation
from throughline.graph.levels import Level
from throughline.graph.nodes import (
    Node,
    aliases_of,
    find_dataset,
    find_node,
    name_of,
    node_id,
    node_ref,
    owners_of,
    typed_name,
)
from throughline.identity import DatasetName
from throughline.lineage._column_producers import describe_column
from throughline.lineage._drop import drop_verdict
from throughline.lineage._impact import column_impact, impact, path
from throughline.lineage._tree import tree
from throughline.lineage.columns import columns
from throughline.lineage.models import (
    ColumnAnswer,
    ColumnsAnswer,
    DataEdgeRow,
    DatasetWithAliases,
    GraphAnswer,
    ImpactAnswer,
    NodePairRow,
    PairRow,
    PathAnswer,
    ProvenanceAnswer,
    TreeAnswer,
)
from throughline.lineage.neighbourhood import graph_around, neighbourhood
from throughline.lineage.provenance import origin, provenance
from throughline.lineage.tags import ColumnTag, Tags, dataset_tag, tags_of_tree
from throughline.projection import State
from throughline.query.models import DatasetTag, Page
from throughline.query.pages import cut, paged
from throughline.query.parameters import Cursor, Depth, Field, LevelName, Limit, Name
from throughline.query.registry import Times, query
from throughline.runs.summary import run_line
from throughline.search.models import ListedNode

Grown = Annotated[
    list[str] | None,
    "Sides of shown nodes to expand by one step, in order: up:ID or down:ID.",
]


Direction = Literal["up", "down", "both"]


@query("tree", Times.THEN)
def tree_answer(
    state: State,
    node: Name,
    direction: Annotated[Direction, "Upstream, downstream or both."] = "up",
    depth: Depth = 20,
    level: LevelName | None = None,
) -> TreeAnswer:
    """Return the tree of the nodes upstream or downstream of a node.

    Without a level, it shows tasks, or the level of the job if it has no edges as a task.
    """
    found, generations, chosen = find_node(state, node), generations_of(state), Level.TASK
    if level is not None:
        chosen = level_of(level)
    elif found.type == "job" and found.job_ref not in graph_of(state, Level.TASK).jobs:
        chosen = generations.levels.of(found.job_ref)
    return tree(generations, found, direction, depth, chosen)


@query("graph", Times.THEN)
def graph_answer(
    state: State,
    node: Name,
    up: Depth = 1,
    down: Depth = 1,
    level: LevelName = "task",
    *,
    grown: Grown = None,
    datasets: Annotated[bool, "Show datasets only; an edge replaces the job between two."] = False,
    columns: Annotated[bool, "Include the columns of datasets and their lineage."] = False,
) -> GraphAnswer:
    """Return the graph around a node, with a summary of each node."""
    found, chosen = find_node(state, node), level_of(level)
    generations, graph = generations_of(state), graph_around(state, found, chosen)
    depths = (up, down)
    return neighbourhood(
        generations,
        graph,
        found,
        depths,
        chosen,
        grown=grown or (),
        over_jobs=datasets,
        with_columns=columns,
    )


@query("columns", Times.THEN)
def columns_answer(
    state: State,
    node: Name,
    field: Field = None,
    direction: Annotated[Literal["up", "down"], "Upstream or downstream."] = "up",
    depth: Depth = 20,
    *,
    indirect: Annotated[bool, "Include columns that only filter, join, group or sort."] = False,
) -> ColumnsAnswer:
    """Return the columns upstream or downstream of a dataset or of one column, with tags."""
    found = find_dataset(state, node)
    generations = generations_of(state)
    answer = columns(generations, found, field, direction, depth=depth, indirect=indirect)
    tags = tags_of_tree(generations, found, direction, Level.TASK)
    open_ = [answer["up" if direction == "up" else "down"]]
    while open_:
        leaf = open_.pop()
        leaf["tags"] = tags.as_info(DatasetName(leaf["namespace"], leaf["name"]), leaf.get("field"))
        open_ += leaf["children"]
    return answer


@query("column", Times.THEN)
def column_answer(
    state: State, node: Name, field: Annotated[str, "A column of the dataset."]
) -> ColumnAnswer:
    """Return a column with its inputs and the queries or code of the jobs that write it.

    A job that writes the dataset without column lineage for the column has no `inputs`.
    """
    return describe_column(generations_of(state), find_dataset(state, node), field)


@query("impact", Times.THEN)
def impact_answer(
    state: State,
    node: Name,
    field: Field = None,
    level: LevelName = "task",
    depth: Depth = 20,
) -> ImpactAnswer:
    """Return the nodes that a change of a node or of one column affects, with tags.

    For a column, `affected` takes values from it, and `indirect` has rows that it filters, joins,
    groups or sorts. `possible` may be affected (no column lineage reported). `drop` states
    whether the column can be dropped: safe, unsafe or unknown, with reasons.
    """
    found = find_node(state, node, "dataset" if field is not None else None)
    generations = generations_of(state)
    if field is None:
        chosen = level_of(level)
        affected = impact(generations, found, chosen, depth)
        return {
            "node": node_id(found),
            "depth": depth,
            "level": chosen.name.lower(),
            "affected": affected,
        }
    reached = column_impact(generations, found, field, depth)
    answer: ImpactAnswer = {
        "node": node_id(found),
        "depth": depth,
        "field": field,
        "affected": reached.affected,
        "indirect": reached.indirect,
        "possible": reached.possible,
    }
    if depth > 0:
        answer["drop"] = drop_verdict(generations, found, *reached)
    return answer


@query("path", Times.THEN)
def path_answer(state: State, from_: Name, to: Name, level: LevelName = "task") -> PathAnswer:
    """Return the shortest lineage path between two nodes, in either direction."""
    chosen = level_of(level)
    nodes = path(generations_of(state), find_node(state, from_), find_node(state, to), chosen)
    return {"level": chosen.name.lower(), "path": [node_ref(node) for node in nodes]}


@query("provenance", Times.THEN)
def provenance_answer(
    state: State,
    node: Name,
    version: Annotated[
        str | None, "A version of the dataset, or the id of the run that wrote it."
    ] = None,
    level: LevelName = "task",
) -> ProvenanceAnswer:
    """Return every run, input version and code version upstream of a dataset."""
    found = find_dataset(state, node)
    return provenance(generations_of(state), found, version, level_of(level))


@query("tags", Times.THEN)
def tags_answer(
    state: State,
    node: Annotated[str | None, "A dataset; by default all."] = None,
    key: Annotated[str | None, "Only tags with this key (not case-sensitive)."] = None,
    limit: Limit = 1_000,
    cursor: Cursor = None,
) -> Page[DatasetTag]:
    """Return the tags of datasets and columns, including those inherited through column lineage."""
    generations = generations_of(state)
    names = set(state.identity)
    selected: Iterable[Generation] = generations.present
    if node is not None:
        found = find_dataset(state, node)
        names, selected = {found.dataset_name}, origin(generations, found)
    tags = Tags(generations, selected)
    wanted = None if key is None else key.lower()
    column_tags = (column_tag for name in names for column_tag in tags.of(name))
    matching = (
        column_tag for column_tag in column_tags if wanted in (None, column_tag.tag.key.lower())
    )
    chosen, more = cut(("tags", node, wanted), matching, ColumnTag.place, limit, cursor)
    return paged([dataset_tag(column_tag) for column_tag in chosen], more)


@query("edges", Times.THEN)
def edges_answer(
    state: State,
    level: LevelName = "task",
    kind: Literal["data", "control", "direct"] = "data",
    limit: Limit = 1_000,
    cursor: Cursor = None,
) -> Page[DataEdgeRow] | Page[PairRow] | Page[NodePairRow]:
    """Return all edges of the graph at a level.
    `data` edges are between a job and a dataset. `direct` edges connect two jobs or two datasets,
    as reported by explicit lineage. `control` edges are dependencies between jobs without data.
    """
    about, chosen = ("edges", level, kind), level_of(level)
    if kind == "data":
        edges, more = cut(about, graph_of(state, chosen).data_edges(), _data_place, limit, cursor)
        return paged([_data_row(state, edge) for edge in edges], more)
    if kind == "direct":
        links, more = cut(about, graph_of(state, chosen).links(), _pair_place, limit, cursor)
        nodes: list[NodePairRow] = [
            {"upstream": typed_name(above), "downstream": typed_name(below)}
            for above, below in links
        ]
        return paged(nodes, more)
    waits, more = cut(about, control_edges(state, chosen), _pair_place, limit, cursor)
    jobs: list[PairRow] = [
        {"upstream": name_of(above), "downstream": name_of(below)} for above, below in waits
    ]
    return paged(jobs, more)


def _data_row(state: State, edge: DataEdge) -> DataEdgeRow:
    aliases = aliases_of(state, edge.dataset)
    dataset: DatasetWithAliases = {**name_of(edge.dataset), "aliases": aliases}
    return {"job": name_of(edge.job), "dataset": dataset, "direction": edge.direction}


def _data_place(edge: DataEdge) -> tuple[str, ...]:
    return (*edge.job, edge.direction, *edge.dataset)


def _pair_place(pair: tuple[tuple[str, ...], tuple[str, ...]]) -> tuple[str, ...]:
    above, below = pair
    return (*above, *below)


@query("nodes", Times.THEN)
def nodes_answer(
    state: State, level: LevelName = "task", limit: Limit = 1_000, cursor: Cursor = None
) -> Page[ListedNode]:
    """Return all nodes of the graph at a level, with owners, aliases and the run of each job."""
    graph = graph_of(state, level_of(level))
    nodes = {Node.of_job(ref) for ref in graph.jobs}
    nodes |= {Node.of_dataset(name) for name in graph.readers.keys() | graph.writers.keys()}
    found, more = cut(("nodes", level), nodes, tuple, limit, cursor)
    items: list[ListedNode] = []
    for node in found:
        run = graph.runs.get(node.job_ref) if node.type == "job" else None
        items.append(
            {
                **node_ref(node),
                "owners": owners_of(state, node),
                "aliases": [] if node.type == "job" else aliases_of(state, node.dataset_name),
                "run": run_line(state, run) if run else None,
            }
        )
    return paged(items, more)
