"""GET /api/v1/lineage: Marquez's graph around a job or a dataset."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from throughline.api.http import LiveState, answer
from throughline.api.shapes import dataset_node_shape, job_node_shape
from throughline.errors import NotFoundError
from throughline.graph import LevelGraph, Node, find_node, node_id
from throughline.graph.answers import graph_of, level_of
from throughline.identity import DatasetName
from throughline.projection import State
from throughline.spec import JobRef

router = APIRouter()


@router.get("/api/v1/lineage")
def get_lineage(
    live: LiveState,
    node: Annotated[str, Query(alias="nodeId")],
    depth: Annotated[int, Query(ge=0)] = 20,
    level: str | None = None,
) -> Response:
    """Jobs that share datasets with the node, `depth` times over, and all their datasets.

    `level` is an extension: without it each job stands for itself, as in Marquez.
    """
    with live.reading() as state:
        graph = graph_of(state, level_of(level) if level else None)
        root = _root(state, node)
        jobs = _jobs_around(graph, root, depth)
        names = {name for ref in jobs for name in _datasets_of(graph, ref)}
        if root.type == "dataset":
            names.add(DatasetName(root.namespace, root.name))
        nodes = [_dataset(state, graph, name, jobs) for name in sorted(names)]
        nodes += [_job(state, graph, ref) for ref in sorted(jobs)]
        return answer({"graph": nodes})


def _root(state: State, node: str) -> Node:
    """The node asked for; `#VERSION` after a dataset means the dataset as it is today."""
    try:
        return find_node(state, node)
    except NotFoundError:
        unversioned, mark, _ = node.rpartition("#")
        if not mark:
            raise
        return find_node(state, unversioned)


def _jobs_around(graph: LevelGraph, root: Node, depth: int) -> set[JobRef]:
    if root.type == "job":
        found = {JobRef(root.namespace, root.name)}
    else:
        found = _jobs_of(graph, DatasetName(root.namespace, root.name))
    newest = set(found)
    for _ in range(depth):
        names = {name for ref in newest for name in _datasets_of(graph, ref)}
        newest = {ref for name in names for ref in _jobs_of(graph, name)} - found
        if not newest:
            break
        found |= newest
    return found


def _datasets_of(graph: LevelGraph, ref: JobRef) -> set[DatasetName]:
    edges = graph.jobs.get(ref)
    return edges.reads | edges.writes if edges else set()


def _jobs_of(graph: LevelGraph, name: DatasetName) -> set[JobRef]:
    return graph.readers.get(name, set()) | graph.writers.get(name, set())


def _dataset(
    state: State, graph: LevelGraph, name: DatasetName, jobs: set[JobRef]
) -> dict[str, Any]:
    own = node_id(Node.of_dataset(name))
    makers = [node_id(Node.of_job(r)) for r in sorted(graph.writers.get(name, set()) & jobs)]
    users = [node_id(Node.of_job(r)) for r in sorted(graph.readers.get(name, set()) & jobs)]
    return _node(own, "DATASET", dataset_node_shape(state, name), makers, users)


def _job(state: State, graph: LevelGraph, ref: JobRef) -> dict[str, Any]:
    edges = graph.jobs.get(ref)
    reads = [node_id(Node.of_dataset(name)) for name in sorted(edges.reads if edges else ())]
    writes = [node_id(Node.of_dataset(name)) for name in sorted(edges.writes if edges else ())]
    shape = job_node_shape(state, state.jobs[ref])
    return _node(node_id(Node.of_job(ref)), "JOB", shape, reads, writes)


def _node(
    own: str, type_: str, data: dict[str, Any], before: list[str], after: list[str]
) -> dict[str, Any]:
    return {
        "id": own,
        "type": type_,
        "data": data,
        "inEdges": [{"origin": other, "destination": own} for other in before],
        "outEdges": [{"origin": own, "destination": other} for other in after],
    }
