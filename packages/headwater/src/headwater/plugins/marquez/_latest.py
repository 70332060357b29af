"""The graph of the newest run of each job, which Marquez shows."""

from __future__ import annotations

from headwater.events import JobRef
from headwater.graph.current import generations_of
from headwater.graph.edges import LevelGraph
from headwater.graph.effective import LazyGraph
from headwater.graph.generation import Generation
from headwater.graph.nodes import Node
from headwater.graph.run_edges import Edges
from headwater.projection import State


class Latest(LazyGraph):
    """The edges of each job's last runs (effective generations), without levels, as in Marquez.

    These include the last run that wrote each dataset, so that every dataset has a producer. There
    are no direct links.
    """

    def edges_of(self, ref: JobRef) -> Edges:
        """Return the edges of a job; a query has some in the parts of all tasks that ran it."""
        found = Edges()
        if ref in self._generations.state.jobs:
            for owner in self._generations.owners(ref) or (ref,):
                found.add(self.part_of(owner).edges_of(ref))
        return found

    def linked(self, node: Node, way: str) -> set[Node]:
        """Return an empty set: Marquez has no direct links."""
        return set()

    def part_of(self, ref: JobRef) -> LevelGraph:
        """Return the edges of a task and of the jobs below it, from its effective generations."""

        def build(_: list[Generation]) -> LevelGraph:
            return LevelGraph.build(self._generations, None, self._generations.effective(ref))

        if any(generation.only_created for generation in self._generations.effective(ref)):
            # Whether a generation that only created a table counts depends on its other writers.
            return build([])
        return self._generations.derived(ref, "latest edges", build)


def latest_of(state: State) -> Latest:
    """Return the graph of the latest run of every job, as in Marquez."""
    return Latest(generations_of(state))
