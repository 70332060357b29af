"""The graph of the nodes upstream or downstream of a node, from the generations on the way.

A generation is the runs of a task under one parent run. `found` has the generations that a walk
reached, each with its edges on the way.
"""

from __future__ import annotations

from headwater.graph.edges import LevelGraph
from headwater.graph.effective import PipelineGraph
from headwater.graph.frontier import Walked
from headwater.graph.generation import Generation
from headwater.graph.generations import Generations
from headwater.graph.levels import Level
from headwater.graph.nodes import Node
from headwater.graph.walk import reached
from headwater.identity import DatasetName


def walked_from(generations: Generations, root: Node, way: str, level: Level) -> LevelGraph:
    """Return the graph of all nodes upstream (`up`) or downstream (`down`) of a node at a level.

    Downstream, it omits replaced datasets, unless other datasets were derived from them before.
    """
    return walked_graph(generations, reached(generations, root, way, level), root, way, level)


def walked_graph(
    generations: Generations, found: Walked, root: Node, way: str, level: Level
) -> LevelGraph:
    """Return the graph of generations that were reached from a root, see `walked_from`.

    Between pipelines, datasets that only one pipeline writes and reads are left out.
    """
    graph = graph_of_walk(generations, found, way, level)
    if level is Level.PIPELINE:
        used = {name for g in found for name in g.edges.reads if g.edges.writes - {name}}
        inner = PipelineGraph(graph, root, used.__contains__)
        jobs = {ref: inner.edges_of(ref) for ref in graph.jobs}
        graph.readers = {name: inner.readers_of(name) for name in graph.readers}
        graph.jobs = jobs
    return graph


def graph_of_walk(
    generations: Generations, found: Walked, way: str, level: Level | None
) -> LevelGraph:
    """Return the graph of walked generations; for the level None, each job has its own edges.

    Downstream, replaced datasets from which nothing was derived are left out.
    """
    graph = LevelGraph.build(generations, level, found)
    for name in replaced(generations, found) if way == "down" else ():
        if not (graph.readers_of(name) or graph.linked(Node.of_dataset(name), "down")):
            for ref in graph.writers.pop(name, ()):
                graph.jobs[ref].writes.discard(name)
    return graph


def replaced(generations: Generations, walked: Walked) -> set[DatasetName]:
    """Return the datasets whose contents were not written by any of the walked generations."""
    writers: dict[DatasetName, set[Generation]] = {}
    for generation, edges in walked.items():
        for name in edges.writes:
            writers.setdefault(name, set()).add(generation)
    return {n for n, found in writers.items() if found.isdisjoint(generations.writing(n))}
