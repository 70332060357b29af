"""The edges of a graph in one list, and each as a row of an answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from throughline.graph.edges import LevelGraph
from throughline.graph.nodes import Node
from throughline.identity import DatasetName
from throughline.projection import State
from throughline.spec import JobRef

DataEdge = tuple[JobRef, str, DatasetName]
"""A job, "reads" or "writes", and a dataset."""

Pair = tuple[Node, Node] | tuple[JobRef, JobRef]
"""Two nodes, the upstream one first."""


def data_edges(graph: LevelGraph) -> Iterator[DataEdge]:
    """Yield the edges between a job and a dataset."""
    for ref, edges in graph.jobs.items():
        yield from ((ref, "reads", name) for name in edges.reads)
        yield from ((ref, "writes", name) for name in edges.writes)


def data_row(state: State, ref: JobRef, direction: str, name: DatasetName) -> dict[str, Any]:
    """Return such an edge as JSON."""
    aliases = [alias._asdict() for alias in state.identity.names(name)[1:]]
    dataset = {**name._asdict(), "aliases": aliases}
    return {"job": ref._asdict(), "dataset": dataset, "direction": direction}


def pair_row(above: Node | JobRef, below: Node | JobRef) -> dict[str, Any]:
    """Return an edge between two nodes of one type as JSON."""
    return {"upstream": above._asdict(), "downstream": below._asdict()}


def place_of_data(edge: DataEdge) -> tuple[str, ...]:
    """Return the place of an edge among all others."""
    ref, direction, name = edge
    return *ref, direction, *name


def place_of_pair(pair: Pair) -> tuple[str, ...]:
    """Return the place of a pair among all others."""
    return *pair[0], *pair[1]
