"""The tree of the nodes upstream or downstream of a node.

Upstream, it shows the sources of the current contents, whichever run wrote them; downstream, the
data that still contains them. Each node is expanded at its first occurrence and then marked as
repeated. A path longer than both MOST_STEPS and the depth is cut and marked with `hasMore`. Between
pipelines, datasets inside a pipeline are left out. A job without inputs and outputs at the level
has its parts as children, or the job that it is a part of.

With control dependencies, the jobs that they lead to are additional children, each with its own
tree of data edges. They are expanded last, so that the other nodes are those of the tree without
control dependencies.

A place is a node, with the runs that data passes through on the path to it, see `timed_walk`. A
node that is reached at two times is expanded for each of them. The level is the detail of the
graph: pipelines, tasks or queries.

A *generation* is the runs of a task under one parent run; `reached` walks over generations and
returns them with the edges on the way. The *evidence* of an edge is the kind of its source, such as
reported or read from SQL.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Annotated, Literal, NamedTuple

from headwater import memory
from headwater.datasets.removal import removal_of
from headwater.graph.current import generations_of, graph_of, level_of
from headwater.graph.edges import LevelGraph, rank
from headwater.graph.generations import Generations
from headwater.graph.levels import Level
from headwater.graph.nodes import Node, aliases_of, node_id, node_ref
from headwater.graph.walk import parts_of, reached
from headwater.lineage._evidence import EdgeEvidence, seen, statements_of_pair
from headwater.lineage.control_steps import ControlSteps, End, Stop, Way
from headwater.lineage.models import TreeAnswer, TreeNode
from headwater.lineage.staleness import may_be_replaced, missed_runs
from headwater.lineage.statements import DECLARED
from headwater.lineage.timed_walk import TimedPlace, TimedWalk
from headwater.lineage.walked_graph import walked_graph
from headwater.lookup import find_node
from headwater.projection import State
from headwater.query.parameters import (
    MOST_STEPS,
    Depth,
    Grade,
    LevelName,
    Name,
    WithControl,
    WithGrade,
)
from headwater.query.registry import Times, query
from headwater.runs.summary import newest_run, run_line


@query("tree", Times.THEN)
def tree_answer(
    state: State,
    node: Name,
    direction: Annotated[Literal["up", "down", "both"], "Upstream, downstream or both."] = "up",
    depth: Depth = 20,
    level: LevelName | None = None,
    evidence: WithGrade = None,
    control: WithControl = False,
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
    steps = ControlSteps(generations, chosen) if control else None
    for way in ways:
        if direction in (way, "both"):
            answer[way] = _tree_one_way(generations, root, way, depth, chosen, evidence, steps)
    return answer


class _Data:
    """The data tree of a node in one direction.

    It holds one walk through the graph, from `root` in the direction `way`. With control
    dependencies, an answer contains several such trees, one for each job that a control edge leads
    to.
    """

    def __init__(self, generations: Generations, way: Way, level: Level, root: Node) -> None:
        """Walk the data edges from a node in one direction.

        `parts` are set by the caller, for a root without edges at the level; `within` returns the
        nodes within a number of steps.
        """
        self._generations, self._way, self._level = generations, way, level
        self.root = root
        walked = reached(generations, root, way, level)
        self.graph = walked_graph(generations, walked, root, way, level)
        self._walk = TimedWalk(generations, self.graph, walked, root, way, level)
        self.parts: list[Node] = []
        self.evidence = EdgeEvidence(generations, self.graph, level)
        # a node may have several leaves
        self._data_of = cache(partial(_leaf, generations.state, self.graph))
        self.within = cache(self._within)

    def _within(self, depth: int) -> set[Node]:
        """Return the nodes within `depth` steps of the root, by the shortest path to each."""
        return set(self._walk.reach((self.root, *self.parts), depth))

    def next(self, place: TimedPlace) -> list[TimedPlace]:
        """Return the places one step further, or the parts of a root without edges at the level.

        The parts of a pipeline at the level of tasks are its tasks.
        """
        if self.parts and place.node == self.root:
            return list(map(TimedPlace, self.parts))
        return self._walk.next(place)

    def leaf(
        self, place: TimedPlace, parent: Node | None = None, origin: Node | None = None
    ) -> TreeNode:
        """Return a node without children; a data edge connects it with `parent`.

        `parent` is the node above it in the tree; None for the root and for parts of a job.
        `origin` is the node above `parent`: if the job between them has several inputs and outputs,
        the grade depends on whether one feeds the other.
        """
        memory.charge()
        generations, way, level = self._generations, self._way, self._level
        node = place.node
        leaf: TreeNode = {**self._data_of(node), "children": []}
        if runs := self._walk.runs_of(place):
            state = generations.state
            leaf["run"] = run_line(state, max(runs, key=partial(rank, state)))
        if parent and parent.type != node.type:
            is_read = (way == "up") == (node.type == "dataset")
            job, dataset = (node, parent) if node.type == "job" else (parent, node)
            name = dataset.dataset_name
            edge = (name, None) if is_read else (None, name)
            stated = self.evidence.statements(job, *edge)
            leaf["evidence"] = stated.evidence
            missed, is_replaced = 0, False
            if level is Level.TASK:
                leaf["seen"] = seen(generations, job.job_ref, *edge)
                missed = missed_runs(generations, job.job_ref, name, is_read=is_read)
                ends = (node, origin or job) if way == "up" else (origin or job, node)
                of_pair = statements_of_pair(generations, parent, *ends)
                stated = of_pair if of_pair.grade() == "possible" else stated
                is_replaced = not is_read and may_be_replaced(generations, job.job_ref, name)
            leaf["grade"] = stated.grade(missed, may_be_replaced=is_replaced)
            leaf["statedBy"] = [item.answer() for item in sorted(stated.found, key=str)]
        elif parent:
            leaf["evidence"] = leaf["grade"] = "reported"
            leaf["statedBy"] = [DECLARED.answer()]
        return leaf


class _Open(NamedTuple):
    """A leaf to expand.

    `data` is its tree of data edges, whose root is `base` steps from the answer's root. `steps`
    counts from the answer's root. `origin` is the node above it, see `_Data.leaf`. `end` is the end
    of a job above the level at which a control edge entered it, see `control_steps`.
    """

    data: _Data
    place: TimedPlace
    leaf: TreeNode
    steps: int
    base: int = 0
    origin: Node | None = None
    end: End | None = None


def _tree_one_way(
    generations: Generations,
    root: Node,
    way: Way,
    depth: int,
    level: Level,
    grade: Grade | None,
    control: ControlSteps | None,
) -> TreeNode:
    """Return the tree of a node in one direction, built without recursion, since paths may be long.

    `grade` keeps only edges of that grade; None keeps all. `control` has the control edges to
    follow; None follows data edges only. `expanded` has what was expanded: a second leaf with the
    same node, the same steps and, if the grade of its edges depends on it, the same origin is
    marked as repeated. `later` waits for the data edges, so that control edges come last.
    """
    data_of = cache(partial(_Data, generations, way, level))
    first, deepest = _Data(generations, way, level, root), max(depth, MOST_STEPS)
    top = first.leaf(TimedPlace(root))
    if root.type == "job":
        first.parts = parts_of(generations, first.graph, root, level)
    end = control.first(root, way).end if control and not first.parts else None
    expanded: set[tuple[object, ...]] = set()
    open_, later = [_Open(first, TimedPlace(root), top, 0, end=end)], list[_Open]()
    while open_ or later:
        data, place, leaf, steps, base, origin, end = (open_ or later).pop()
        others = data.next(place)
        stops = control.next(Stop(place.node, end), way) if control else []
        by_origin = origin if data.evidence.differs_by_output(place.node) else None
        visit = place, by_origin, end, *others
        if visit in expanded:
            leaf["isRepeated"] = bool(others or stops)
            continue
        if steps == deepest:  # a node may be first reached by a path through all others
            leaf["hasMore"] = bool(others or stops)
            continue
        expanded.add(visit)
        parent = None if data.parts and place.node == data.root else place.node
        grown = [
            _Open(data, other, data.leaf(other, parent, origin), steps + 1, base, parent)
            for other in others
            if other.node in data.within(depth - base)
        ]
        if grade is not None:
            stops = []
            grown = [step for step in grown if parent is None or step.leaf["grade"] == grade]
        waiting: list[_Open] = []
        if steps < depth:
            for stop in stops:
                tree, below = data_of(stop.node), steps + 1
                place = TimedPlace(stop.node)
                found: TreeNode = {**tree.leaf(place), "isControl": True}
                waiting.append(_Open(tree, place, found, below, below, end=stop.end))
        leaf["hasMore"] = len(grown) + len(waiting) < len(others) + len(stops)
        leaf["children"] = [step.leaf for step in (*grown, *waiting)]
        open_ += reversed(grown)
        later += reversed(waiting)
    return top


def _leaf(state: State, graph: LevelGraph, node: Node) -> TreeNode:
    """Return the values of a node that do not depend on its parent.

    `run` is the newest run with edges in the graph, `latestRun` the newest of all.
    """
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
        "isControl": False,
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
