"""The tree of the nodes upstream or downstream of a node."""

from __future__ import annotations

from functools import cache, partial
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

Way = Literal["up", "down"]


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
    ways: tuple[Way, ...] = ("up", "down")
    for way in ways:
        if direction in (way, "both"):
            answer[way] = _tree_one_way(generations, root, way, depth, level)
    return answer


def _tree_one_way(
    generations: Generations, root: Node, way: Way, depth: int, level: Level
) -> TreeNode:
    graph = walked_from(generations, root, way, level)
    parts = parts_of(generations, graph, root, level) if root.type == "job" else []
    within = {node for start in (root, *parts) for node in reach(graph, start, way, depth)}
    data_of = cache(partial(_leaf, generations.state, graph))  # a node may have several leaves

    def leaf_of(node: Node) -> TreeNode:
        return {**data_of(node), "children": []}

    top, deepest = leaf_of(root), max(depth, MOST_STEPS)
    seen: set[Place] = set()
    open_ = [(Place(root), top, 0)]
    while open_:
        place, leaf, steps = open_.pop()
        is_divided = parts and place.node == root
        others = list(map(Place, parts)) if is_divided else places_next(graph, place, way)
        if place in seen:
            leaf["isRepeated"] = bool(others)
            continue
        if steps == deepest:  # a node may be first reached by a path through all others
            leaf["hasMore"] = bool(others)
            continue
        seen.add(place)
        grown = [
            (other, leaf_of(other.node), steps + 1) for other in others if other.node in within
        ]
        leaf["hasMore"] = len(grown) < len(others)
        leaf["children"] = [child for _, child, _ in grown]
        open_ += reversed(grown)
    return top


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
