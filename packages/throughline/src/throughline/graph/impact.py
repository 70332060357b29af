"""What a change of a node or column reaches, and how one node leads to another.

Both follow data edges of the very generations that the tree of the node is made of.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from throughline.errors import NotFoundError
from throughline.graph.columns import columns_below
from throughline.graph.edges import LevelGraph
from throughline.graph.generations import Generations
from throughline.graph.levels import Level
from throughline.graph.nodes import Node, node_id, owners_of
from throughline.graph.tags import Tags, around
from throughline.graph.walk import neighbours, newest_run, parts_of, reach, reached, run_line
from throughline.identity import DatasetName
from throughline.projection import State
from throughline.spec import JobRef

Affected = list[dict[str, Any]]


def impact(known: Generations, root: Node, level: Level, depth: int) -> Affected:
    """Every node that what the node holds or makes goes into, the nearest first.

    `distance` counts steps along edges, so that a dataset's readers are 1 away from it and what
    they write 2. `owners` are those of the ownership facet, `run` is a job's newest, `tags` are
    those that a dataset and its columns have, with whence they came.
    """
    graph = LevelGraph.build(known, level, reached(known, root, "down", level))
    steps = reach(graph, root, "down", depth)
    for part in parts_of(known, graph, root, level):
        for node, distance in reach(graph, part, "down", depth).items():
            steps[node] = min(distance, steps.get(node, distance))
    found = sorted((distance, node) for node, distance in steps.items() if node != root)
    tags = around(known, root, "down", level)
    return [
        {"distance": distance, **_described(known.state, node, tags)} for distance, node in found
    ]


def column_impact(known: Generations, root: Node, field: str, depth: int) -> Affected:
    """Every column that is made of one, or whose rows it decides on, the nearest first.

    Raises:
        NotFoundError: the dataset has no such column.
    """
    found = columns_below(known, root, field, depth)
    tags = around(known, root, "down", Level.TASK)
    answer = []
    for distance, step in sorted((distance, step) for step, distance in found.items()):
        node = Node.of_dataset(step.column.dataset)
        described = _described(known.state, node, tags, step.column.field)
        answer.append(
            {"distance": distance, **described, "transformation": step.how, "job": step.job}
        )
    return answer


def path(known: Generations, start: Node, end: Node, level: Level) -> list[Node]:
    """A shortest way along the data from one node to the other.

    Raises:
        NotFoundError: the data of neither goes into the other; the message says so.
    """
    for first, last in ((start, end), (end, start)):
        graph = LevelGraph.build(known, level, reached(known, last, "up", level))
        if found := _shortest(graph, last, first):
            return found
    raise NotFoundError(
        f"no data leads from {node_id(start)} to {node_id(end)} or back at the level"
        f" {level.name.lower()}"
    )


def _shortest(graph: LevelGraph, end: Node, start: Node) -> list[Node]:
    """From start to end, walked upwards; empty if there is no way."""
    leads_to = {end: end}
    open_ = deque([end])
    while open_ and start not in leads_to:
        node = open_.popleft()
        for above in neighbours(graph, node, "up"):
            if above not in leads_to:
                leads_to[above] = node
                open_.append(above)
    if start not in leads_to:
        return []
    found = [start]
    while found[-1] != end:
        found.append(leads_to[found[-1]])
    return found


def _described(state: State, node: Node, tags: Tags, field: str | None = None) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "id": node_id(node),
        "type": node.type,
        "namespace": node.namespace,
        "name": node.name,
        "owners": owners_of(state, node),
    }
    if node.type == "job":
        run = newest_run(state, JobRef(node.namespace, node.name))
        answer["run"] = run_line(state, run) if run else None
        return answer
    if field is not None:
        answer |= {"type": "column", "field": field}
    return answer | {"tags": tags.told(DatasetName(node.namespace, node.name), field)}
