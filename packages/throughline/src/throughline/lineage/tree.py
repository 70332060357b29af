"""The tree of the nodes upstream or downstream of a node."""

from __future__ import annotations

from typing import Literal

from throughline.graph.edges import LevelGraph
from throughline.graph.generations import Generations
from throughline.graph.levels import Level
from throughline.graph.nodes import Node, aliases_of, node_id, node_ref
from throughline.graph.walk import Place, parts_of, places_next, reach, walked_from
from throughline.lineage.models import TreeAnswer, TreeNode
from throughline.projection import State
from throughline.query.parameters import MOST_STEPS
from throughline.runs.summary import newest_run, run_line


def tree(
    generations: Generations,
    root: Node,
    direction: Literal["up", "down", "both"],
    depth: int,
    level: Level,
) -> TreeAnswer:
    """Return the tree of a node; `depth` counts steps along edges.

    Upstream, the tree shows the sources of the current contents, whichever run wrote them;
    downstream, the data that still contains them. Each node is expanded at its first occurrence and
    then marked as repeated. A path longer than both MOST_STEPS and `depth` is cut and marked
    with `hasMore`. Between pipelines, datasets inside a pipeline are left out. A job without inputs
    and outputs at the level has its parts as children, or the job that it is a part of.
    """
    answer: TreeAnswer = {
        "node": node_id(root),
        "direction": direction,
        "depth": depth,
        "level": level.name.lower(),
    }
    if direction in ("up", "both"):
        answer["up"] = _tree_one_way(generations, root, "up", depth, level)
    if direction in ("down", "both"):
        answer["down"] = _tree_one_way(generations, root, "down", depth, level)
    return answer


def _tree_one_way(
    generations: Generations, root: Node, direction: str, depth: int, level: Level
) -> TreeNode:
    graph = walked_from(generations, root, direction, level)
    parts = parts_of(generations, graph, root, level) if root.type == "job" else []
    return _grow(generations.state, graph, root, direction, depth, parts)


def _grow(
    state: State,
    graph: LevelGraph,
    root: Node,
    direction: str,
    depth: int,
    parts: list[Node],
) -> TreeNode:
    within = reach(graph, root, direction, depth)
    for part in parts:
        within |= reach(graph, part, direction, depth)
    leaves, deepest = _Leaves(state, graph), max(depth, MOST_STEPS)
    top = leaves.of(root)
    seen: set[Place] = set()
    open_ = [(Place(root), top, 0)]
    while open_:
        place, leaf, steps = open_.pop()
        if place.node == root and parts:
            others = [Place(part) for part in parts]
        else:
            others = places_next(graph, place, direction)
        if place in seen:
            leaf["isRepeated"] = bool(others)
            continue
        if steps == deepest:  # a node may be first reached by a path through all others
            leaf["hasMore"] = bool(others)
            continue
        seen.add(place)
        grown = [
            (other, leaves.of(other.node), steps + 1) for other in others if other.node in within
        ]
        leaf["hasMore"] = len(grown) < len(others)
        leaf["children"] = [child for _, child, _ in grown]
        open_ += reversed(grown)
    return top


class _Leaves:
    """The leaves of one tree; the data of a node is computed once for all its leaves."""

    def __init__(self, state: State, graph: LevelGraph) -> None:
        self._state, self._graph = state, graph
        self._found: dict[Node, TreeNode] = {}

    def of(self, node: Node) -> TreeNode:
        """Return a new leaf of a node, without children."""
        if node not in self._found:
            self._found[node] = _leaf(self._state, self._graph, node)
        return {**self._found[node], "children": []}


def _leaf(state: State, graph: LevelGraph, node: Node) -> TreeNode:
    leaf: TreeNode = {
        **node_ref(node),
        "isRepeated": False,
        "hasMore": False,
        "children": [],
        "run": None,
        "latestRun": None,
        "aliases": [],
    }
    if node.type == "job":
        ref = node.job_ref
        latest = newest_run(state, ref)
        run = graph.runs.get(ref, latest)
        leaf["run"] = run_line(state, run) if run else None
        leaf["latestRun"] = run_line(state, latest) if latest else None
    else:
        leaf["aliases"] = aliases_of(state, node.dataset_name)
    return leaf
