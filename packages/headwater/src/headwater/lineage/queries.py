"""Queries of lineage: trees, graphs, columns, impact, paths, provenance and tags."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

from headwater.datasets.removal import removal_of
from headwater.graph.current import generations_of, level_of, whole_graph_of
from headwater.graph.edges import DataEdge
from headwater.graph.generation import Generation
from headwater.graph.nodes import (
    Node,
    aliases_of,
    name_of,
    node_id,
    node_ref,
    owners_of,
    typed_name,
)
from headwater.lineage import models
from headwater.lineage._column_producers import column_answer
from headwater.lineage._drop import drop_verdict
from headwater.lineage._impact import column_impact, impact
from headwater.lineage._paths import path_answer
from headwater.lineage._tree import tree_answer
from headwater.lineage._why import why_answer
from headwater.lineage.columns import columns_answer
from headwater.lineage.control import control_edges
from headwater.lineage.neighbourhood import graph_answer
from headwater.lineage.pipelines import pipelines_answer
from headwater.lineage.provenance import origin, provenance_answer
from headwater.lineage.tagged import tagged_answer
from headwater.lineage.tags import ColumnTag, Tags, dataset_tag
from headwater.lookup import find_dataset, find_node
from headwater.projection import State
from headwater.query.models import DatasetTag, Page
from headwater.query.pages import cut, paged
from headwater.query.parameters import Cursor, Depth, Field, LevelName, Limit, Name
from headwater.query.registry import Times, query
from headwater.runs.summary import run_line
from headwater.search.models import ListedNode

__all__ = [
    "column_answer", "columns_answer", "edges_answer", "graph_answer", "impact_answer",
    "nodes_answer", "path_answer", "pipelines_answer", "provenance_answer", "tagged_answer",
    "tags_answer", "tree_answer", "why_answer",
]  # fmt: skip


@query("impact", Times.THEN)
def impact_answer(
    state: State,
    node: Name,
    field: Field = None,
    level: LevelName = "task",
    depth: Depth = 20,
) -> models.ImpactAnswer:
    """Return the nodes that a change of a node or of one column affects, with tags.

    For a column, `affected` takes values from it, and `indirect` has rows that it filters, joins,
    groups or sorts. `possible` may be affected (no column lineage reported). `drop` states
    whether the column can be dropped: safe, unsafe or unknown, with reasons.
    """
    found = find_node(state, node) if field is None else find_dataset(state, node)
    generations = generations_of(state)
    if field is None:
        affected = impact(generations, found, level_of(level), depth)
        return {"node": node_id(found), "depth": depth, "level": level, "affected": affected}
    reached = column_impact(generations, found, field, depth)
    answer: models.ImpactAnswer = {
        "node": node_id(found),
        "depth": depth,
        "field": field,
        "affected": reached.affected,
        "indirect": reached.indirect,
        "possible": reached.possible,
    }
    if depth > 0:
        answer["drop"] = drop_verdict(generations, found, field, *reached)
    return answer


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
) -> Page[models.DataEdgeRow] | Page[models.PairRow] | Page[models.NodePairRow]:
    """Return all edges of the graph at a level.
    `data` edges are reads and writes. `direct` edges connect two jobs, two datasets, or a job and a
    dataset, as explicit lineage states. `control` edges are dependencies between jobs without data.
    """
    about, chosen = ("edges", level, kind), level_of(level)
    if kind == "data":
        every = whole_graph_of(state, chosen).data_edges()
        edges, more = cut(about, every, _data_place, limit, cursor)
        return paged([_data_row(state, edge) for edge in edges], more)
    if kind == "direct":
        links, more = cut(about, whole_graph_of(state, chosen).links(), _pair_place, limit, cursor)
        nodes: list[models.NodePairRow] = [
            {"upstream": typed_name(above), "downstream": typed_name(below)}
            for above, below in links
        ]
        return paged(nodes, more)
    pairs = control_edges(generations_of(state), chosen)
    waits, more = cut(about, pairs, _pair_place, limit, cursor)
    jobs: list[models.PairRow] = [
        {"upstream": name_of(above), "downstream": name_of(below)} for above, below in waits
    ]
    return paged(jobs, more)


def _data_row(state: State, edge: DataEdge) -> models.DataEdgeRow:
    aliases = aliases_of(state, edge.dataset)
    dataset: models.DatasetWithAliases = {**name_of(edge.dataset), "aliases": aliases}
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
    graph = whole_graph_of(state, level_of(level))
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
                "removal": None if node.type == "job" else removal_of(state, node.dataset_name),
            }
        )
    return paged(items, more)
