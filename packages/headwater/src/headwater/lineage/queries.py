"""Queries of lineage: trees, graphs, columns, and edges."""

from __future__ import annotations

from typing import Literal

from headwater.datasets.removal import removal_of
from headwater.datasets.replaced_writes import replaced_by_job
from headwater.graph.current import generations_of, level_of, whole_graph_of
from headwater.graph.edges import DataEdge
from headwater.graph.nodes import Node, aliases_of, name_of, node_ref, typed_name
from headwater.lineage import models
from headwater.lineage._tree import tree_answer
from headwater.lineage.columns import columns_answer
from headwater.lineage.control import control_edges
from headwater.lineage.neighborhood import graph_answer
from headwater.node_facets import owners_of
from headwater.nodes.models import ListedNode
from headwater.projection import State
from headwater.query.models import Page
from headwater.query.pages import cut, paged
from headwater.query.parameters import Cursor, LevelName, Limit
from headwater.query.registry import Times, query
from headwater.runs.summary import run_line

__all__ = [
    "columns_answer",
    "edges_answer",
    "graph_answer",
    "nodes_answer",
    "tree_answer",
]


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
    chosen = level_of(level)
    graph = whole_graph_of(state, chosen)
    jobs = graph.jobs.keys() | replaced_by_job(state, graph, chosen).keys()
    nodes = {Node.of_job(ref) for ref in jobs}
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
