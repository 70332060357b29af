"""Lists of the edges of a graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from throughline.events import JobRef
from throughline.graph.edges import LevelGraph
from throughline.graph.nodes import Node, aliases_of, name_of, typed_name
from throughline.identity import DatasetName
from throughline.lineage.models import DataEdgeRow, DatasetWithAliases, NodePairRow, PairRow
from throughline.projection import State

Direction = Literal["reads", "writes"]
DataEdge = tuple[JobRef, Direction, DatasetName]

Pair = tuple[Node, Node] | tuple[JobRef, JobRef]
"""Two nodes, the upstream one first."""


def data_edges(graph: LevelGraph) -> Iterator[DataEdge]:
    """Yield the edges between a job and a dataset."""
    for ref, edges in graph.jobs.items():
        yield from ((ref, "reads", name) for name in edges.reads)
        yield from ((ref, "writes", name) for name in edges.writes)


def data_row(state: State, ref: JobRef, direction: Direction, name: DatasetName) -> DataEdgeRow:
    """Return such an edge as part of an answer."""
    dataset: DatasetWithAliases = {**name_of(name), "aliases": aliases_of(state, name)}
    return {"job": name_of(ref), "dataset": dataset, "direction": direction}


def job_pair(above: JobRef, below: JobRef) -> PairRow:
    """Return an edge between two jobs as part of an answer."""
    return {"upstream": name_of(above), "downstream": name_of(below)}


def node_pair(above: Node, below: Node) -> NodePairRow:
    """Return an edge between two nodes of one type as part of an answer."""
    return {"upstream": typed_name(above), "downstream": typed_name(below)}


def place_of_data(edge: DataEdge) -> tuple[str, ...]:
    """Return the place of an edge among all others."""
    ref, direction, name = edge
    return *ref, direction, *name


def place_of_pair(pair: Pair) -> tuple[str, ...]:
    """Return the place of a pair among all others."""
    return *pair[0], *pair[1]
