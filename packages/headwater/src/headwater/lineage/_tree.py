"""The tree of the nodes upstream or downstream of a node.

Upstream, it shows the sources of the current contents, whichever run wrote them; downstream, the
data that still contains them. Each node is expanded at its first occurrence and then marked as
repeated. A path longer than both MOST_STEPS and the depth is cut and marked with `hasMore`. Between
pipelines, datasets inside a pipeline are left out. A job without inputs and outputs at the level
has its parts as children, or the job that it is a part of.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Annotated, Literal

from headwater import memory
from headwater.datasets.removal import removal_of
from headwater.graph.current import generations_of, graph_of, level_of
from headwater.graph.edges import LevelGraph
from headwater.graph.generations import Generations
from headwater.graph.levels import Level
from headwater.graph.nodes import Node, aliases_of, node_id, node_ref
from headwater.graph.walk import Place, parts_of, places_next, reach, walked_from
from headwater.lineage._evidence import EdgeEvidence, seen, statements_of_pair
from headwater.lineage._statements import DECLARED
from headwater.lineage.models import TreeAnswer, TreeNode
from headwater.lineage.staleness import missed_runs
from headwater.lookup import find_node
from headwater.projection import State
from headwater.query.parameters import MOST_STEPS, Depth, Grade, LevelName, Name, WithGrade
from headwater.query.registry import Times, query
from headwater.runs.summary import newest_run, run_line

Way = Literal["up", "down"]


@query("tree", Times.THEN)
def tree_answer(
    state: State,
    node: Name,
    direction: Annotated[Literal["up", "down", "both"], "Upstream, downstream or both."] = "up",
    depth: Depth = 20,
    level: LevelName | None = None,
    evidence: WithGrade = None,
) -> TreeAnswer:
    """Return the tree of the nodes upstream or downstream of a node.

    Without a level, it shows tasks, or the level of the job if it has no edges as a task.
    """
    root, generations, chosen = find_node(state, node), generations_of(state), Level.TASK
    if level is not None:
        chosen = level_of(level)
    elif root.type == "job" and not graph_of(state, Level.TASK).has_job(root.job_ref):
        chosen = generations.levels.of(root.job_ref)
    answer: TreeAnswer = {
        "node": node_id(root),
        "direction": direction,
        "depth": depth,
        "level": chosen.name.lower(),
    }
    ways: tuple[Way, ...] = ("up", "down")
    for way in ways:
        if direction in (way, "both"):
            answer[way] = _tree_one_way(generations, root, way, depth, chosen, evidence)
    return answer


def _tree_one_way(
    generations: Generations, root: Node, way: Way, depth: int, level: Level, grade: Grade | None
) -> TreeNode:
    graph = walked_from(generations, root, way, level)
    parts = parts_of(generations, graph, root, level) if root.type == "job" else []
    within = {node for start in (root, *parts) for node in reach(graph, start, way, depth)}
    data_of = cache(partial(_leaf, generations.state, graph))  # a node may have several leaves
    edge_evidence = EdgeEvidence(generations.state, graph)

    def leaf_of(node: Node, parent: Node | None = None, origin: Node | None = None) -> TreeNode:
        memory.charge()
        evidence = edge_evidence.between(parent, node) if parent else None
        times = seen(generations, parent, node, way) if parent and level is Level.TASK else None
        leaf: TreeNode = {**data_of(node), "children": [], "evidence": evidence, "seen": times}
        if parent and parent.type != node.type:
            is_read = (way == "up") == (node.type == "dataset")
            stated = edge_evidence.statements(parent, node, is_read=is_read)
            job, dataset = (node, parent) if node.type == "job" else (parent, node)
            missed = 0
            if level is Level.TASK:
                name = dataset.dataset_name
                missed = missed_runs(generations, job.job_ref, name, is_read=is_read)
                ends = (node, origin or job) if way == "up" else (origin or job, node)
                of_pair = statements_of_pair(generations, parent, *ends)
                stated = of_pair if of_pair.grade() == "possible" else stated
            leaf["grade"] = stated.grade(missed)
            leaf["statedBy"] = [item.answer() for item in sorted(stated.found, key=str)]
        elif parent:
            leaf["grade"], leaf["statedBy"] = "reported", [DECLARED.answer()]
        return leaf

    top, deepest = leaf_of(root), max(depth, MOST_STEPS)
    expanded: set[tuple[Place, Node | None]] = set()
    open_: list[tuple[Place, TreeNode, int, Node | None]] = [(Place(root), top, 0, None)]
    while open_:
        place, leaf, steps, origin = open_.pop()
        is_divided = parts and place.node == root
        others = list(map(Place, parts)) if is_divided else places_next(graph, place, way)
        visit = place, origin if edge_evidence.differs_by_output(place.node) else None
        if visit in expanded:
            leaf["isRepeated"] = bool(others)
            continue
        if steps == deepest:  # a node may be first reached by a path through all others
            leaf["hasMore"] = bool(others)
            continue
        expanded.add(visit)
        parent = None if is_divided else place.node
        grown = [
            (other, leaf_of(other.node, parent, origin), steps + 1, parent)
            for other in others
            if other.node in within
        ]
        if grade is not None and parent is not None:
            grown = [step for step in grown if step[1]["grade"] == grade]
        leaf["hasMore"] = len(grown) < len(others)
        leaf["children"] = [child for _, child, *_ in grown]
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
        "removal": None,
        "evidence": None,
        "seen": None,
        "grade": None,
        "statedBy": [],
    }
    if node.type == "job":
        ref = node.job_ref
        latest = newest_run(state, ref)
        run = graph.runs.get(ref, latest)
        leaf["run"] = run_line(state, run) if run else None
        leaf["latestRun"] = run_line(state, latest) if latest else None
    else:
        leaf["aliases"] = aliases_of(state, node.dataset_name)
        leaf["removal"] = removal_of(state, node.dataset_name)
    return leaf
