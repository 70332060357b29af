"""Walks through the graph from a node, upstream or downstream.

*Stated sources* are the inputs that feed one output; without any, all inputs feed all outputs. A
*generation* is the runs of a task under one parent run. It is *present* if it is effective, or if
data flows from it to an effective one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Protocol, TypeVar

from headwater import deadline
from headwater.events import JobRef
from headwater.graph.effective import Graph
from headwater.graph.frontier import Walked, downstream_of, upstream_of, upstream_of_outputs
from headwater.graph.generation import Generation
from headwater.graph.generations import Generations
from headwater.graph.levels import Level
from headwater.graph.nodes import Node
from headwater.identity import DatasetName
from headwater.projection import Run


class Place(NamedTuple):
    """A node on a walk; `via` is the dataset from which the walk reached a job.

    It is only set for jobs with stated sources, where it determines the next datasets.
    """

    node: Node
    via: Node | None = None


def places_next(graph: Graph, place: Place, direction: str) -> list[Place]:
    """Return the places one step upstream (`up`) or downstream (`down`).

    From a job that was reached through a dataset (`via`), these are only the datasets that feed
    that dataset, or that it feeds, and directly linked nodes.
    """
    node, via = place
    found = neighbors(graph, node, direction)
    if via is not None:
        edges, name = graph.edges_of(node.job_ref), via.dataset_name
        fed = edges.sources_of(name) if direction == "up" else edges.targets_of(name)
        kept = {*map(Node.of_dataset, fed), *graph.linked(node, direction)}
        found = [neighbor for neighbor in found if neighbor in kept]
    start = node if node.type == "dataset" else None
    return [Place(n, start if start and has_stated_sources(graph, n) else None) for n in found]


def has_stated_sources(graph: Graph, node: Node) -> bool:
    """Return True for a job with an output that does not depend on all inputs."""
    return node.type == "job" and not graph.edges_of(node.job_ref).is_cross_product


def neighbors(graph: Graph, node: Node, direction: str) -> list[Node]:
    """Return the nodes one step upstream (`up`) or downstream (`down`), sorted."""
    deadline.check()
    found = set(graph.linked(node, direction))
    if node.type == "job":
        edges = graph.edges_of(node.job_ref)
        names = edges.reads if direction == "up" else edges.writes
        found |= {Node.of_dataset(name) for name in names}
    else:
        users = graph.writers_of if direction == "up" else graph.readers_of
        found |= {Node.of_job(ref) for ref in users(node.dataset_name)}
    return sorted(found)


def reached(generations: Generations, root: Node, way: str, level: Level) -> Walked:
    """Return the generations upstream or downstream of a node, with their edges on the way.

    The level decides which generations stand for a job: those of a task, or those below a pipeline.
    `way` is `up` or `down`. Upstream of a dataset, the walk starts at the writers of its present
    rows; downstream, at its present readers.
    """
    if root.type == "job":
        ref, near = root.job_ref, generations.present_in_family(root.job_ref)
        roots = [g for g in near if ref in jobs_of(generations, g, level)]
        roots = roots or [g for g in near if any(_is_below(generations, r, ref) for r in g.runs)]
        if way == "down":
            return downstream_of(generations, roots)
        return upstream_of_outputs(generations, _needed_outputs(near, roots))
    name = root.dataset_name
    if way == "up":
        return upstream_of(generations, generations.writing(name), name)
    readers = [g for g in generations.present.using(name) if name in g.edges.reads]
    return downstream_of(generations, readers, name)


def _needed_outputs(
    parts: Walked, roots: Iterable[Generation]
) -> Iterator[tuple[Generation, DatasetName | None]]:
    """Yield each output of the needed parts of generations; None for a whole generation."""
    for generation in roots:
        part = parts[generation]
        names = [None] if part is generation.edges else sorted(part.writes)
        yield from ((generation, name) for name in names)


def jobs_of(generations: Generations, generation: Generation, level: Level) -> set[JobRef]:
    """Return the jobs at a level whose runs are part of a generation; its own job without runs."""
    owners = {generations.levels.owner(run, level).key.job for run in generation.runs}
    return owners or {generation.job}


def _is_below(generations: Generations, run: Run, ref: JobRef) -> bool:
    return any(above.key.job == ref for above in generations.levels.lineage(run))


def parts_of(generations: Generations, graph: Graph, root: Node, level: Level) -> list[Node]:
    """Return the jobs with edges below a job that has no edges itself at a level.

    The parts of a pipeline at the level of tasks are its tasks. The list is empty if the job has
    edges, or for a dataset.
    """
    ref = root.job_ref
    if root.type == "dataset" or graph.has_job(ref):
        return []
    runs = (run for generation in generations.present_in_family(ref) for run in generation.runs)
    below = (run for run in runs if _is_below(generations, run, ref))
    owners = {generations.levels.owner(run, level).key.job for run in below}
    return sorted(Node.of_job(job) for job in owners if graph.has_job(job))


def reach(
    graph: Graph,
    root: Node,
    direction: str,
    depth: int,
    step: Callable[[Graph, Node, str], list[Node]] | None = None,
) -> dict[Node, int]:
    """Return the number of steps to every node within `depth` steps; -1 means any depth.

    `step` returns the next nodes of a node. By default, a walk continues from a job only to the
    datasets that depend on the one it came from, or that this one depends on.
    """

    def beyond(place: Place) -> list[Place]:
        if step is None:
            return places_next(graph, place, direction)
        return [Place(node) for node in step(graph, place.node, direction)]

    return nearest([Place(root)], beyond, depth)


_AnyPlace = TypeVar("_AnyPlace", bound="_HasNode")


class _HasNode(Protocol):
    @property
    def node(self) -> Node: ...


def nearest(
    starts: Iterable[_AnyPlace], beyond: Callable[[_AnyPlace], Iterable[_AnyPlace]], depth: int
) -> dict[Node, int]:
    """Return the number of steps to every node within `depth` steps; `beyond` takes a step.

    A breadth-first search over places. A node may have several places; its nearest one counts. A
    depth of -1 means any depth.
    """
    steps = dict.fromkeys(starts, 0)
    open_ = deque(steps)
    while open_:
        place = open_.popleft()
        if steps[place] == depth:
            continue
        for other in beyond(place):
            if other not in steps:
                steps[other] = steps[place] + 1
                open_.append(other)
    found: dict[Node, int] = {}
    for place, count in steps.items():  # the nearest first
        found.setdefault(place.node, count)
    return found
