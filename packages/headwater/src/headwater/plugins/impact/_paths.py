"""Paths between two nodes, along the edges that their trees show.

A `TimedPlace` is a node of a walk with the generations (runs of a task under one parent run) that
the path passes through, so that consecutive steps belong to the same runs. Control steps lead from
a job to one that had to end before it (`ControlSteps`); at a job above the level, such as a
pipeline, `end` shows if the path is at its start or its end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple, TypeVar

from headwater.errors import NotFoundError
from headwater.graph.current import generations_of, level_of
from headwater.graph.edges import LevelGraph
from headwater.graph.generations import Generations
from headwater.graph.levels import Level
from headwater.graph.nodes import Node, node_id, node_ref
from headwater.graph.walk import reached
from headwater.lineage.control_steps import ControlSteps, End, Stop
from headwater.lineage.timed_walk import TimedPlace, TimedWalk
from headwater.lookup import find_node
from headwater.plugins.impact.models import PathAnswer, PathNode
from headwater.projection import State
from headwater.query.parameters import LevelName, Name, WithControl
from headwater.query.registry import Times, query

T = TypeVar("T")


@query("path", Times.THEN)
def path_answer(
    state: State,
    from_: Name,
    to: Name,
    level: LevelName = "task",
    control: WithControl = False,
) -> PathAnswer:
    """Return the shortest lineage path between two nodes, in either direction.

    With `control`, the path may contain control dependencies if no path in the same direction
    consists of data edges alone.
    """
    start, end, chosen = find_node(state, from_), find_node(state, to), level_of(level)
    generations = generations_of(state)
    steps = ControlSteps(generations, chosen) if control else None
    for first, last in ((start, end), (end, start)):
        found = _data_path(generations, chosen, first, last)
        if steps and not found:
            found = _control_path(generations, chosen, steps, first, last)
        if found:
            return {"level": level, "path": found, "isReversed": first != start}
    raise NotFoundError(
        f"no lineage path between {node_id(start)} and {node_id(end)} at the level {level}. Paths"
        " omit data that was replaced since; for adjacent nodes, `why` shows these edges too"
    )


def _data_path(generations: Generations, level: Level, first: Node, last: Node) -> list[PathNode]:
    """Return the path from first to last, searched upstream; empty if there is none."""
    start = TimedPlace(last)
    above = _walk_from(generations, last, level).search_from([start])
    found = _searched(start, above, lambda place: place.node == first)
    return [{**node_ref(place.node), "isControl": False} for place in found]


def _walk_from(generations: Generations, root: Node, level: Level) -> TimedWalk:
    """Return the walk upstream of a node."""
    walked = reached(generations, root, "up", level)
    graph = LevelGraph.build(generations, level, walked)
    return TimedWalk(generations, graph, walked, root, "up", level)


class _Step(NamedTuple):
    """A place in the data graph upstream of `root`; `end` is that of a job above the level."""

    root: Node
    place: TimedPlace
    end: End | None
    is_control: bool = False
    """True if a control dependency leads from it to the step from which it was reached."""


def _control_path(
    generations: Generations, level: Level, control: ControlSteps, first: Node, last: Node
) -> list[PathNode]:
    """Return the shortest path that may use control dependencies; empty if there is none.

    Such steps lead from job to job, and restart the walk in the data graph of the job above.
    """

    @cache
    def above_from(root: Node) -> Callable[[TimedPlace], list[TimedPlace]]:
        """Return the function from a place to the places above it, in the data graph of a root."""
        return _walk_from(generations, root, level).search_from([TimedPlace(root)])

    def above(step: _Step) -> Iterable[_Step]:
        """Yield the steps above one: first by data, then by control dependencies."""
        for place in above_from(step.root)(step.place):
            yield _Step(step.root, place, None)
        for node, end in control.next(Stop(step.place.node, step.end), "up"):
            yield _Step(node, TimedPlace(node), end, is_control=True)

    found = _searched(
        _Step(last, TimedPlace(last), control.first(last, "up").end),
        above,
        lambda step: step.place.node == first,
        key=lambda step: (step.place, step.end),
    )
    path: list[PathNode] = []
    follows_control = False
    for step in found:
        path.append({**node_ref(step.place.node), "isControl": follows_control})
        follows_control = step.is_control
    return path


def _searched(
    last: T,
    above: Callable[[T], Iterable[T]],
    is_first: Callable[[T], bool],
    key: Callable[[T], object] = lambda step: step,
) -> list[T]:
    """Return the steps from the first to the last one, searched upstream; empty if not found.

    `above` returns the steps before one, `is_first` is true for the end of the search, and steps
    with an equal `key` are visited once. The search is by breadth, so the path is a shortest one.
    """
    leads_to: dict[object, T] = {key(last): last}
    open_ = deque([last])
    while open_:
        step = open_.popleft()
        if is_first(step):
            found = [step]
            while step != last:
                step = leads_to[key(step)]
                found.append(step)
            return found
        for other in above(step):
            if key(other) not in leads_to:
                leads_to[key(other)] = step
                open_.append(other)
    return []
